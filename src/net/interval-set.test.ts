import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { addressOf, spaceOf } from "../../test/net/arbitrary.ts";
import { type Address, type Family, parseAddress } from "./address.ts";
import { common, difference, IntervalSet, union } from "./interval-set.ts";
import { formatInterval, type Interval, parseBlock } from "./interval.ts";

const at = (text: string) => parseAddress(text);
const setOf = (...texts: string[]) => IntervalSet.of(texts.map((text) => parseBlock(text)));
const shown = (set: Iterable<Interval>) => Array.from(set, formatInterval);
const lastV6 = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff";

/** A piece of a space: `size` addresses from `base` on. */
interface Window {
  readonly family: Family;
  readonly base: bigint;
  readonly size: number;
}

/** A run of the model: indexes into the addresses of all windows, both ends included. */
interface Run {
  readonly from: number;
  readonly to: number;
}

/** The slow oracle: one boolean per address of ordered windows that do not touch; compares addresses word by word. */
class Model {
  readonly addresses: readonly Address[];
  readonly inside: boolean[];
  /** Index of a window's last address -> the address after it, never inside; undefined at the end of a space. */
  readonly #beyond = new Map<number, Address | undefined>();

  constructor(windows: readonly Window[]) {
    const addresses: Address[] = [];
    for (const { family, base, size } of windows) {
      for (let i = 0; i < size; i++) addresses.push(addressOf(family, base + BigInt(i)));
      const after = base + BigInt(size);
      this.#beyond.set(addresses.length - 1, after < spaceOf(family) ? addressOf(family, after) : undefined);
    }
    this.addresses = addresses;
    this.inside = Array<boolean>(addresses.length).fill(false);
  }

  /** The interval of at most `length` addresses from index `from` on; it ends where the window does. */
  interval(from: number, length: number): Interval {
    return { first: this.addresses[from]!, last: this.addresses[this.#end(from, length)]! };
  }

  set(from: number, length: number, value: boolean): void {
    this.inside.fill(value, from, this.#end(from, length) + 1);
  }

  #end(from: number, length: number): number {
    let to = from;
    while (to - from + 1 < length && !this.#beyond.has(to)) to += 1;
    return to;
  }

  runs(): Run[] {
    const runs: Run[] = [];
    let from = -1;
    for (const [i, inside] of this.inside.entries()) {
      if (inside && from < 0) from = i;
      const ends = this.#beyond.has(i) || !this.inside[i + 1];
      if (from < 0 || !ends) continue;
      runs.push({ from, to: i });
      from = -1;
    }
    return runs;
  }

  /** The set has exactly these intervals: in order, disjoint, never adjacent; and its counts are theirs. */
  checkIntervals(set: IntervalSet): void {
    const runs = this.runs();
    let i = 0;
    for (const each of set) this.#confirm("interval", i, each, runs[i++]);
    if (i !== runs.length || set.count !== i) {
      throw new Error(`${i} intervals, count ${set.count}, and the model has ${runs.length}`);
    }
    const size = this.inside.filter(Boolean).length;
    if (set.size !== BigInt(size)) throw new Error(`size is ${set.size} and the model's is ${size}`);
  }

  /** Every look-up, for every address. */
  check(set: IntervalSet): void {
    this.checkIntervals(set);
    const runs = this.runs();
    let upcoming = 0;
    for (const [i, address] of this.addresses.entries()) {
      while (upcoming < runs.length && runs[upcoming]!.to < i) upcoming += 1;
      const following = runs[upcoming];
      const here = following !== undefined && following.from <= i ? following : undefined;
      if (set.has(address) !== this.inside[i]) throw new Error(`has(${address}) is ${!this.inside[i]}`);
      this.#confirm("around", i, set.around(address), here);
      this.#confirm("nextInterval", i, set.nextInterval(address), following);
      this.#confirmAddress("lastAround", i, set.lastAround(address), here && this.addresses[here.to]);
      this.#confirmAddress(
        "nextOutside",
        i,
        set.nextOutside(address),
        here === undefined ? address : this.#after(here.to),
      );
    }
    for (const beyond of this.#beyond.values()) {
      if (beyond === undefined) continue;
      if (set.has(beyond) || set.around(beyond) !== undefined) throw new Error(`has(${beyond})`);
      if (set.nextOutside(beyond) !== beyond) throw new Error(`nextOutside(${beyond}) is another`);
    }
  }

  #after(index: number): Address | undefined {
    return this.#beyond.has(index) ? this.#beyond.get(index) : this.addresses[index + 1];
  }

  #confirm(what: string, index: number, found: Interval | undefined, run: Run | undefined): void {
    this.#confirmAddress(`${what}.first`, index, found?.first, run && this.addresses[run.from]);
    this.#confirmAddress(`${what}.last`, index, found?.last, run && this.addresses[run.to]);
  }

