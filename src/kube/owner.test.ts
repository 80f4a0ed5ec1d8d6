import { expect, test } from "vitest";

import type { OwnerReference } from "./meta.ts";
import { controllerKey, controllerReference } from "./owner.ts";
import { defineResource } from "./resource.ts";

const pools = defineResource({ group: "h.io", version: "v1", plural: "pools", kind: "Pool", namespaced: true });
const nodes = defineResource({ group: "", version: "v1", plural: "nodes", kind: "Node", namespaced: false });
const owned = (...ownerReferences: OwnerReference[]) => ({ metadata: { namespace: "a", name: "x", ownerReferences } });

test("what is owned leads to its owner's key", () => {
  const reference = controllerReference(pools, { metadata: { namespace: "a", name: "p", uid: "u" } });
  expect(reference).toEqual({
    apiVersion: "h.io/v1",
    kind: "Pool",
    name: "p",
    uid: "u",
    controller: true,
    blockOwnerDeletion: true,
  });
  expect(controllerKey(pools, owned(reference))).toEqual(["a/p"]);
});

test("also from another version of the group, and to an owner without a namespace", () => {
  const reference = { apiVersion: "h.io/v1beta1", kind: "Pool", name: "p", uid: "u", controller: true };
  expect(controllerKey(pools, owned(reference))).toEqual(["a/p"]);
  const node = controllerReference(nodes, { metadata: { name: "n", uid: "u" } });
  expect(controllerKey(nodes, owned(node))).toEqual(["n"]);
});

test.each<[string, OwnerReference[]]>([
  ["nobody", []],
  ["an owner that does not control", [{ apiVersion: "h.io/v1", kind: "Pool", name: "p", uid: "u" }]],
  ["another kind", [{ apiVersion: "h.io/v1", kind: "Hold", name: "p", uid: "u", controller: true }]],
  [
    "another group's kind of that name",
    [{ apiVersion: "other.io/v1", kind: "Pool", name: "p", uid: "u", controller: true }],
  ],
])("owned by %s: no key", (_name, references) => expect(controllerKey(pools, owned(...references))).toEqual([]));

test("an owner that was not created yet cannot be referred to", () => {
  expect(() => controllerReference(pools, { metadata: { name: "p" } })).toThrow(/no uid yet/);
});
