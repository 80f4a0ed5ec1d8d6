import { describe, expect, it } from "vitest";

import type { StoredPool } from "../ledger/resources.ts";
import { parsePrefix } from "../net/prefix.ts";
import { isBrought, isOldPool, missingEntries, oldNames } from "./old-pool.ts";

const identity = { block: parsePrefix("10.0.0.64/26"), network: "blue", node: "n1" };

function pool(range: string, owners: Record<string, string>, metadata: StoredPool["metadata"] = {}): StoredPool {
  const allocations = Object.fromEntries(
    Object.entries(owners).map(([key, pod]) => [key, { id: pod, podref: `shop/${pod}` }]),
  );
  const apiVersion = "whereabouts.cni.cncf.io/v1alpha1";
  return { apiVersion, kind: "IPPool", metadata: { name: "blue-n1", ...metadata }, spec: { range, allocations } };
}

describe("names", () => {
  it.each([
    ["blue", "10.0.0.64/26", ["blue-n1"]],
    ["", "10.0.0.64/26", ["10.0.0.64-26-n1"]],
    ["", "fd00::/64", ["fd00---64-n1"]],
  ])("network %j, slice %s: %j", (network, range, names) => {
    expect(oldNames({ block: parsePrefix(range), network, node: "n1" })).toEqual(names);
  });
});

describe("whose it is", () => {
  it.each([
    ["whereabouts made it: the range decides", pool("10.0.0.64/26", {}), true],
    ["its range has host bits", pool("10.0.0.65/26", {}), true],
    ["another slice of the same node", pool("10.0.0.128/26", {}), false],
    ["a part of the slice", pool("10.0.0.64/27", {}), false],
    ["a range that is none", pool("10.0.0.64", {}), false],
    ["a shared pool of network blue-n1", pool("10.0.0.64/26", {}, { annotations: mark("blue-n1", "") }), false],
    ["ours, by its marks", pool("10.0.0.64/26", {}, { annotations: mark("blue", "n1") }), true],
    ["a slice already", pool("10.0.0.64/26", {}, { labels: { "holdfast.io/slice": "true" } }), false],
  ])("%s", (_, object, expected) => {
    expect(isOldPool(object, identity)).toBe(expected);
  });
});

function mark(network: string, node: string): Record<string, string> {
  return { "holdfast.io/network-name": network, "holdfast.io/node": node };
}

describe("entries", () => {
  it.each([
    ["all are missing", { 1: "a", 2: "b" }, {}, { 1: "a", 2: "b" }],
    ["some are there", { 1: "a", 2: "b" }, { 1: "a" }, { 2: "b" }],
    ["none is missing", { 1: "a" }, { 1: "a", 2: "b" }, {}],
    ["a key that means nothing is kept for people to see", { nonsense: "a" }, {}, { nonsense: "a" }],
  ])("%s", (_, old, there, missing) => {
    const [from, to] = [pool("10.0.0.64/26", old), pool("10.0.0.64/26", there)];
    const found = missingEntries(from, to);
    expect(found).toEqual(pool("10.0.0.64/26", missing).spec.allocations);
    expect(isBrought(from, to)).toBe(Object.keys(missing).length === 0);
    const after = { ...to, spec: { ...to.spec, allocations: { ...to.spec.allocations, ...found } } };
    expect(isBrought(from, after)).toBe(true);
  });

  it("counts offsets from the address that each range is written with, and keeps all that a key may mean", () => {
    const from = pool("10.0.0.66/26", { 3: "a" });
    const to = pool("10.0.0.64/26", {});
    const found = missingEntries(from, to);
    expect(found).toHaveProperty("5", { id: "a", podref: "shop/a" });
    const after = { ...to, spec: { ...to.spec, allocations: found } };
    expect(isBrought(from, after)).toBe(true);
    expect(isBrought(from, to)).toBe(false);
  });

  it("two owners of one address: the one that is there stays, and the old object is not brought over", () => {
    const [from, to] = [pool("10.0.0.64/26", { 1: "a" }), pool("10.0.0.64/26", { 1: "b" })];
    expect(missingEntries(from, to)).toEqual({});
    expect(isBrought(from, to)).toBe(false);
  });

  it("a key that leads out of a range with host bits keeps the old object where it is", () => {
    const from = pool("10.0.0.66/26", { 9000: "a" });
    expect(isBrought(from, pool("10.0.0.64/26", {}))).toBe(false);
  });
});