  #confirmAddress(what: string, index: number, found: Address | undefined, wanted: Address | undefined): void {
    if (found === wanted) return;
    if (found !== undefined && wanted !== undefined && sameWords(found, wanted)) return;
    throw new Error(`${what} at ${index}: found ${String(found)}, the model has ${String(wanted)}`);
  }
}

function sameWords(a: Address, b: Address): boolean {
  if (a.family === 4) return b.family === 4 && a.value === b.value;
  return b.family === 6 && a.w0 === b.w0 && a.w1 === b.w1 && a.w2 === b.w2 && a.w3 === b.w3;
}

const top4 = 1n << 32n;
const top6 = 1n << 128n;
const fd00 = 0xfd00n << 112n;

const spaces: readonly (readonly [string, readonly Window[]])[] = [
  ["10.0.0.0/24", [{ family: 4, base: 0x0a000000n, size: 256 }]],
  ["0.0.0.0/24, the start of IPv4", [{ family: 4, base: 0n, size: 256 }]],
  ["127.255.255.128 to 128.0.0.127, across 2^31", [{ family: 4, base: (1n << 31n) - 128n, size: 256 }]],
  ["255.255.255.0/24, the end of IPv4", [{ family: 4, base: top4 - 256n, size: 256 }]],
  ["fd00::/120", [{ family: 6, base: fd00, size: 256 }]],
  ["::/120, the start of IPv6", [{ family: 6, base: 0n, size: 256 }]],
  ["fd00::ffff:ff80 to fd00::1:0:7f, across a word", [{ family: 6, base: fd00 + top4 - 128n, size: 256 }]],
  ["ffff:...:ff00/120, the end of IPv6", [{ family: 6, base: top6 - 256n, size: 256 }]],
  [
    "both ends of both families in one set",
    [
      { family: 4, base: 0n, size: 48 },
      { family: 4, base: top4 - 48n, size: 48 },
      { family: 6, base: 0n, size: 48 },
      { family: 6, base: top6 - 48n, size: 48 },
    ],
  ],
];

interface Step {
  readonly add: boolean;
  readonly from: number;
  readonly length: number;
}

function step(size: number): fc.Arbitrary<Step> {
  return fc.record({
    add: fc.oneof({ weight: 3, arbitrary: fc.constant(true) }, { weight: 2, arbitrary: fc.constant(false) }),
    from: fc.oneof(fc.nat({ max: size - 1 }), fc.constantFrom(0, 1, size - 2, size - 1)),
    length: fc.oneof(
      fc.integer({ min: 1, max: 3 }),
      fc.integer({ min: 1, max: 40 }),
      fc.integer({ min: 1, max: size }),
    ),
  });
}

function apply(set: IntervalSet, model: Model, { add, from, length }: Step): void {
  const each = model.interval(from, length);
  if (add) set.add(each);
  else set.delete(each);
  model.set(from, length, add);
}

