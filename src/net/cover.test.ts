import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import * as arbitrary from "../../test/net/arbitrary.ts";
import { addressOf, valueOf } from "../../test/net/arbitrary.ts";
import { refusalOf } from "../../test/net/refusal.ts";
import { compare, type Family, parseAddress } from "./address.ts";
import { prefixesOf } from "./cover.ts";
import { type Interval, parseBlock } from "./interval.ts";

const top4 = (1n << 32n) - 1n;
const top6 = (1n << 128n) - 1n;

/** The fewest aligned blocks for [first, last], by trying every block at every place. */
function fewest(first: bigint, last: bigint): number {
  const best = new Map<bigint, number>([[last + 1n, 0]]);
  for (let from = last; from >= first; from--) {
    let least = Number.POSITIVE_INFINITY;
    for (let size = 1n; from % size === 0n && from + size - 1n <= last; size *= 2n) {
      least = Math.min(least, 1 + best.get(from + size)!);
    }
    best.set(from, least);
  }
  return best.get(first)!;
}

/** Exactly the interval, in order, each block where the one before ends, and no two that are halves of one. */
function checkCover({ first, last }: Interval): number {
  const prefixes = prefixesOf({ first, last });
  let at = valueOf(first);
  for (const [i, prefix] of prefixes.entries()) {
    expect(prefix.family).toBe(first.family);
    expect(valueOf(prefix.first)).toBe(at);
    const before = prefixes[i - 1];
    const halves = before?.length === prefix.length && (valueOf(before.first) / before.size) % 2n === 0n;
    expect(halves).toBe(false);
    at = valueOf(prefix.last) + 1n;
  }
  expect(at).toBe(valueOf(last) + 1n);
  return prefixes.length;
}

describe("prefixesOf", () => {
  it.each([
    ["10.0.0.7", "10.0.0.7/32"],
    ["10.0.0.0-10.0.0.255", "10.0.0.0/24"],
    ["10.0.0.1-10.0.0.2", "10.0.0.1/32 10.0.0.2/32"],
    ["10.0.0.5-10.0.0.16", "10.0.0.5/32 10.0.0.6/31 10.0.0.8/29 10.0.0.16/32"],
    ["10.0.0.255-10.0.1.0", "10.0.0.255/32 10.0.1.0/32"],
    ["127.255.255.255-128.0.0.0", "127.255.255.255/32 128.0.0.0/32"],
    ["0.0.0.0-255.255.255.255", "0.0.0.0/0"],
    ["0.0.0.0-127.255.255.255", "0.0.0.0/1"],
    ["255.255.255.253-255.255.255.255", "255.255.255.253/32 255.255.255.254/31"],
    ["255.255.255.255", "255.255.255.255/32"],
    ["::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "::/0"],
    [
      "fd00::1-fd00::1:0",
      [...Array.from({ length: 16 }, (_, i) => `fd00::${(1 << i).toString(16)}/${128 - i}`), "fd00::1:0/128"].join(" "),
    ],
    [
      "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
      "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe/127",
    ],
    ["::1-::2", "::1/128 ::2/128"],
  ])("%s is %s", (text, prefixes) => {
    expect(prefixesOf(parseBlock(text)).join(" ")).toBe(prefixes);
  });

  it("needs two for each bit where both ends are off by one", () => {
    expect(checkCover(parseBlock("0.0.0.1-255.255.255.254"))).toBe(2 * 32 - 2);
    expect(checkCover(parseBlock("::1-ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe"))).toBe(2 * 128 - 2);
  });

  it.each<[string, Family, bigint]>([
    ["0.0.0.0", 4, 0n],
    ["10.0.0.0", 4, 0x0a000000n],
    ["127.255.255.240, across 2^31", 4, (1n << 31n) - 16n],
    ["255.255.255.224, to the end", 4, top4 - 31n],
    ["::", 6, 0n],
    ["across 2^32", 6, (1n << 32n) - 16n],
    ["across 2^64", 6, (1n << 64n) - 16n],
    ["the end of IPv6", 6, top6 - 31n],
  ])("is exact and the fewest for every interval of the 32 addresses from %s", (_, family, base) => {
    for (let from = 0n; from < 32n; from++) {
      for (let to = from; to < 32n; to++) {
        const first = addressOf(family, base + from);
        const last = addressOf(family, base + to);
        expect(checkCover({ first, last })).toBe(fewest(base + from, base + to));
      }
    }
  });

  it("is exact, in order, and without halves to join, anywhere", () => {
    fc.assert(
      fc.property(arbitrary.pair, ([a, b]) => {
        const bits = a.family === 4 ? 32 : 128;
        const each = compare(a, b) <= 0 ? { first: a, last: b } : { first: b, last: a };
        expect(checkCover(each)).toBeLessThanOrEqual(Math.max(1, 2 * bits - 2));
      }),
      { numRuns: 500 },
    );
  });

  it("refuses ends of two families", () => {
    const broken = { first: parseAddress("10.0.0.1"), last: parseAddress("fd00::1") };
    expect(refusalOf(() => prefixesOf(broken)).code).toBe("mixed-families");
  });
});
