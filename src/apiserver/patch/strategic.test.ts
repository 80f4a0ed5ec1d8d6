import { describe, expect, test } from "vitest";

import type { JsonObject } from "../json.ts";
import { builtinSchema } from "../schema/builtin.ts";
import { applyStrategicPatch } from "./strategic.ts";

const pod = builtinSchema("io.k8s.api.core.v1.Pod");
const patched = (target: JsonObject, patch: JsonObject) => applyStrategicPatch(target, patch, pod);
const containers = (...list: JsonObject[]) => ({ spec: { containers: list } });

describe("lists with a merge key", () => {
  test("an item with the same key is merged, a new one added", () => {
    const before = containers({ name: "a", image: "x", tty: true }, { name: "b", image: "y" });
    const after = patched(before, containers({ name: "a", image: "z" }, { name: "c", image: "w" }));
    expect(after).toEqual(
      containers({ name: "a", image: "z", tty: true }, { name: "c", image: "w" }, { name: "b", image: "y" }),
    );
  });
  test("$patch: delete removes the item", () => {
    const before = containers({ name: "a" }, { name: "b" });
    expect(patched(before, containers({ name: "a", $patch: "delete" }))).toEqual(containers({ name: "b" }));
  });
  test("$patch: replace replaces the list", () => {
    const before = containers({ name: "a" }, { name: "b" });
    expect(patched(before, containers({ $patch: "replace" }, { name: "c" }))).toEqual(containers({ name: "c" }));
  });
  test("an item without the key is refused", () => {
    expect(() => patched(containers(), containers({ image: "x" }))).toThrow(expect.objectContaining({ code: 400 }));
  });
  test("$setElementOrder orders what it names and leaves the rest before its successor", () => {
    const before = containers({ name: "a" }, { name: "b" }, { name: "c" });
    const patch = { spec: { "$setElementOrder/containers": [{ name: "c" }, { name: "a" }] } };
    const names = (patched(before, patch)["spec"] as { containers: { name: string }[] }).containers.map(
      ({ name }) => name,
    );
    expect(names).toEqual(["b", "c", "a"]);
  });
});

describe("lists of plain values", () => {
  test("finalizers are merged as a set", () => {
    const after = patched({ metadata: { finalizers: ["a/1"] } }, { metadata: { finalizers: ["a/1", "a/2"] } });
    expect(after).toEqual({ metadata: { finalizers: ["a/1", "a/2"] } });
  });
  test("$deleteFromPrimitiveList takes values out", () => {
    const after = patched(
      { metadata: { finalizers: ["a/1", "a/2"] } },
      { metadata: { "$deleteFromPrimitiveList/finalizers": ["a/1"] } },
    );
    expect(after).toEqual({ metadata: { finalizers: ["a/2"] } });
  });
  test("a list without a strategy is replaced", () => {
    const before = containers({ name: "a", args: ["1", "2"] });
    expect(patched(before, containers({ name: "a", args: ["3"] }))).toEqual(containers({ name: "a", args: ["3"] }));
  });
});

test("null deletes, $patch: replace replaces an object, $retainKeys drops other keys", () => {
  expect(patched({ metadata: { labels: { a: "1", b: "2" } } }, { metadata: { labels: { a: null } } })).toEqual({
    metadata: { labels: { b: "2" } },
  });
  expect(
    patched({ metadata: { labels: { a: "1" } } }, { metadata: { labels: { $patch: "replace", c: "3" } } }),
  ).toEqual({
    metadata: { labels: { c: "3" } },
  });
  const before = { spec: { securityContext: { runAsUser: 1, runAsGroup: 2 } } };
  const patch = { spec: { securityContext: { $retainKeys: ["runAsUser"], runAsUser: 5 } } };
  expect(patched(before, patch)).toEqual({ spec: { securityContext: { runAsUser: 5 } } });
});