describe("IntervalSet by example", () => {
  it.each([
    ["nothing", [], []],
    ["one address", ["10.0.0.1"], ["10.0.0.1"]],
    ["apart", ["10.0.0.9", "10.0.0.1"], ["10.0.0.1", "10.0.0.9"]],
    ["the same twice", ["10.0.0.1-10.0.0.5", "10.0.0.1-10.0.0.5"], ["10.0.0.1-10.0.0.5"]],
    ["adjacent, upwards", ["10.0.0.1", "10.0.0.2"], ["10.0.0.1-10.0.0.2"]],
    ["adjacent, downwards", ["10.0.0.2", "10.0.0.1"], ["10.0.0.1-10.0.0.2"]],
    ["filling a gap", ["10.0.0.1", "10.0.0.3", "10.0.0.2"], ["10.0.0.1-10.0.0.3"]],
    ["over several", ["10.0.0.1", "10.0.0.3", "10.0.0.5", "10.0.0.2-10.0.0.9"], ["10.0.0.1-10.0.0.9"]],
    ["inside another", ["10.0.0.0/24", "10.0.0.7"], ["10.0.0.0-10.0.0.255"]],
    ["across a carry", ["10.0.0.255", "10.0.1.0"], ["10.0.0.255-10.0.1.0"]],
    ["the ends of IPv4 do not meet", ["255.255.255.255", "0.0.0.0"], ["0.0.0.0", "255.255.255.255"]],
    ["nor do the ends of IPv6", [lastV6, "::"], ["::", lastV6]],
    ["IPv4 does not run on into IPv6", ["255.255.255.255", "::"], ["255.255.255.255", "::"]],
    ["both spaces", ["::/0", "0.0.0.0/0"], ["0.0.0.0-255.255.255.255", `::-${lastV6}`]],
    ["mapped is not IPv4", ["::ffff:10.0.0.2", "10.0.0.1"], ["10.0.0.1", "::ffff:10.0.0.2"]],
  ])("adding %s", (_, added, result) => {
    const set = setOf(...added);
    expect(shown(set)).toEqual(result);
    expect(shown(set)).toEqual(result);
    expect(set.count).toBe(result.length);
  });

  it.each([
    ["what is not there", ["10.0.0.1"], "10.0.0.2", ["10.0.0.1"]],
    ["from nothing", [], "10.0.0.2", []],
    ["all of it", ["10.0.0.1-10.0.0.9"], "10.0.0.1-10.0.0.9", []],
    ["more than all of it", ["10.0.0.1-10.0.0.9"], "10.0.0.0/8", []],
    ["the middle", ["10.0.0.1-10.0.0.9"], "10.0.0.5", ["10.0.0.1-10.0.0.4", "10.0.0.6-10.0.0.9"]],
    ["the start", ["10.0.0.1-10.0.0.9"], "10.0.0.0-10.0.0.1", ["10.0.0.2-10.0.0.9"]],
    ["the end", ["10.0.0.1-10.0.0.9"], "10.0.0.9-10.0.0.99", ["10.0.0.1-10.0.0.8"]],
    [
      "a stretch over three",
      ["10.0.0.1-10.0.0.3", "10.0.0.5", "10.0.0.7-10.0.0.9"],
      "10.0.0.3-10.0.0.7",
      ["10.0.0.1-10.0.0.2", "10.0.0.8-10.0.0.9"],
    ],
    ["the first address of all", ["0.0.0.0/0"], "0.0.0.0", ["0.0.0.1-255.255.255.255"]],
    ["the last of IPv4", ["0.0.0.0/0", "::/0"], "255.255.255.255", ["0.0.0.0-255.255.255.254", `::-${lastV6}`]],
    ["the first of IPv6", ["0.0.0.0/0", "::/0"], "::", ["0.0.0.0-255.255.255.255", `::1-${lastV6}`]],
    ["the whole of IPv6", ["10.0.0.1", "fd00::1", "fd00::3"], "::/0", ["10.0.0.1"]],
    ["the whole of IPv4", ["10.0.0.1", "10.0.0.3", "fd00::1"], "0.0.0.0/0", ["fd00::1"]],
  ])("deleting %s", (_, added, deleted, result) => {
    const set = setOf(...added);
    set.delete(parseBlock(deleted));
    expect(shown(set)).toEqual(result);
    expect(set.count).toBe(result.length);
  });

  it("answers about an address", () => {
    const set = setOf("10.0.0.5-10.0.0.9", "10.0.0.20", "fd00::/64");
    const about = (text: string) => {
      const around = set.around(at(text));
      const following = set.nextInterval(at(text));
      return [around, following]
        .map((each) => each && formatInterval(each))
        .concat(set.nextOutside(at(text))?.toString());
    };
    expect(about("10.0.0.4")).toEqual([undefined, "10.0.0.5-10.0.0.9", "10.0.0.4"]);
    expect(about("10.0.0.5")).toEqual(["10.0.0.5-10.0.0.9", "10.0.0.5-10.0.0.9", "10.0.0.10"]);
    expect(about("10.0.0.9")).toEqual(["10.0.0.5-10.0.0.9", "10.0.0.5-10.0.0.9", "10.0.0.10"]);
    expect(about("10.0.0.10")).toEqual([undefined, "10.0.0.20", "10.0.0.10"]);
    // The order goes on from IPv4 to IPv6, and so does nextInterval: whoever wants one family looks at what comes back.
    expect(about("10.0.0.21")).toEqual([undefined, "fd00::-fd00::ffff:ffff:ffff:ffff", "10.0.0.21"]);
    expect(about("fd00::7")[2]).toBe("fd00:0:0:1::");
    expect(about("fd01::")).toEqual([undefined, undefined, "fd01::"]);
    expect(set.size).toBe(6n + (1n << 64n));
  });

  it("has no address outside where it reaches the end of a space, not one of the other family", () => {
    const set = setOf("255.255.255.0/24");
    expect(set.nextOutside(at("255.255.255.7"))).toBeUndefined();
    expect(set.nextOutside(at("255.255.254.7"))).toEqual(at("255.255.254.7"));
    set.add(parseBlock("ff00::/8"));
    expect(set.nextOutside(at(lastV6))).toBeUndefined();
    expect(setOf("0.0.0.0/0", "::/0").size).toBe((1n << 32n) + (1n << 128n));
  });

  it("takes its neighbours along when it goes through a set that is a chunk long to the address", () => {
    // 512 intervals are one chunk, 513 are two; the middle is where it splits.
    for (const count of [511, 512, 513, 514]) {
      const model = new Model([{ family: 4, base: 0x0a000000n, size: 2 * count }]);
      for (const middle of [0, 255, 256, 257, count - 1]) {
        const set = new IntervalSet();
        model.inside.fill(false);
        const order = Array.from({ length: count }, (_, i) => i).filter((i) => i !== middle);
        for (const i of [...order, middle]) apply(set, model, { add: true, from: 2 * i, length: 1 });
        model.check(set);
        apply(set, model, { add: true, from: 2 * middle, length: 2 });
        model.checkIntervals(set);
        apply(set, model, { add: false, from: 2 * middle, length: 3 });
        model.checkIntervals(set);
        apply(set, model, { add: true, from: 1, length: 2 * count - 3 });
        model.check(set);
        apply(set, model, { add: false, from: 2 * middle, length: 1 });
        model.check(set);
      }
    }
  });
});

