import fc from "fast-check";
import { expect, it } from "vitest";

import type { JournalGrant } from "../../../ledger/journal/grant.ts";
import { parseAddress, plus } from "../../../net/address.ts";
import { IntervalSet } from "../../../net/interval-set.ts";
import { intervalOf, sizeOf } from "../../../net/interval.ts";
import { parsePrefix, Prefix } from "../../../net/prefix.ts";
import { freeOf, pieceOf } from "./journal-view.ts";

const slice = parsePrefix("10.0.0.0/26");
const at = (offset: number) => plus(slice.first, offset)!;
const single = (offset: number) => ({ first: at(offset), last: at(offset) });

const grant: JournalGrant = {
  key: "ns/a",
  domain: "slice:ns/net",
  namespace: "ns",
  network: "net",
  range: parsePrefix("10.0.0.0/24"),
  slice,
  generation: 1,
  serial: 1,
  phase: "active",
  without: [parsePrefix("10.0.0.32/27")],
  taken: [single(3)],
  gives: { ask: 1, block: parsePrefix("10.0.0.16/28") },
  sealed: false,
  moved: [at(4)],
};

it("is free: the slice less what was lent, given up, taken, moved, held and cooling", () => {
  expect([...freeOf(grant, [parseAddress("10.0.0.0")])].map(({ first, last }) => `${first}-${last}`)).toEqual([
    "10.0.0.1-10.0.0.2",
    "10.0.0.5-10.0.0.15",
  ]);
  expect(freeOf({ ...grant, phase: "returning" }, []).size).toBe(0n);
});

it.each([
  ["the tightest gap that has room", [0, 1, 2, 3, 16, 17, 18, 19], 4, "10.0.0.20/30"],
  ["its end", [], 4, "10.0.0.60/30"],
  ["at most what was asked for", [], 5, "10.0.0.60/30"],
  [
    "the largest, where none has room",
    [...Array(64).keys()].filter((each) => ![8, 9, 10, 11, 20].includes(each)),
    32,
    "10.0.0.8/30",
  ],
  ["a single address", [...Array(64).keys()].filter((each) => each !== 7), 32, "10.0.0.7/32"],
] as const)("a piece is %s", (_, busy, addresses, piece) => {
  expect(String(pieceOf(gapsWithout(busy), addresses))).toBe(piece);
});

it("there is no piece of nothing", () => {
  expect(pieceOf(new IntervalSet(), 4)).toBeUndefined();
  expect(pieceOf(IntervalSet.of([intervalOf(slice)]), 0)).toBeUndefined();
});

it("a piece is free, aligned, not too large, and as large as any", () => {
  const busy = fc.uniqueArray(fc.integer({ min: 0, max: 63 }), { maxLength: 64 });
  fc.assert(
    fc.property(busy, fc.integer({ min: 1, max: 100 }), (taken, addresses) => {
      const free = gapsWithout(taken);
      const best = largestBySearch(free, addresses);
      const piece = pieceOf(free, addresses);
      expect(piece?.size).toBe(best);
      if (piece === undefined) return;
      for (let offset = 0n; offset < piece.size; offset++) expect(free.has(plus(piece.first, offset)!)).toBe(true);
    }),
  );
});

function gapsWithout(busy: readonly number[]): IntervalSet {
  const free = IntervalSet.of([intervalOf(slice)]);
  for (const each of busy) free.delete(single(each));
  return free;
}

/** Every aligned block of the slice is tried. */
function largestBySearch(free: IntervalSet, addresses: number): bigint | undefined {
  for (let length = 26; length <= 32; length++) {
    for (let offset = 0; offset < 64; offset += 2 ** (32 - length)) {
      const block = Prefix.around(at(offset), length);
      const isFree =
        sizeOf(intervalOf(block)) ===
        BigInt([...Array(Number(block.size)).keys()].filter((each) => free.has(plus(block.first, each)!)).length);
      if (isFree && block.size <= BigInt(addresses)) return block.size;
    }
  }
  return undefined;
}
