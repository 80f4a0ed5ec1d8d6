import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import * as arbitrary from "../../test/net/arbitrary.ts";
import { valueOf } from "../../test/net/arbitrary.ts";
import { refusalOf } from "../../test/net/refusal.ts";
import { compare, parseAddress } from "./address.ts";
import {
  formatInterval,
  includes,
  intersection,
  type Interval,
  interval,
  intervalOf,
  parseBlock,
  parseRange,
  sizeOf,
} from "./interval.ts";
import { parsePrefix } from "./prefix.ts";

const lastV6 = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff";
const at = (text: string) => parseAddress(text);
const block = (text: string) => parseBlock(text);

const anyInterval: fc.Arbitrary<Interval> = arbitrary.pair.map(([a, b]) =>
  compare(a, b) <= 0 ? { first: a, last: b } : { first: b, last: a },
);

describe("interval", () => {
  it("takes two ends in order, equal ends too", () => {
    expect(interval(at("10.0.0.1"), at("10.0.0.1"))).toEqual({ first: at("10.0.0.1"), last: at("10.0.0.1") });
    expect(interval(at("::"), at(lastV6))).toEqual({ first: at("::"), last: at(lastV6) });
  });

  it.each([
    ["10.0.0.2", "10.0.0.1", "bad-range", "10.0.0.2-10.0.0.1 runs backwards"],
    ["255.255.255.255", "0.0.0.0", "bad-range", "255.255.255.255-0.0.0.0 runs backwards"],
    [lastV6, "::", "bad-range", `${lastV6}-:: runs backwards`],
    ["10.0.0.1", "fd00::1", "mixed-families", "10.0.0.1 is IPv4 and fd00::1 is IPv6"],
    ["::ffff:10.0.0.1", "10.0.0.2", "mixed-families", "::ffff:10.0.0.1 is IPv6 and 10.0.0.2 is IPv4"],
  ])("refuses %s to %s", (first, last, code, part) => {
    const refusal = refusalOf(() => interval(at(first), at(last)));
    expect(refusal.code).toBe(code);
    expect(refusal.message).toContain(part);
  });
});

it.each([
  ["10.0.0.0/24", "10.0.0.0-10.0.0.255", 256n],
  ["10.0.0.6/31", "10.0.0.6-10.0.0.7", 2n],
  ["10.0.0.7/32", "10.0.0.7", 1n],
  ["0.0.0.0/0", "0.0.0.0-255.255.255.255", 1n << 32n],
  ["fd00::6/127", "fd00::6-fd00::7", 2n],
  ["fd00::7/128", "fd00::7", 1n],
  ["::/0", `::-${lastV6}`, 1n << 128n],
])("intervalOf %s is %s", (prefix, text, size) => {
  const whole = intervalOf(parsePrefix(prefix));
  expect(formatInterval(whole)).toBe(text);
  expect(sizeOf(whole)).toBe(size);
  expect(parseBlock(text)).toEqual(whole);
  expect(parseBlock(prefix)).toEqual(whole);
});

describe("includes, sizeOf and intersection", () => {
  it.each([
    ["10.0.0.5-10.0.1.3", "10.0.0.4", false],
    ["10.0.0.5-10.0.1.3", "10.0.0.5", true],
    ["10.0.0.5-10.0.1.3", "10.0.1.3", true],
    ["10.0.0.5-10.0.1.3", "10.0.1.4", false],
    ["0.0.0.0/0", "::", false],
    ["::/0", "10.0.0.1", false],
    ["::/0", lastV6, true],
  ])("%s includes %s: %s", (text, address, answer) => {
    expect(includes(block(text), at(address))).toBe(answer);
  });

  it.each<[string, string, string | undefined, string]>([
    ["10.0.0.0-10.0.0.9", "10.0.0.5-10.0.0.20", "10.0.0.5-10.0.0.9", "overlap"],
    ["10.0.0.0-10.0.0.9", "10.0.0.9-10.0.0.20", "10.0.0.9", "share one address"],
    ["10.0.0.0-10.0.0.9", "10.0.0.10-10.0.0.20", undefined, "are adjacent, which shares nothing"],
    ["10.0.0.0/8", "10.1.2.3", "10.1.2.3", "one inside the other"],
    ["0.0.0.0/0", "::/0", undefined, "are of two families"],
    ["10.0.0.0/8", "::ffff:10.0.0.0/104", undefined, "are of two families, though mapped"],
    ["::/0", `${lastV6}/128`, lastV6, "meet at the end of the space"],
  ])("%s and %s have %s in common: they %s", (a, b, text) => {
    for (const both of [intersection(block(a), block(b)), intersection(block(b), block(a))]) {
      expect(both === undefined ? undefined : formatInterval(both)).toBe(text);
    }
  });

  it("agree with the numbers", () => {
    fc.assert(
      fc.property(anyInterval, anyInterval, arbitrary.address, (a, b, address) => {
        expect(sizeOf(a)).toBe(valueOf(a.last) - valueOf(a.first) + 1n);
        expect(includes(a, address)).toBe(
          a.first.family === address.family &&
            valueOf(a.first) <= valueOf(address) &&
            valueOf(address) <= valueOf(a.last),
        );
        const first = valueOf(a.first) > valueOf(b.first) ? a.first : b.first;
        const last = valueOf(a.last) < valueOf(b.last) ? a.last : b.last;
        const meet = a.first.family === b.first.family && valueOf(first) <= valueOf(last);
        expect(intersection(a, b)).toEqual(meet ? { first, last } : undefined);
      }),
      { numRuns: 1500 },
    );
  });
});

