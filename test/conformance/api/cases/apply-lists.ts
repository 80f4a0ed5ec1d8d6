// Server-side apply to lists and maps: the order of elements, and who owns a list, a map and an element as such.
import { expect } from "vitest";

import { apply, post, put } from "../call.ts";
import { widgets, type Widgets } from "../crd.ts";
import type { Subject, Fixture } from "../fixture.ts";
import { deployment } from "../fixtures.ts";
import { dig, type KubeObject } from "../object.ts";

const string = { type: "string" };
const ports = {
  type: "array",
  items: { type: "object", properties: { name: string, port: { type: "integer" } }, required: ["name"] },
  "x-kubernetes-list-type": "map",
  "x-kubernetes-list-map-keys": ["name"],
};
const tags = { type: "array", items: string, "x-kubernetes-list-type": "set" };
const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

const listed = (fixture: Fixture) => widgets(fixture, { spec: { type: "object", properties: { ports, tags, open } } });
const applying = (w: Widgets, fieldManager: string, spec: object, more: object = {}) =>
  apply(w.at("a"), w.body("a", { spec }), { fieldManager, ...more });

const [http, dns] = [
  { name: "http", port: 80 },
  { name: "dns", port: 53 },
];

/** A configmap named a, with labels that somebody applies. */
const labelling = (fixture: Fixture, fieldManager: string, labels?: object, more: object = {}) => {
  const metadata = labels === undefined ? { name: "a" } : { name: "a", labels };
  return apply(
    fixture.at("configmaps", "a"),
    { apiVersion: "v1", kind: "ConfigMap", metadata },
    { fieldManager, ...more },
  );
};

const container = (object: KubeObject) => dig(object, "spec", "template", "spec", "containers", 0);

export const applyLists: Subject = {
  name: "server-side apply to lists and maps",
  cases: {
    "an element of which another manager has a value only goes with its key": async (fixture) => {
      const path = fixture.at("deployments", "a");
      const env = (b: string) => [
        { name: "A", value: "1" },
        { name: "B", value: b },
      ];
      const body = (more: object) => deployment("a", [{ name: "main", image: "busybox", ...more }]);
      const first = await fixture.api.done(apply(path, body({ env: env("1") }), { fieldManager: "two" }));
      const { resourceVersion } = first.metadata;
      const written = { ...body({ env: env("2") }), metadata: { name: "a", resourceVersion } };
      await fixture.api.done(put(path, written, { fieldManager: "one" }));
      const after = await fixture.api.done(apply(path, body({}), { fieldManager: "two" }));
      expect(container(after)).toMatchObject({ name: "main" });
      expect(container(after)).not.toHaveProperty("env");
    },
    "elements of a keyed list take the applier's order": async (fixture) => {
      const w = await listed(fixture);
      await fixture.api.done(applying(w, "one", { ports: [http] }));
      const after = await fixture.api.done(applying(w, "two", { ports: [dns, http] }));
      expect(dig(after, "spec", "ports")).toEqual([dns, http]);
    },
    "elements of a set take the applier's order, and another order is a change": async (fixture) => {
      const w = await listed(fixture);
      const first = await fixture.api.done(applying(w, "one", { tags: ["a", "x", "b"] }));
      const after = await fixture.api.done(applying(w, "two", { tags: ["b", "a"] }));
      expect(dig(after, "spec", "tags")).toEqual(["x", "b", "a"]);
      expect(after.metadata.generation).toBe((first.metadata.generation ?? 0) + 1);
    },
    "an element that only the object has stays before the one that it preceded": async (fixture) => {
      const w = await listed(fixture);
      await fixture.api.done(applying(w, "one", { tags: ["a", "x", "b", "y"] }));
      const after = await fixture.api.done(applying(w, "two", { tags: ["new", "a", "b", "last"] }));
      expect(dig(after, "spec", "tags")).toEqual(["new", "a", "x", "b", "y", "last"]);
    },
    "an element that is applied twice is refused, and none of the two is lost": async (fixture) => {
      const w = await listed(fixture);
      for (const spec of [{ tags: ["a", "a"] }, { ports: [http, dns, { ...http, port: 81 }] }]) {
        const { status, body } = await fixture.api.send(applying(w, "one", spec));
        expect(status).toBe(500);
        expect(dig(body, "message")).toContain("duplicate entries for key");
      }
    },
    "an empty map that somebody applied is a field that conflicts": async (fixture) => {
      await fixture.api.done(labelling(fixture, "two", {}));
      const status = await fixture.api.refused(labelling(fixture, "one", { x: "1" }), 409, "Conflict");
      expect(status.details?.causes).toEqual([expect.objectContaining({ field: ".metadata.labels" })]);
    },
    "an updater owns the map that it made, even when all entries are gone": async (fixture) => {
      const path = fixture.at("configmaps", "a");
      const { metadata } = await fixture.api.done(
        post(fixture.at("configmaps"), { metadata: { name: "a" }, data: { k: "v" } }, { fieldManager: "zero" }),
      );
      const { resourceVersion } = metadata;
      const body = { metadata: { name: "a", resourceVersion, labels: { x: "2" } }, data: { k: "v" } };
      await fixture.api.done(put(path, body, { fieldManager: "one" }));
      await fixture.api.done(labelling(fixture, "two", { x: "1" }, { force: true }));
      expect((await fixture.api.done(labelling(fixture, "two"))).metadata.labels).toBeUndefined();
      const status = await fixture.api.refused(labelling(fixture, "one", { x: "1" }), 409, "Conflict");
      expect(status.details?.causes).toEqual([expect.objectContaining({ field: ".metadata.labels" })]);
    },
    "a preserved field that becomes of another type conflicts as a whole": async (fixture) => {
      for (const [before, after] of [
        [{}, "a"],
        ["a", { k: "a" }],
      ]) {
        const w = await listed(fixture);
        await fixture.api.done(post(w.at(), w.body("a", { spec: { open: { any: before } } }), { fieldManager: "one" }));
        const status = await fixture.api.refused(applying(w, "one", { open: { any: after } }), 409, "Conflict");
        expect(status.details?.causes).toEqual([expect.objectContaining({ field: ".spec.open.any" })]);
      }
    },
    "an empty keyed list that somebody applies is no field": async (fixture) => {
      const w = await listed(fixture);
      const after = await fixture.api.done(applying(w, "one", { ports: [], tags: ["a"] }));
      expect(after.metadata.managedFields?.[0]?.fieldsV1).toEqual({ "f:spec": { "f:tags": { 'v:"a"': {} } } });
    },
    "what was there before anybody applied belongs to before-first-apply": async (fixture) => {
      const path = fixture.at("configmaps", "a");
      await fixture.api.done(post(fixture.at("configmaps"), { metadata: { name: "a" } }, { fieldManager: "zero" }));
      const body = (k: string) => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" }, data: { k } });
      const updated = await fixture.api.done(put(path, body("v"), { fieldManager: "one" }));
      expect(updated.metadata.managedFields ?? []).toEqual([]);
      const status = await fixture.api.refused(apply(path, body("w"), { fieldManager: "two" }), 409, "Conflict");
      expect(status.details?.causes?.[0]?.message).toContain('conflict with "before-first-apply" using v1');
      const after = await fixture.api.done(apply(path, body("v"), { fieldManager: "two" }));
      expect(after.metadata.managedFields?.map(({ manager, operation }) => [manager, operation])).toEqual(
        expect.arrayContaining([
          ["before-first-apply", "Update"],
          ["two", "Apply"],
        ]),
      );
    },
  },
};
