import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { HoldsByPool } from "./hold-index.ts";
import { heldOf, poolOf } from "./leaks/testing/values.ts";
import { membersOf, networkOf, PoolIndex, poolRangeOf } from "./membership.ts";
import { heldKey } from "./pool-hold.ts";

const named = (range: string, name: string) => poolRangeOf(poolOf(range, {}, { name }))!;
const pools = [
  named("10.0.0.0/24", "10.0.0.0-24"),
  named("10.0.0.0/25", "10.0.0.0-25"),
  named("10.0.0.0/24", "blue-10.0.0.0-24"),
  poolRangeOf(poolOf("10.0.0.0/24", {}, { name: "odd", annotations: { "holdfast.io/network-name": "red" } }))!,
];

describe("which pools show a hold", () => {
  const index = new PoolIndex(pools);
  const of = (parts: Parameters<typeof heldOf>[0]) => {
    const { hold, namespace } = heldOf(parts);
    return index.of(hold, namespace).map(({ name }) => name);
  };

  it.each([
    ["all of its network that have the address", { address: "10.0.0.7" }, ["10.0.0.0-24", "10.0.0.0-25"]],
    ["not those whose range ends before it", { address: "10.0.0.200" }, ["10.0.0.0-24"]],
    ["the one that it names", { address: "10.0.0.7", note: { pool: "kube-system/10.0.0.0-25" } }, ["10.0.0.0-25"]],
    [
      "a name that cannot be right is passed over",
      { address: "10.0.0.200", note: { pool: "kube-system/10.0.0.0-25" } },
      ["10.0.0.0-24"],
    ],
    ["a network by the pool's name", { address: "10.0.0.7", domain: "network:blue" }, ["blue-10.0.0.0-24"]],
    ["a network by the pool's annotation", { address: "10.0.0.7", domain: "network:red" }, ["odd"]],
    [
      "a pool that is a domain of its own",
      { address: "10.0.0.7", domain: "pool:kube-system/10.0.0.0-25" },
      ["10.0.0.0-25"],
    ],
    ["none of another namespace", { address: "10.0.0.7", namespace: "tenant" }, []],
    ["none where no range has it", { address: "10.9.0.7" }, []],
  ])("%s", (_story, parts, expected) => {
    expect(of(parts)).toEqual(expected);
  });

  it("a pool's network is read from its name where nothing else says it", () => {
    expect(pools.map(networkOf)).toEqual(["", "", "blue", "red"]);
  });
});

describe("HoldsByPool", () => {
  const change = fc.record({
    address: fc.integer({ min: 1, max: 250 }).map((last) => `10.0.0.${last}`),
    domain: fc.constantFrom("network:", "network:blue", "network:red", "pool:kube-system/10.0.0.0-25"),
    what: fc.constantFrom("put", "cool", "delete"),
  });

  it("is what a count from scratch gives, after any changes of holds and pools", () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(change, fc.subarray(pools)), { maxLength: 60 }), (changes) => {
        const holdsByPool = new HoldsByPool();
        let current: readonly (typeof pools)[number][] = [];
        const all = new Map<string, ReturnType<typeof heldOf>>();
        for (const each of changes) {
          if (Array.isArray(each)) {
            current = each;
            holdsByPool.setPools(current);
            continue;
          }
          const plain = { ...heldOf(each), name: `${each.domain} ${each.address}` };
          const held = each.what === "cool" ? { ...plain, cooling: { untilMs: 0, lastOwner: "" as never } } : plain;
          const key = heldKey(held);
          const before = new Set(
            current.filter((pool) => holdsByPool.of(pool.key).some((one) => heldKey(one) === key)),
          );
          const touched = holdsByPool.put(key, each.what === "delete" ? [] : [held]);
          if (each.what === "delete") all.delete(key);
          else all.set(key, held);
          for (const pool of before) expect(touched).toContain(pool.key);
        }
        const members = membersOf(all.values(), new PoolIndex(current));
        for (const { key } of pools) {
          const kept = holdsByPool.of(key).filter(({ cooling }) => cooling === undefined);
          expect(kept.map(heldKey).toSorted()).toEqual((members.get(key) ?? []).map(heldKey).toSorted());
        }
        expect([...holdsByPool.all()]).toHaveLength(all.size);
      }),
      { numRuns: 500 },
    );
  });
});