describe("parseRange", () => {
  it("leaves it to the pool's definition to judge an end below the start", () => {
    const { start, end } = parseRange("10.0.0.20-10.0.0.10/24");
    expect([String(start), String(end)]).toEqual(["10.0.0.20", "10.0.0.10"]);
  });

  it("names the whole range when one end is wrong", () => {
    expect(() => parseRange("10.0.0.1-")).toThrow('in the range "10.0.0.1-", "" has no prefix length');
    expect(() => parseBlock("10.0.0.1-x")).toThrow('in the range "10.0.0.1-x", "x" is not an IP address');
  });

  it.each([
    ["10.0.0.0/24", "10.0.0.0/24", undefined, undefined],
    ["10.0.0.77/24", "10.0.0.0/24", undefined, undefined],
    ["fd00::77/64", "fd00::/64", undefined, undefined],
    ["10.0.0.7/32", "10.0.0.7/32", undefined, undefined],
    ["0.0.0.0/0", "0.0.0.0/0", undefined, undefined],
    ["10.0.0.10-10.0.0.20/24", "10.0.0.0/24", "10.0.0.10", "10.0.0.20"],
    ["10.0.0.0-10.0.0.255/24", "10.0.0.0/24", "10.0.0.0", "10.0.0.255"],
    ["10.0.0.10-10.0.0.10/24", "10.0.0.0/24", "10.0.0.10", "10.0.0.10"],
    ["10.0.0.5-10.0.1.3/23", "10.0.0.0/23", "10.0.0.5", "10.0.1.3"],
    ["10.0.0.7-10.0.0.7/32", "10.0.0.7/32", "10.0.0.7", "10.0.0.7"],
    ["10.0.0.6-10.0.0.7/31", "10.0.0.6/31", "10.0.0.6", "10.0.0.7"],
    ["0.0.0.0-255.255.255.255/0", "0.0.0.0/0", "0.0.0.0", "255.255.255.255"],
    ["fd00::10-fd00::ff/64", "fd00::/64", "fd00::10", "fd00::ff"],
    ["FD00:0::10-fd00::FF/64", "fd00::/64", "fd00::10", "fd00::ff"],
    [`::-${lastV6}/0`, "::/0", "::", lastV6],
  ])("reads %s as %s, from %s to %s", (text, prefix, start, end) => {
    const range = parseRange(text);
    expect(`${range.prefix}`).toBe(prefix);
    expect(range.start?.toString()).toBe(start);
    expect(range.end?.toString()).toBe(end);
    expect(parseRange(text, { sloppy: true })).toEqual(range);
  });

  it.each([
    ["010.000.000.010-010.000.000.020/24", "10.0.0.0/24 10.0.0.10 10.0.0.20"],
    ["10.0.0.10-10.0.0.020/024", "10.0.0.0/24 10.0.0.10 10.0.0.20"],
    ["192.168.001.000/24", "192.168.1.0/24 undefined undefined"],
  ])("reads %s only if sloppy, as whereabouts does", (text, expected) => {
    const { prefix, start, end } = parseRange(text, { sloppy: true });
    expect(`${prefix} ${String(start)} ${String(end)}`).toBe(expected);
    expect(() => parseRange(text)).toThrow();
  });

  it.each([
    ["::ffff:10.0.0.10-::ffff:10.0.0.20/120", "10.0.0.0/24 10.0.0.10 10.0.0.20"],
    ["10.0.0.10-::ffff:10.0.0.20/120", "10.0.0.0/24 10.0.0.10 10.0.0.20"],
    ["::ffff:10.0.0.10-10.0.0.20/24", "10.0.0.0/24 10.0.0.10 10.0.0.20"],
  ])("unmaps %s", (text, expected) => {
    const { prefix, start, end } = parseRange(text, { unmap: true });
    expect(`${prefix} ${String(start)} ${String(end)}`).toBe(expected);
  });

  it.each([
    [
      "10.0.1.10-10.0.0.20/24",
      "bad-range",
      '"10.0.1.10-10.0.0.20/24" starts at 10.0.1.10, which is outside 10.0.0.0/24',
    ],
    ["10.0.0.5-10.0.1.3/24", "bad-range", '"10.0.0.5-10.0.1.3/24" starts at 10.0.0.5, which is outside 10.0.1.0/24'],
    ["fd00::1-10.0.0.20/24", "bad-range", "starts at fd00::1, which is outside 10.0.0.0/24"],
    ["10.0.0.1-fd00::20/64", "bad-range", "starts at 10.0.0.1, which is outside fd00::/64"],
    ["10.0.0.1-10.0.0.2-10.0.0.3/24", "bad-range", '"10.0.0.1-10.0.0.2-10.0.0.3/24" has more than one "-"'],
    ["10.0.0.1--10.0.0.3/24", "bad-range", '"10.0.0.1--10.0.0.3/24" has more than one "-"'],
    ["10.0.0.1-10.0.0.9", "bad-prefix", '"10.0.0.9" has no prefix length'],
    ["10.0.0.1/24-10.0.0.9", "bad-address", '"10.0.0.1/24" is not an IP address'],
    ["10.0.0.1/24-10.0.0.9/24", "bad-address", '"10.0.0.1/24" is not an IP address'],
    ["10.0.0.1 - 10.0.0.9/24", "bad-address", '"10.0.0.1 " is not an IP address'],
    ["10.0.0.1-10.0.0.9/33", "bad-prefix", "/33 is no prefix length for 10.0.0.9"],
    ["10.0.0.0/-1", "bad-address", '"10.0.0.0/" is not an IP address'],
    ["-10.0.0.9/24", "bad-address", '"" is not an IP address'],
    ["10.0.0.1-", "bad-prefix", '"" has no prefix length'],
    ["-", "bad-address", '"" is not an IP address'],
    ["", "bad-prefix", '"" has no prefix length'],
    ["10.0.0.0", "bad-prefix", '"10.0.0.0" has no prefix length'],
  ])("refuses %j as %s", (text, code, part) => {
    for (const sloppy of [false, true]) {
      const refusal = refusalOf(() => parseRange(text, { sloppy }));
      expect(refusal.code).toBe(code);
      expect(refusal.message).toContain(part);
    }
  });
});