describe("IntervalSet against an array of booleans", () => {
  it.each(spaces)("after each add and delete in %s", (_, windows) => {
    const model = new Model(windows);
    fc.assert(
      fc.property(fc.array(step(model.inside.length), { maxLength: 24, size: "max" }), (steps) => {
        const set = new IntervalSet();
        model.inside.fill(false);
        model.check(set);
        for (const each of steps) {
          apply(set, model, each);
          model.check(set);
        }
      }),
      { numRuns: 60 },
    );
  });

  it.each<[string, readonly Window[]]>([
    ["IPv4, at its end", [{ family: 4, base: top4 - 12_000n, size: 12_000 }]],
    ["IPv6, across a word", [{ family: 6, base: fd00 + top4 - 6000n, size: 12_000 }]],
    [
      "both families",
      [
        { family: 4, base: 0x0a000000n, size: 6000 },
        { family: 6, base: 0n, size: 6000 },
      ],
    ],
  ])("with thousands of scattered intervals, so that chunks split, empty and go: %s", (_, windows) => {
    const model = new Model(windows);
    const size = model.inside.length;
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        const random = randomOf(seed);
        const set = new IntervalSet();
        model.inside.fill(false);

        for (const i of shuffled(size / 2, random)) apply(set, model, { add: true, from: 2 * i, length: 1 });
        expect(set.count).toBe(size / 2);
        expect(set.count).toBeGreaterThan(2000);
        model.check(set);

        for (let i = 0; i < 300; i++) {
          const length = random(10) === 0 ? 1 + random(size / 6) : 1 + random(12);
          apply(set, model, { add: random(2) === 0, from: random(size), length });
          expect(set.count).toBe(model.runs().length);
          if (i % 10 === 9) model.checkIntervals(set);
          if (i % 100 === 99) model.check(set);
        }

        // Holes again, everywhere: each splits an interval or shortens it.
        for (const i of shuffled(size / 3, random)) apply(set, model, { add: false, from: 3 * i + 1, length: 1 });
        model.check(set);

        for (const i of shuffled(size, random)) {
          apply(set, model, { add: false, from: i, length: 1 });
          if (i % 1000 === 0) model.checkIntervals(set);
        }
        expect(set.count).toBe(0);
        apply(set, model, { add: true, from: 5, length: 5 });
        model.check(set);
      }),
      { numRuns: 2 },
    );
  });

  it("built upwards, downwards and from both sides", () => {
    const model = new Model([{ family: 6, base: top6 - 6000n, size: 6000 }]);
    const upwards = Array.from({ length: 3000 }, (_, i) => 2 * i);
    const inwards = upwards.map((_, i) => (i % 2 === 0 ? i : 5999 - i - ((5999 - i) % 2)));
    for (const order of [upwards, upwards.toReversed(), inwards]) {
      const set = new IntervalSet();
      model.inside.fill(false);
      for (const from of order) apply(set, model, { add: true, from, length: 1 });
      model.check(set);
      for (const from of order) apply(set, model, { add: true, from: Math.min(from + 1, 5999), length: 1 });
      model.check(set);
      expect(shown(set)).toEqual([formatInterval(model.interval(0, 6000))]);
      for (const from of order) apply(set, model, { add: false, from, length: 1 });
      model.check(set);
    }
  });
});

