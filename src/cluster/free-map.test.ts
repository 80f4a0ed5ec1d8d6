import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { fromBigInt, toBigInt } from "../net/address.ts";
import { IntervalSet } from "../net/interval-set.ts";
import { formatInterval, type Interval } from "../net/interval.ts";
import { parsePrefix, type Prefix } from "../net/prefix.ts";
import { decodeFreeMap, encodeFreeMap, freeMapName } from "./free-map.ts";

const at = (prefix: Prefix, offset: bigint) => fromBigInt(prefix.family, toBigInt(prefix.first) + offset);
const one = (prefix: Prefix, offset: number | bigint): Interval => {
  const address = at(prefix, BigInt(offset));
  return { first: address, last: address };
};
const texts = (intervals: Iterable<Interval>) => Array.from(intervals, formatInterval);
const sizeOf = (data: Record<string, string> = {}) =>
  Object.entries(data).reduce((sum, [key, value]) => sum + key.length + value.length, 0);

function written(prefix: Prefix, taken: readonly Interval[]) {
  const map = { pool: "kube-system/p", prefix, taken, writtenMs: 1_700_000_000_000, holders: taken.length };
  const object = encodeFreeMap("kube-system", map);
  return { object, size: sizeOf(object.data), map: decodeFreeMap(object)! };
}

/** What the map should say: everything that was given, up to where it claims to be complete. */
function expectTruth(prefix: Prefix, taken: readonly Interval[]): void {
  const { map, size } = written(prefix, taken);
  expect(size).toBeLessThanOrEqual(16 * 1024);
  const whole = IntervalSet.of(taken);
  const through = map.completeThrough;
  if (through === undefined) throw new Error("nothing is known");
  const beyond = { first: prefix.first, last: through };
  const kept = texts(map.taken);
  const wanted: string[] = [];
  for (const each of whole) {
    if (toBigInt(each.first) > toBigInt(beyond.last)) continue;
    const last = toBigInt(each.last) > toBigInt(beyond.last) ? beyond.last : each.last;
    wanted.push(formatInterval({ first: each.first, last }));
  }
  expect(kept).toEqual(wanted);
}

/** Deterministic, so that a size that was measured stays the same. */
function* disorder(count: number, share: number): IterableIterator<number> {
  let state = 12_345;
  for (let i = 0; i < count; i++) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff;
    if (state / 0x7fff_ffff < share) yield i;
  }
}

