import { type Arbitrary, assert, constant, constantFrom, dictionary, letrec, oneof, property } from "fast-check";
import { describe, expect, test } from "vitest";

import type { JsonObject } from "../json.ts";
import type { KubeObject } from "../object.ts";
import type { Schema } from "../schema/schema.ts";
import { readFields, withHolders, writeFields } from "./fields.ts";
import { applyConfiguration, trackUpdate } from "./managed-fields.ts";

const schema: Schema = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      properties: {
        size: { type: "integer" },
        ports: {
          type: "array",
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["name"],
          items: { type: "object", properties: { name: { type: "string" }, port: { type: "integer" } } },
        },
        tags: { type: "array", "x-kubernetes-list-type": "set", items: { type: "string" } },
        whole: { type: "object", "x-kubernetes-map-type": "atomic" },
      },
    },
  },
};

const by = (name: string) => ({ name, apiVersion: "v1", subresource: "", nowMs: 0, blank: { metadata: {}, spec: {} } });
const thing = (spec: JsonObject): KubeObject => ({ kind: "Thing", apiVersion: "v1", metadata: { name: "a" }, spec });
const empty: KubeObject = { kind: "Thing", apiVersion: "v1", metadata: { name: "a" } };
const apply = (live: KubeObject, name: string, spec: JsonObject, force = false) =>
  applyConfiguration(live, thing(spec), schema, by(name), force);
const fields = (object: KubeObject, name: string) =>
  object.metadata.managedFields?.find((entry) => entry.manager === name)?.fieldsV1;

describe("apply", () => {
  test("states leaves, list items by key, set items by value, atomic maps as one", () => {
    const after = apply(empty, "one", { size: 1, ports: [{ name: "p", port: 1 }], tags: ["t"], whole: { a: 1 } });
    expect(fields(after, "one")).toEqual({
      "f:spec": {
        "f:ports": { 'k:{"name":"p"}': { ".": {}, "f:name": {}, "f:port": {} } },
        "f:size": {},
        "f:tags": { 'v:"t"': {} },
        "f:whole": {},
      },
    });
  });
  test("takes away what its manager no longer states and nobody else does", () => {
    const first = apply(empty, "one", {
      size: 1,
      tags: ["a", "b"],
      ports: [
        { name: "p", port: 1 },
        { name: "q", port: 2 },
      ],
    });
    const second = apply(first, "two", { tags: ["b"] });
    const third = apply(second, "one", { ports: [{ name: "q", port: 2 }] });
    expect(third["spec"]).toEqual({ tags: ["b"], ports: [{ name: "q", port: 2 }] });
  });
  test("another value for another's field is a conflict that names both", () => {
    const live = apply(empty, "one", { size: 1 });
    expect(() => apply(live, "two", { size: 2 })).toThrow(
      'Apply failed with 1 conflict: conflict with "one": .spec.size',
    );
    const forced = apply(live, "two", { size: 2 }, true);
    expect(forced["spec"]).toEqual({ size: 2 });
    expect(fields(forced, "one")).toBeUndefined();
  });
  test("the same value is shared, and stays until both let it go", () => {
    const live = apply(apply(empty, "one", { size: 1 }), "two", { size: 1 });
    const left = apply(live, "one", {});
    expect(left["spec"]).toEqual({ size: 1 });
    // Null is less than absent: who owns the map as such goes on owning it. It is dropped before it is stored.
    expect(apply(left, "two", {})["spec"]).toBeNull();
  });
});

describe("update", () => {
  test("takes over what it changes", () => {
    const live = apply(empty, "one", { size: 1, tags: ["a"] });
    const after = { ...live, spec: { size: 2, tags: ["a"] } };
    trackUpdate(live, after, schema, by("two"));
    expect(fields(after, "two")).toEqual({ "f:spec": { "f:size": {} } });
    expect(fields(after, "one")).toEqual({ "f:spec": { "f:tags": { 'v:"a"': {} } } });
  });
  test("an object whose tracking was reset stays untracked", () => {
    const live = thing({ size: 1 });
    const after: KubeObject = { ...live, metadata: { name: "a" }, spec: { size: 2 } };
    trackUpdate(live, after, schema, by("two"));
    expect(after.metadata.managedFields).toBeUndefined();
  });
  test("at most ten updaters are told apart", () => {
    let live = thing({ size: 0 });
    trackUpdate(undefined, live, schema, by("m0"));
    for (let turn = 1; turn <= 20; turn++) {
      const after: KubeObject = {
        ...live,
        metadata: { ...live.metadata },
        spec: { ...(live["spec"] as JsonObject), [`f${turn}`]: 1 },
      };
      trackUpdate(live, after, schema, by(`m${turn}`));
      live = after;
    }
    expect(live.metadata.managedFields).toHaveLength(10);
    expect(fields(live, "ancient-changes")).toBeDefined();
  });
});

const tree: Arbitrary<JsonObject> = letrec<{ node: JsonObject }>((tie) => ({
  node: dictionary(constantFrom("f:a", "f:b", "f:c"), oneof({ maxDepth: 3 }, constant({}), tie("node")), {
    maxKeys: 3,
  }),
})).node;

test("fields are read back as they were written, and a holder of a field is a prefix of its path", () => {
  assert(
    property(tree, tree, (x, y) => {
      for (const set of [readFields(x), readFields(x).union(readFields(y)), readFields(x).difference(readFields(y))]) {
        expect(readFields(writeFields(set))).toEqual(set);
        const holders = withHolders(set).difference(set);
        expect([...holders].every((holder) => [...set].some((path) => path.startsWith(`${holder}\0`)))).toBe(true);
      }
    }),
  );
});