describe("union, difference and common", () => {
  it.each([
    ["what is longer on the right", ["10.0.0.1-10.0.0.5"], ["10.0.0.1-10.0.0.10"], ["10.0.0.1-10.0.0.5"]],
    ["what is longer on both sides", ["10.0.0.4-10.0.0.5"], ["10.0.0.0/24"], ["10.0.0.4-10.0.0.5"]],
    ["what is longer on the left", ["10.0.0.0/24"], ["10.0.0.4", "10.0.0.6"], ["10.0.0.4", "10.0.0.6"]],
    ["a part of each", ["10.0.0.0-10.0.0.9"], ["10.0.0.5-10.0.0.20"], ["10.0.0.5-10.0.0.9"]],
    ["nothing", ["10.0.0.0-10.0.0.9"], ["10.0.0.10-10.0.0.20"], []],
    ["nothing, in two families", ["10.0.0.0/8"], ["fd00::/8"], []],
    ["the end of IPv4", ["0.0.0.0/0"], ["255.255.255.0/24", "::/0"], ["255.255.255.0-255.255.255.255"]],
    ["everything", ["0.0.0.0/0", "::/0"], ["0.0.0.0/0", "::/0"], ["0.0.0.0-255.255.255.255", `::-${lastV6}`]],
  ])("have %s in common", (_, a, b, result) => {
    expect(shown(common(setOf(...a), setOf(...b)))).toEqual(result);
    expect(shown(common(setOf(...b), setOf(...a)))).toEqual(result);
  });

  it("of a set and itself", () => {
    const set = setOf("10.0.0.0/24", "10.0.2.0/24", "fd00::/64");
    const before = shown(set);
    expect(shown(union(set, set))).toEqual(before);
    expect(shown(common(set, set))).toEqual(before);
    expect(difference(set, set).count).toBe(0);
    expect(shown(set)).toEqual(before);
  });

  it.each(spaces)("in %s", (_, windows) => {
    const model = new Model(windows);
    const size = model.inside.length;
    // Lists of intervals as a configuration has them: in any order, overlapping.
    const list = fc.array(step(size), { maxLength: 12 });
    const insideOf = (steps: readonly Step[]) => {
      model.inside.fill(false);
      for (const { from, length } of steps) model.set(from, length, true);
      return [...model.inside];
    };
    const checkAgainst = (set: IntervalSet, inside: readonly boolean[]) => {
      for (const [i, each] of inside.entries()) model.inside[i] = each;
      model.check(set);
    };
    fc.assert(
      fc.property(list, list, (a, b) => {
        const left = a.map(({ from, length }) => model.interval(from, length));
        const right = b.map(({ from, length }) => model.interval(from, length));
        const inLeft = insideOf(a);
        const inRight = insideOf(b);
        const rightSet = IntervalSet.of(right);
        checkAgainst(
          union(left, right),
          inLeft.map((each, i) => each || inRight[i]!),
        );
        checkAgainst(
          difference(left, right),
          inLeft.map((each, i) => each && !inRight[i]!),
        );
        checkAgainst(
          common(left, rightSet),
          inLeft.map((each, i) => each && inRight[i]!),
        );
        checkAgainst(rightSet, inRight);
      }),
      { numRuns: 200 },
    );
  });
});

/** A whole number from 0 to below the bound, from a seed (mulberry32): thousands of steps that one number repeats. */
function randomOf(seed: number): (bound: number) => number {
  let state = seed;
  return (bound) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * bound);
  };
}

function shuffled(count: number, random: (bound: number) => number): number[] {
  const order = Array.from({ length: count }, (_, i) => i);
  for (let i = count - 1; i > 0; i--) {
    const j = random(i + 1);
    [order[i], order[j]] = [order[j]!, order[i]!];
  }
  return order;
}
