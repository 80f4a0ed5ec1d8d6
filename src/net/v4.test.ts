import { isIPv4 } from "node:net";

import * as fc from "fast-check";
import ipaddr from "ipaddr.js";
import { describe, expect, it } from "vitest";

import { word } from "../../test/net/arbitrary.ts";
import { formatV4, scanV4 } from "./v4.ts";

describe("scanV4", () => {
  it.each([
    ["0.0.0.0", 0],
    ["0.0.0.1", 1],
    ["1.2.3.4", 0x01020304],
    ["10.0.0.255", 0x0a0000ff],
    ["127.255.255.255", 0x7fffffff],
    ["128.0.0.0", 0x80000000],
    ["200.100.90.80", 0xc8645a50],
    ["255.255.255.254", 0xfffffffe],
    ["255.255.255.255", 0xffffffff],
  ])("reads %s, strict and sloppy", (text, value) => {
    expect(scanV4(text, false)).toBe(value);
    expect(scanV4(text, true)).toBe(value);
  });

  it.each([
    ["010.0.0.1", 0x0a000001, "decimal, not octal 8"],
    ["0177.0.0.1", 0xb1000001, "decimal 177, not octal 127"],
    ["10.00.000.0000", 0x0a000000, "zeros only"],
    ["192.168.001.010", 0xc0a8010a, "three digits each, as old configurations have it"],
    ["08.09.0.1", 0x08090001, "digits that octal has not"],
    [`${"0".repeat(40)}255.0.0.1`, 0xff000001, "as many zeros as one likes"],
  ])("sloppy reads %s as %d: %s", (text, value) => {
    expect(scanV4(text, true)).toBe(value);
    expect(scanV4(text, false)).toMatch(/leading zero/);
  });

  it.each([
    ["", /empty/],
    [".", /empty/],
    ["...", /empty/],
    ["1.2.3", /3 of four/],
    ["167772161", /larger than 255/],
    ["10", /1 of four/],
    ["10.1", /2 of four/],
    ["1.2.3.4.", /more than four/],
    ["1.2.3.4.5", /more than four/],
    [".1.2.3.4", /empty/],
    ["1..3.4", /empty/],
    ["1.2.3.", /empty/],
    ["256.0.0.0", /larger than 255/],
    ["0.0.0.256", /larger than 255/],
    ["1.2.3.4294967297", /larger than 255/],
    [`1.2.3.${"9".repeat(40)}`, /larger than 255/],
    ["1.2.3.-4", /"-"/],
    ["1.2.3.+4", /"\+"/],
    [" 1.2.3.4", /" "/],
    ["1.2.3.4 ", /" "/],
    ["1.2.3.4\n", /"\\n"/],
    ["1.2.3.4\0", /"\\u0000"/],
    ["0x0a.0.0.1", /"x"/],
    ["1.2.3.4/24", /"\/"/],
    ["1.2.3.4%eth0", /"%"/],
    ["1.2.3.1e1", /"e"/],
    ["1,2,3,4", /","/],
    ["１.2.3.4", /"１"/],
    ["1。2.3.4", /"。"/],
    ["😀.2.3.4", /neither a digit nor a dot/],
    ["localhost", /"l"/],
  ])("refuses %j, strict and sloppy", (text, reason) => {
    expect(scanV4(text, false)).toMatch(reason);
    expect(scanV4(text, true)).toMatch(reason);
  });

  it("accepts, of texts that are nearly addresses, what Node and ipaddr.js accept", () => {
    const octet = fc.oneof(
      fc.integer({ min: 0, max: 260 }).map(String),
      fc.constantFrom("", "0", "00", "01", "255", "256", "0255", "1000", "0x1", "a"),
    );
    const nearly = fc.oneof(
      { weight: 3, arbitrary: fc.tuple(octet, octet, octet, octet).map((octets) => octets.join(".")) },
      { weight: 1, arbitrary: fc.array(octet, { maxLength: 6 }).map((octets) => octets.join(".")) },
      { weight: 1, arbitrary: fc.string({ unit: fc.constantFrom("0", "1", "25", "."), maxLength: 12 }) },
    );
    fc.assert(
      fc.property(nearly, (text) => {
        const strict = typeof scanV4(text, false) === "number";
        expect(strict).toBe(isIPv4(text));
        // ipaddr.js' plain `isValid` also takes octal, hexadecimal and fewer than four parts; this one is strict.
        expect(strict).toBe(ipaddr.IPv4.isValidFourPartDecimal(text));

        const octets = text.split(".");
        const sloppy = octets.length === 4 && octets.every((each) => /^\d+$/.test(each) && BigInt(each) <= 255n);
        const value = octets.reduce((sum, each) => sum * 256 + Number(each), 0);
        if (sloppy) expect(scanV4(text, true)).toBe(value);
        else expect(scanV4(text, true)).toBeTypeOf("string");
      }),
      { numRuns: 3000 },
    );
  });
});

describe("formatV4", () => {
  it.each([
    [0, "0.0.0.0"],
    [0x7fffffff, "127.255.255.255"],
    [0x80000000, "128.0.0.0"],
    [0x01000100, "1.0.1.0"],
    [0xffffffff, "255.255.255.255"],
  ])("writes %d as %s", (value, text) => {
    expect(formatV4(value)).toBe(text);
  });

  it("writes what scanV4 and ipaddr.js read back", () => {
    fc.assert(
      fc.property(word, (value) => {
        const text = formatV4(value);
        expect(scanV4(text, false)).toBe(value);
        expect(scanV4(text, true)).toBe(value);
        const octets = [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256);
        expect(text).toBe(octets.join("."));
        expect(ipaddr.IPv4.parse(text).toByteArray()).toEqual(octets);
        expect(new ipaddr.IPv4(octets).toString()).toBe(text);
      }),
      { numRuns: 1000 },
    );
  });

  it("writes a sloppy spelling canonically", () => {
    const spelled = fc.tuple(fc.integer({ min: 0, max: 255 }), fc.nat({ max: 6 }));
    fc.assert(
      fc.property(fc.tuple(spelled, spelled, spelled, spelled), (octets) => {
        const text = octets.map(([octet, zeros]) => "0".repeat(zeros) + String(octet)).join(".");
        const value = scanV4(text, true);
        expect(typeof value === "number" && formatV4(value)).toBe(octets.map(([octet]) => octet).join("."));
      }),
      { numRuns: 500 },
    );
  });
});