describe("a free map", () => {
  const prefixes = [
    "10.0.0.0/24",
    "10.1.0.0/16",
    "10.0.0.0/8",
    "fd00::/64",
    "fd00::/48",
    "::/0",
    "10.0.0.8/31",
    "0.0.0.0/0",
  ];
  const prefix = fc.constantFrom(...prefixes).map((text) => parsePrefix(text));
  const cases = prefix.chain((range) => {
    const offset = fc.bigInt({ min: 0n, max: range.size - 1n });
    const low = fc.bigInt({ min: 0n, max: range.size > 5000n ? 5000n : range.size - 1n });
    const run = fc.tuple(fc.oneof(offset, low), fc.bigInt({ min: 0n, max: 40n })).map(([first, more]) => ({
      first: at(range, first),
      last: at(range, first + more < range.size ? first + more : range.size - 1n),
    }));
    return fc.tuple(fc.constant(range), fc.array(run, { maxLength: 200 }));
  });

  it("is read back as it was written, over any range and set", () => {
    fc.assert(
      fc.property(cases, ([range, taken]) => {
        const { map } = written(range, taken);
        expect(texts(map.taken)).toEqual(texts(IntervalSet.of(taken)));
        expect(map.completeThrough?.toString()).toBe(range.last.toString());
        expect(map).toMatchObject({ pool: "kube-system/p", writtenMs: 1_700_000_000_000, holders: taken.length });
        expect(map.prefix.toString()).toBe(range.toString());
      }),
    );
  });

  it.each([0.01, 0.3, 0.5, 0.99])("of a /16 with a share of %d taken in disorder is whole", (share) => {
    const range = parsePrefix("10.1.0.0/16");
    const taken = Array.from(disorder(65_536, share), (n) => one(range, n));
    const { map, size } = written(range, taken);
    expect(map.completeThrough?.toString()).toBe("10.1.255.255");
    expect(size).toBeLessThan(12 * 1024);
    expectTruth(range, taken);
  });

  it("of what 16 KiB cannot say is true as far as it goes: bits", () => {
    const range = parsePrefix("10.0.0.0/8");
    const taken = Array.from(disorder(400_000, 0.5), (n) => one(range, n));
    expectTruth(range, taken);
    const through = toBigInt(written(range, taken).map.completeThrough!) - toBigInt(range.first);
    expect(through).toBeGreaterThan(90_000n);
    expect(through).toBeLessThan(400_000n);
  });

  it("of what 16 KiB cannot say is true as far as it goes: runs", () => {
    const range = parsePrefix("fd00::/64");
    const gaps = Array.from(
      disorder(40_000, 0.5),
      (n, index) => BigInt(n - index) * 1_000_003n + BigInt((n * n) % 65_537),
    );
    let offset = 0n;
    const taken = gaps.map((gap) => one(range, (offset += gap + 2n)));
    expectTruth(range, taken);
    const { map } = written(range, taken);
    expect(map.taken.length).toBeGreaterThan(1000);
    expect(map.taken.length).toBeLessThan(taken.length);
    expect(map.completeThrough?.toString()).not.toBe(range.last.toString());
  });

  it("leaves out what is not in the range, and joins what touches", () => {
    const range = parsePrefix("10.0.0.0/24");
    const wide = { first: at(range, -10n), last: at(range, 4n) };
    const { map } = written(range, [one(range, 5), wide, one(parsePrefix("fd00::/64"), 3), one(range, 300)]);
    expect(texts(map.taken)).toEqual(["10.0.0.0-10.0.0.5"]);
  });

  it("has a name of its own for each pool", () => {
    expect(freeMapName("kube-system/10.0.0.0-24")).toMatch(/^holdfast-free-[0-9a-f]{16}$/);
    expect(freeMapName("a/p")).not.toBe(freeMapName("b/p"));
  });

  it.each([
    ["nothing", {}],
    ["no pool", { pool: "" }],
    ["a prefix that is none", { prefix: "10.0.0.0" }],
    ["an end outside of it", { through: "10.0.1.0" }],
    ["another form", { taken: "x:AAAA" }],
    ["what does not inflate", { taken: "r:////" }],
    ["runs beyond the range", { prefix: "10.0.0.0/30", through: "10.0.0.3" }],
    ["a time that is none", { writtenMs: "soon" }],
  ])("with %s is as none", (_what, change) => {
    const { object } = written(parsePrefix("10.0.0.0/24"), [one(parsePrefix("10.0.0.0/24"), 9)]);
    const data = Object.keys(change).length === 0 ? {} : { ...object.data, ...change };
    expect(decodeFreeMap({ ...object, data })).toBeUndefined();
  });

  it("that was cut anywhere is as none, or says nothing that was not in it", () => {
    const range = parsePrefix("10.0.0.0/24");
    const taken = [1, 5, 6, 90, 200].map((n) => one(range, n));
    const { object } = written(range, taken);
    for (let length = 0; length < object.data!["taken"]!.length; length++) {
      const read = decodeFreeMap({
        ...object,
        data: { ...object.data!, taken: object.data!["taken"]!.slice(0, length) },
      });
      for (const each of read?.taken ?? []) expect(IntervalSet.of(taken).has(each.first)).toBe(true);
    }
  });
});

it.each(["network:", undefined])("names the domain of a pool that is adopted, and none of another: %s", (domain) => {
  const map = { pool: "kube-system/p", prefix: parsePrefix("10.0.0.0/24"), taken: [], writtenMs: 1, holders: 0 };
  const read = decodeFreeMap(encodeFreeMap("kube-system", { ...map, ...(domain !== undefined && { domain }) }));
  expect(read?.domain).toBe(domain);
});
