// CustomResourceDefinitions: becoming served, being refused, changing and going.
import { expect } from "vitest";

import { del, get, mergePatch, post } from "../call.ts";
import { condition, definition, definitions, widgets, type DefinitionOptions } from "../crd.ts";
import type { Subject, Fixture } from "../fixture.ts";
import { dig, names } from "../object.ts";
import { until } from "../until.ts";

async function refusedDefinition(fixture: Fixture, body: object): Promise<string[]> {
  const status = await fixture.api.refused(post(definitions, body), 422, "Invalid");
  expect(status.details).toMatchObject({ group: "apiextensions.k8s.io", kind: "CustomResourceDefinition" });
  return (status.details?.causes ?? []).map(({ field }) => field ?? "");
}

const refusedSchema = (fixture: Fixture, spec: object) => refusedDefinition(fixture, definition({ spec }));

async function makeOne(fixture: Fixture, options: DefinitionOptions = {}) {
  const w = await widgets(fixture, options);
  await fixture.api.done(post(w.at(), w.body("a", { spec: { x: 1 } })));
  return w;
}

export const defining: Subject = {
  name: "custom resource definitions",
  cases: {
    "a definition becomes established, with its names accepted": async (fixture) => {
      const w = await widgets(fixture);
      expect(condition(w.definition, "NamesAccepted")?.status).toBe("True");
      expect(condition(w.definition, "Established")?.status).toBe("True");
      expect(w.definition["status"]).toMatchObject({
        acceptedNames: { plural: "widgets", kind: "Widget" },
        storedVersions: ["v1"],
      });
    },
    "a definition gets its defaults": async (fixture) => {
      const body = definition();
      const { plural, kind } = body.spec.names;
      const made = await fixture.lend(definitions, { ...body, spec: { ...body.spec, names: { plural, kind } } });
      expect(made["spec"]).toMatchObject({
        conversion: { strategy: "None" },
        names: { plural, singular: "widget", kind, listKind: "WidgetList" },
      });
    },
    "its objects are created, read, listed and deleted": async (fixture) => {
      const w = await makeOne(fixture);
      expect(await fixture.api.done(get(w.at("a")))).toMatchObject({
        apiVersion: `${w.group}/v1`,
        kind: "Widget",
        spec: { x: 1 },
      });
      const list = await fixture.api.list(w.at());
      expect(list).toMatchObject({ apiVersion: `${w.group}/v1`, kind: "WidgetList" });
      expect(list.items[0]).toMatchObject({ apiVersion: `${w.group}/v1`, kind: "Widget" });
      expect(await fixture.api.done(del(w.at("a")))).toMatchObject({ kind: "Status", status: "Success" });
      expect(names(await fixture.api.list(w.at()))).toEqual([]);
    },
    "objects of a cluster-scoped definition have no namespace": async (fixture) => {
      const w = await widgets(fixture, { scope: "Cluster" });
      const made = await fixture.api.done(post(w.everywhere(), w.body("a")));
      expect(made.metadata).not.toHaveProperty("namespace");
      expect(names(await fixture.api.list(w.everywhere()))).toEqual(["a"]);
      expect((await fixture.api.send(get(w.at("a")))).status).toBe(404);
    },
    "an object of another kind is Invalid, of another group a bad request": async (fixture) => {
      const w = await widgets(fixture);
      const body = w.body("a");
      const status = await fixture.api.refused(post(w.at(), { ...body, kind: "Gadget" }), 422, "Invalid");
      expect(status.details?.causes?.[0]).toMatchObject({ field: "kind" });
      await fixture.api.refused(post(w.at(), { ...body, apiVersion: "other.test/v1" }), 400, "BadRequest");
    },
    "the name of a definition is plural and group": async (fixture) => {
      const body = definition();
      expect(await refusedDefinition(fixture, { ...body, metadata: { name: `gadgets.${body.spec.group}` } })).toContain(
        "metadata.name",
      );
    },
    "a definition needs a schema": async (fixture) => {
      const body = definition();
      const versions = [{ name: "v1", served: true, storage: true }];
      expect(await refusedDefinition(fixture, { ...body, spec: { ...body.spec, versions } })).toContain(
        "spec.versions[0].schema.openAPIV3Schema",
      );
    },
    "exactly one version is stored": async (fixture) => {
      const fields = await refusedDefinition(fixture, definition({ versions: [{ name: "v1" }, { name: "v2" }] }));
      expect(fields).toContain("spec.versions");
      await refusedDefinition(fixture, definition({ storage: false }));
    },
    "a schema is structural: every field has a type": async (fixture) => {
      const fields = await refusedSchema(fixture, { type: "object", properties: { x: { description: "no type" } } });
      expect(fields).toEqual(
        expect.arrayContaining([expect.stringContaining("openAPIV3Schema.properties[spec].properties[x].type")]),
      );
    },
    "a schema cannot close an object to other fields": async (fixture) => {
      const fields = await refusedSchema(fixture, {
        type: "object",
        properties: { x: { type: "string" } },
        additionalProperties: false,
      });
      expect(fields.join()).toContain("additionalProperties");
    },
    "uniqueItems is refused": async (fixture) => {
      const spec = {
        type: "object",
        properties: { x: { type: "array", items: { type: "string" }, uniqueItems: true } },
      };
      expect((await refusedSchema(fixture, spec)).join()).toContain("uniqueItems");
    },
    "a default must itself be valid": async (fixture) => {
      const spec = { type: "object", properties: { x: { type: "integer", default: "one" } } };
      expect((await refusedSchema(fixture, spec)).join()).toContain("default");
    },
    "a keyed list needs its keys": async (fixture) => {
      const items = { type: "object", properties: { name: { type: "string" } } };
      const spec = { type: "object", properties: { x: { type: "array", items, "x-kubernetes-list-type": "map" } } };
      expect((await refusedSchema(fixture, spec)).join()).toContain("x-kubernetes-list-map-keys");
    },
    "the scope cannot be changed": async (fixture) => {
      const w = await widgets(fixture);
      const status = await fixture.api.refused(
        mergePatch(w.definitionPath, { spec: { scope: "Cluster" } }),
        422,
        "Invalid",
      );
      expect(status.details?.causes?.map(({ field }) => field)).toContain("spec.scope");
    },
    "a kind that another definition of the group has is not accepted": async (fixture) => {
      const w = await widgets(fixture);
      const body = definition();
      const rival = {
        ...body.spec,
        group: w.group,
        names: { ...body.spec.names, plural: "rivals", singular: "rival" },
      };
      await fixture.lend(definitions, { ...body, metadata: { name: `rivals.${w.group}` }, spec: rival });
      const seen = await until("the names are judged", async () => {
        const object = await fixture.api.done(get(`${definitions}/rivals.${w.group}`));
        return condition(object, "NamesAccepted")?.status === "False" && object;
      });
      expect(condition(seen, "Established")?.status).not.toBe("True");
    },
    "a change of the schema takes effect": async (fixture) => {
      const w = await makeOne(fixture);
      const path = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
      const headers = { "content-type": "application/json-patch+json" };
      const body = [{ op: "add", path, value: { x: { type: "string" } } }];
      await fixture.api.done({ method: "PATCH", path: w.definitionPath, headers, body });
      const call = post(w.at(), w.body("probe", { spec: { x: 1 } }), { dryRun: "All" });
      await until("the new schema is in force", async () => (await fixture.api.send(call)).status === 422);
    },
    "with a definition go its objects": async (fixture) => {
      const w = await makeOne(fixture);
      await fixture.api.done(del(w.definitionPath));
      await until("the definition is gone", async () => !(await fixture.api.exists(w.definitionPath)));
      await until("its path is gone", async () => (await fixture.api.send(get(w.at()))).status === 404);
    },
    "a definition waits for objects that are held": async (fixture) => {
      const w = await widgets(fixture);
      await fixture.api.done(post(w.at(), w.body("held", {}, { finalizers: ["x.test/hold"] })));
      await fixture.api.done(del(w.definitionPath));
      const seen = await until("the definition is terminating", async () => {
        const object = await fixture.api.done(get(w.definitionPath));
        return condition(object, "Terminating")?.status === "True" && object;
      });
      expect(seen.metadata.finalizers).toContain("customresourcecleanup.apiextensions.k8s.io");
      await until(
        "the held object is marked",
        async () => (await fixture.api.done(get(w.at("held")))).metadata.deletionTimestamp,
      );
      await fixture.api.done(mergePatch(w.at("held"), { metadata: { finalizers: null } }));
      await until("the definition is gone", async () => !(await fixture.api.exists(w.definitionPath)));
    },
    "short names and categories are in discovery": async (fixture) => {
      const w = await widgets(fixture, { names: { shortNames: ["wd"], categories: ["all"] } });
      const found = await until("the resource is in discovery", async () => {
        const list = await fixture.api.done<unknown>(get(`/apis/${w.group}/v1`));
        return dig(list, "resources", 0) ?? undefined;
      });
      expect(found).toMatchObject({ name: "widgets", singularName: "widget", kind: "Widget", namespaced: true });
      expect(found).toMatchObject({ shortNames: ["wd"], categories: ["all"] });
    },
    "a group that ends in k8s.io needs an approval": async (fixture) => {
      const body = definition();
      const group = body.spec.group.replace("holdfast.test", "k8s.io");
      const call = post(definitions, {
        ...body,
        metadata: { name: `widgets.${group}` },
        spec: { ...body.spec, group },
      });
      await fixture.api.refused(call, 422, "Invalid");
    },
    "a definition with rules in CEL is taken, and objects that keep them pass": async (fixture) => {
      const properties = { low: { type: "integer" }, high: { type: "integer" } };
      const rule = { rule: "self.low <= self.high", message: "low is at most high" };
      const w = await widgets(fixture, { spec: { type: "object", properties, "x-kubernetes-validations": [rule] } });
      await fixture.api.done(post(w.at(), w.body("a", { spec: { low: 1, high: 2 } })));
    },
  },
};
