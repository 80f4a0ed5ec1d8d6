// The audit itself: each thing that must not be is found, and a system in order is not accused.
import { describe, expect, test } from "vitest";

import { parseAddress } from "../../src/net/address.ts";
import { parsePrefix } from "../../src/net/prefix.ts";
import { dangers, type Given, remains } from "./audit.ts";
import type { Books, Entry, PoolBook, SharedEntry, SliceBook } from "./books.ts";

const entry = (address: string, pod: string): Entry => ({
  address: parseAddress(address),
  who: `default/${pod} net1`,
  container: `c-${pod}`,
});
const shared = (address: string, pod: string): SharedEntry => ({
  ...entry(address, pod),
  namespace: "kube-system",
  domain: "network:red",
});
const given = (node: string, address: string, pod: string): Given => ({
  node,
  namespace: "kube-system",
  network: "red",
  address,
  who: `default/${pod} net1`,
  container: `c-${pod}`,
});

function slice(node: string, block: string, entries: readonly Entry[], more: Partial<SliceBook> = {}): SliceBook {
  const grant = { generation: 1, serial: 1, phase: "active" as const, without: [], taken: [] };
  const word = { journal: "j", generation: 1, serial: 1, sealed: false, moved: [], used: 0, free: 0, short: 0 };
  const rest = { namespace: "kube-system", network: "red", pool: "red", grant, word };
  return { ...rest, name: `red-${node}`, node, slice: parsePrefix(block), entries, ...more };
}

const pool = (...assigned: readonly (readonly [string, string])[]): PoolBook => ({
  name: "red",
  namespace: "kube-system",
  range: parsePrefix("10.0.0.0/24"),
  sliceLength: 28,
  assigned: assigned.map(([node, block]) => ({ node, block: parsePrefix(block) })),
  conditions: new Map(),
});

const a = slice("a", "10.0.0.0/28", [entry("10.0.0.1", "one")]);
const b = slice("b", "10.0.0.16/28", []);
const inOrder: Books = { slices: [a, b], pools: [pool(["a", "10.0.0.0/28"], ["b", "10.0.0.16/28"])], shared: [] };
const one = given("a", "10.0.0.1", "one");

test("a system in order is not accused", () => {
  expect(dangers(inOrder, [one])).toEqual([]);
  expect(remains(inOrder, [one])).toEqual([]);
});

test("a piece that was lent, in parts too, is not an overlap; one that was not is", () => {
  const grant = { ...a.grant!, without: ["10.0.0.8/31", "10.0.0.10/31"] };
  const pools = [pool(["a", "10.0.0.0/28"], ["b", "10.0.0.8/30"])];
  const slices = [{ ...a, grant }, slice("b", "10.0.0.8/30", [])];
  expect(dangers({ slices, pools, shared: [] }, [])).toEqual([]);
  for (const without of [[], ["10.0.0.8/31"]]) {
    const less = [{ ...a, grant: { ...grant, without } }, slices[1]!];
    expect(dangers({ slices: less, pools, shared: [] }, [])).toEqual([expect.stringContaining("overlap")]);
  }
});

test("a block that was lent as a whole is not an overlap; one that two nodes have is", () => {
  const pools = [pool(["a", "10.0.0.8/32"], ["b", "10.0.0.8/32"])];
  const lender = slice("a", "10.0.0.8/32", []);
  const all = [slice("b", "10.0.0.8/32", []), { ...lender, grant: { ...lender.grant!, without: ["10.0.0.8/32"] } }];
  expect(dangers({ slices: all, pools, shared: [] }, [])).toEqual([]);
  expect(dangers({ slices: [all[0]!, lender], pools, shared: [] }, [])).toEqual([expect.stringContaining("overlap")]);
});

test("what was moved to a reservation is one record, not two", () => {
  const moved = { ...inOrder, shared: [shared("10.0.0.1", "one")] };
  expect(dangers(moved, [one])).toEqual([]);
  expect(remains({ ...moved, slices: [{ ...a, entries: [] }, b] }, [one])).toEqual([]);
});

describe("at any moment", () => {
  const cases: readonly (readonly [string, Books, readonly Given[], string])[] = [
    ["two sandboxes, one address", inOrder, [one, given("b", "10.0.0.1", "two")], "given twice"],
    [
      "two mirrors, one address",
      { ...inOrder, slices: [a, slice("b", "10.0.0.16/28", [entry("10.0.0.1", "two")])] },
      [],
      "on record twice",
    ],
    ["a mirror and another's reservation", { ...inOrder, shared: [shared("10.0.0.1", "two")] }, [], "as a reservation"],
    ["given, and another node's record", inOrder, [given("b", "10.0.0.1", "two")], "has it as default/one net1's"],
    ["outside of the range", { ...inOrder, pools: [pool(["a", "10.9.0.0/28"])] }, [], "outside"],
    [
      "one slice to two nodes",
      { ...inOrder, pools: [pool(["a", "10.0.0.0/28"], ["b", "10.0.0.0/28"])] },
      [],
      "overlap",
    ],
  ];
  test.each(cases)("%s", (_, books, told, words) => {
    expect(dangers(books, told).join("\n")).toContain(words);
  });
});

describe("in a quiet system", () => {
  const cases: readonly (readonly [string, Books, readonly Given[], string])[] = [
    ["given and nowhere on record", inOrder, [one, given("b", "10.0.0.17", "two")], "is lost"],
    ["on record with a sandbox that is no more", inOrder, [{ ...one, container: "later" }], "is lost"],
    ["on record and nobody's", inOrder, [], "is leaked"],
    [
      "an entry outside of its slice",
      { ...inOrder, slices: [slice("a", "10.0.0.16/28", a.entries)] },
      [one],
      "not of it",
    ],
    ["an assignment without an object", { ...inOrder, slices: [a] }, [one], "has no object"],
    ["an object without an assignment", { ...inOrder, pools: [pool(["a", "10.0.0.0/28"])] }, [one], "is no assignment"],
    ["an object of no pool", { ...inOrder, pools: [] }, [one], "is not there"],
    ["a grant that was not taken up", { ...inOrder, slices: [a, { ...b, word: undefined }] }, [one], "said nothing"],
    [
      "a node that is behind",
      { ...inOrder, slices: [a, { ...b, grant: { ...b.grant!, serial: 2 } }] },
      [one],
      "works by 1.1, the grant is 1.2",
    ],
    [
      "a slice that is draining",
      { ...inOrder, slices: [a, { ...b, grant: { ...b.grant!, phase: "draining" } }] },
      [one],
      "is draining",
    ],
  ];
  test.each(cases)("%s", (_, books, told, words) => {
    expect(remains(books, told).join("\n")).toContain(words);
  });
});