describe("parseBlock and formatInterval", () => {
  it.each([
    ["10.0.0.7", "10.0.0.7"],
    ["10.0.0.7/32", "10.0.0.7"],
    ["10.0.0.7-10.0.0.7", "10.0.0.7"],
    ["10.0.0.77/24", "10.0.0.0-10.0.0.255"],
    ["10.0.0.250-10.0.1.5", "10.0.0.250-10.0.1.5"],
    ["FD00::7", "fd00::7"],
    ["fd00::77/120", "fd00::-fd00::ff"],
    ["fd00::fff0-fd00::1:5", "fd00::fff0-fd00::1:5"],
  ])("reads %s as %s", (text, canonical) => {
    expect(formatInterval(parseBlock(text))).toBe(canonical);
    expect(parseBlock(text, { sloppy: true })).toEqual(parseBlock(text));
  });

  it.each([
    ["010.0.0.007", "10.0.0.7"],
    ["10.0.0.007-10.0.0.010", "10.0.0.7-10.0.0.10"],
    ["10.0.0.00/031", "10.0.0.0-10.0.0.1"],
  ])("reads %s only if sloppy", (text, canonical) => {
    expect(formatInterval(parseBlock(text, { sloppy: true }))).toBe(canonical);
    expect(() => parseBlock(text)).toThrow();
  });

  it.each([
    ["::ffff:10.0.0.7", "10.0.0.7"],
    ["::ffff:10.0.0.7-::ffff:10.0.0.9", "10.0.0.7-10.0.0.9"],
    ["::ffff:10.0.0.7-10.0.0.9", "10.0.0.7-10.0.0.9"],
    ["::ffff:10.0.0.7/126", "10.0.0.4-10.0.0.7"],
  ])("unmaps %s to %s", (text, canonical) => {
    expect(formatInterval(parseBlock(text, { unmap: true }))).toBe(canonical);
  });

  it.each([
    ["", "bad-address", '"" is not'],
    ["-", "bad-address", '"" is not'],
    ["10.0.0.1-", "bad-address", '"" is not'],
    ["10.0.0.1-10.0.0.2-10.0.0.3", "bad-address", '"10.0.0.2-10.0.0.3" is not'],
    ["10.0.0.1-10.0.0.9/24", "bad-address", '"10.0.0.9/24" is not'],
    ["10.0.0.9-10.0.0.1", "bad-range", "10.0.0.9-10.0.0.1 runs backwards"],
    ["10.0.0.1-fd00::1", "mixed-families", "10.0.0.1 is IPv4 and fd00::1 is IPv6"],
    ["10.0.0.0/33", "bad-prefix", "/33 is no prefix length for 10.0.0.0"],
    ["10.0.0.0/", "bad-prefix", '"10.0.0.0/" has no valid prefix length'],
    ["gateway", "bad-address", '"gateway" is not'],
  ])("refuses %j as %s", (text, code, part) => {
    const refusal = refusalOf(() => parseBlock(text));
    expect(refusal.code).toBe(code);
    expect(refusal.message).toContain(part);
  });

  it("read back what formatInterval writes", () => {
    fc.assert(
      fc.property(anyInterval, (each) => {
        expect(parseBlock(formatInterval(each))).toEqual(each);
        expect(interval(each.first, each.last)).toEqual(each);
      }),
      { numRuns: 500 },
    );
  });
});
