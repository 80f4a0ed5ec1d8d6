// Tables, as kubectl prints them, and objects reduced to their metadata.
import { expect } from "vitest";

import { accepting, get, mergePatch, post } from "../call.ts";
import { widgets } from "../crd.ts";
import type { Subject, Fixture } from "../fixture.ts";
import { configMap, pod } from "../fixtures.ts";
import { dig, type KubeList, type KubeObject } from "../object.ts";

const asTable = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
const asMetadata = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
const asMetadataList = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";

interface Table {
  readonly kind: string;
  readonly apiVersion: string;
  readonly metadata: { readonly resourceVersion?: string; readonly continue?: string };
  readonly columnDefinitions: readonly {
    readonly name: string;
    readonly type: string;
    readonly format: string;
    readonly priority: number;
  }[];
  readonly rows: readonly { readonly cells: readonly unknown[]; readonly object: KubeObject }[];
}

const table = (fixture: Fixture, path: string, query: Record<string, string | number> = {}) =>
  fixture.api.done<Table>(accepting(get(path, query), asTable));
const columns = ({ columnDefinitions }: Table) => columnDefinitions.map(({ name }) => name);

const column = (name: string, type: string, jsonPath: string) => ({ name, type, jsonPath });

export const tables: Subject = {
  name: "tables and partial metadata",
  cases: {
    "a list is printed as a table": async (fixture) => {
      await fixture.make("configmaps", configMap("a", { k: "v", l: "w" }));
      const printed = await table(fixture, fixture.at("configmaps"));
      expect(printed).toMatchObject({ kind: "Table", apiVersion: "meta.k8s.io/v1" });
      expect(columns(printed)).toEqual(["Name", "Data", "Age"]);
      expect(printed.rows).toHaveLength(1);
      expect(printed.rows[0]?.cells.slice(0, 2)).toEqual(["a", 2]);
      expect(printed.metadata.resourceVersion).toMatch(/^\d+$/);
    },
    "the name column is marked as the name": async (fixture) => {
      const printed = await table(fixture, fixture.at("configmaps"));
      expect(printed.columnDefinitions[0]).toMatchObject({ name: "Name", type: "string", format: "name" });
    },
    "one object is printed as a table of one row": async (fixture) => {
      await fixture.make("configmaps", configMap("a"));
      const printed = await table(fixture, fixture.at("configmaps", "a"));
      expect(printed.rows.map(({ cells }) => cells[0])).toEqual(["a"]);
    },
    "a row carries the object's metadata": async (fixture) => {
      const made = await fixture.make("configmaps", configMap("a", { k: "v" }));
      const [row] = (await table(fixture, fixture.at("configmaps"))).rows;
      expect(row?.object).toMatchObject({
        kind: "PartialObjectMetadata",
        apiVersion: "meta.k8s.io/v1",
        metadata: { uid: made.metadata.uid },
      });
      expect(row?.object).not.toHaveProperty("data");
    },
    "includeObject=Object puts the whole object into the row, None nothing": async (fixture) => {
      await fixture.make("configmaps", configMap("a", { k: "v" }));
      const whole = await table(fixture, fixture.at("configmaps"), { includeObject: "Object" });
      expect(whole.rows[0]?.object).toMatchObject({ kind: "ConfigMap", data: { k: "v" } });
      const none = await table(fixture, fixture.at("configmaps"), { includeObject: "None" });
      expect(none.rows[0]?.object ?? null).toBeNull();
    },
    "pods have the columns that people know": async (fixture) => {
      await fixture.make("pods", pod("a"));
      const printed = await table(fixture, fixture.at("pods"));
      expect(columns(printed).slice(0, 5)).toEqual(["Name", "Ready", "Status", "Restarts", "Age"]);
      expect(printed.rows[0]?.cells.slice(0, 3)).toEqual(["a", "0/1", "Pending"]);
    },
    "a table is paged like its list": async (fixture) => {
      for (const name of ["a", "b", "c"]) await fixture.make("configmaps", configMap(name));
      const first = await table(fixture, fixture.at("configmaps"), { limit: 2 });
      expect(first.rows).toHaveLength(2);
      const rest = await table(fixture, fixture.at("configmaps"), {
        limit: 2,
        continue: String(first.metadata.continue),
      });
      expect(rest.rows.map(({ cells }) => cells[0])).toEqual(["c"]);
    },
    "a custom resource without columns has a name and an age": async (fixture) => {
      const w = await widgets(fixture);
      await fixture.api.done(post(w.at(), w.body("a")));
      expect(columns(await table(fixture, w.at()))).toEqual(["Name", "Age"]);
    },
    "a custom resource has the columns of its definition": async (fixture) => {
      const additionalPrinterColumns = [
        { name: "Colour", type: "string", jsonPath: ".spec.colour", description: "what it looks like" },
        { name: "Size", type: "integer", jsonPath: ".spec.size", priority: 1 },
        { name: "Ready", type: "string", jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
        { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
      ];
      const w = await widgets(fixture, { additionalPrinterColumns });
      const conditions = [
        { type: "Other", status: "False" },
        { type: "Ready", status: "True" },
      ];
      await fixture.api.done(post(w.at(), w.body("a", { spec: { colour: "red", size: 3 }, status: { conditions } })));
      await fixture.api.done(post(w.at(), w.body("b", {})));
      const printed = await table(fixture, w.at());
      expect(columns(printed)).toEqual(["Name", "Colour", "Size", "Ready", "Age"]);
      expect(printed.columnDefinitions[2]).toMatchObject({ type: "integer", priority: 1 });
      expect(printed.rows[0]?.cells.slice(0, 4)).toEqual(["a", "red", 3, "True"]);
      expect(printed.rows[0]?.cells[4]).toMatch(/^\d+s$/);
      expect(printed.rows[1]?.cells.slice(1, 4)).toEqual([null, null, null]);
    },
    "a watch prints each event as a table of one row": async (fixture) => {
      const { metadata } = await fixture.api.list(fixture.at("configmaps"));
      await using watch = await fixture.api.watch(
        fixture.at("configmaps"),
        { resourceVersion: metadata.resourceVersion },
        asTable,
      );
      await fixture.make("configmaps", configMap("a"));
      await fixture.api.done(mergePatch(fixture.at("configmaps", "a"), { data: { k: "v" } }));
      const [added, modified] = await watch.take(2);
      expect(added).toMatchObject({ type: "ADDED", object: { kind: "Table" } });
      expect(columns(added?.object as unknown as Table)).toEqual(["Name", "Data", "Age"]);
      expect(dig(modified, "object", "rows", 0, "cells", 1)).toBe(1);
    },
    "one object is reduced to its metadata": async (fixture) => {
      const made = await fixture.make("configmaps", configMap("a", { k: "v" }));
      const reduced = await fixture.api.done(accepting(get(fixture.at("configmaps", "a")), asMetadata));
      expect(reduced).toEqual({ kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata: made.metadata });
    },
    "a list is reduced to its metadata": async (fixture) => {
      await fixture.make("configmaps", configMap("a", { k: "v" }));
      const list = await fixture.api.done<KubeList>(accepting(get(fixture.at("configmaps")), asMetadataList));
      expect(list).toMatchObject({ kind: "PartialObjectMetadataList", apiVersion: "meta.k8s.io/v1" });
      expect(list.items[0]?.metadata.name).toBe("a");
      expect(list.items[0]).not.toHaveProperty("data");
    },
    "a watch is reduced to metadata": async (fixture) => {
      const { metadata } = await fixture.api.list(fixture.at("configmaps"));
      await using watch = await fixture.api.watch(
        fixture.at("configmaps"),
        { resourceVersion: metadata.resourceVersion },
        asMetadata,
      );
      await fixture.make("configmaps", configMap("a", { k: "v" }));
      const { object } = await watch.event();
      expect(object).toMatchObject({ kind: "PartialObjectMetadata", metadata: { name: "a" } });
      expect(object).not.toHaveProperty("data");
    },
    "an answer that cannot be given in the accepted form is 406": async (fixture) => {
      await fixture.api.refused(accepting(get(fixture.at("configmaps")), "text/csv"), 406, "NotAcceptable");
      const impossible = "application/json;as=Table;v=v9;g=meta.k8s.io";
      await fixture.api.refused(accepting(get(fixture.at("configmaps")), impossible), 406, "NotAcceptable");
    },
    "columns show dates, booleans, numbers, lists and what is not there": async (fixture) => {
      const additionalPrinterColumns = [
        column("When", "date", ".spec.when"),
        column("On", "boolean", ".spec.on"),
        column("Ratio", "number", ".spec.ratio"),
        column("First", "string", ".spec.list[0]"),
        column("Key", "string", ".metadata.labels.app\\.kubernetes\\.io/name"),
      ];
      const w = await widgets(fixture, { additionalPrinterColumns });
      const when = new Date(Date.now() - 3 * 86_400_000).toISOString();
      const spec = { when, on: true, ratio: 0.5, list: ["x", "y"] };
      await fixture.api.done(post(w.at(), w.body("a", { spec }, { labels: { "app.kubernetes.io/name": "n" } })));
      await fixture.api.done(post(w.at(), w.body("b", { spec: {} })));
      const { rows } = await table(fixture, w.at());
      expect(rows[0]?.cells).toEqual(["a", "3d", true, 0.5, "x", "n"]);
      expect(rows[1]?.cells).toEqual(["b", null, null, null, null, null]);
    },
  },
};
