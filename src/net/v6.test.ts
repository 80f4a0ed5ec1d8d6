import { isIPv6 } from "node:net";

import * as fc from "fast-check";
import ipaddr from "ipaddr.js";
import { describe, expect, it } from "vitest";

import { word } from "../../test/net/arbitrary.ts";
import { formatV6, scanV6, type Words } from "./v6.ts";

type Groups = readonly number[];

function wordsOf(groups: Groups): Words {
  const at = (index: number) => groups[index]! * 2 ** 16 + groups[index + 1]!;
  return [at(0), at(2), at(4), at(6)];
}

function groupsOf(words: Words): number[] {
  return words.flatMap((each) => [Math.floor(each / 2 ** 16), each % 2 ** 16]);
}

/** Zero groups are common, so that there are runs of them to elide, and ties between runs. */
const group = fc.oneof(
  { weight: 4, arbitrary: fc.constant(0) },
  { weight: 2, arbitrary: fc.constantFrom(1, 0xf, 0x10, 0xff, 0x100, 0xfff, 0x1000, 0xffff) },
  { weight: 2, arbitrary: fc.integer({ min: 0, max: 0xffff }) },
);
const groups8 = fc.array(group, { minLength: 8, maxLength: 8 });
const mappedGroups = fc.tuple(group, group).map(([a, b]) => [0, 0, 0, 0, 0, 0xffff, a, b]);
const anyGroups = fc.oneof({ weight: 9, arbitrary: groups8 }, { weight: 1, arbitrary: mappedGroups });

interface Spelling {
  readonly groups: Groups;
  readonly text: string;
  readonly dotted: boolean;
  readonly sloppy: boolean;
}

/** A way to write the groups: case, padding, any run of zero groups elided or none, hexadecimal or dotted tail. */
const spelling: fc.Arbitrary<Spelling> = fc
  .record({
    groups: anyGroups,
    upper: fc.array(fc.boolean(), { minLength: 8, maxLength: 8 }),
    padding: fc.array(fc.nat({ max: 4 }), { minLength: 8, maxLength: 8 }),
    surplus: fc.array(fc.nat({ max: 5 }), { minLength: 8, maxLength: 8 }),
    dotted: fc.boolean(),
    sloppy: fc.boolean(),
    elision: fc.option(fc.tuple(fc.nat({ max: 7 }), fc.integer({ min: 1, max: 8 })), { nil: undefined }),
  })
  .map(({ groups, upper, padding, surplus, dotted, sloppy, elision }) => {
    const hexadecimal = groups.map((each, i) => {
      const text = each.toString(16).padStart(padding[i]!, "0");
      return (sloppy ? "0".repeat(surplus[i]!) : "") + (upper[i]! ? text.toUpperCase() : text);
    });
    const octets = groups.slice(6).flatMap((each) => [each >> 8, each & 255]);
    const tail = octets.map((each, i) => (sloppy ? "0".repeat(surplus[i]!) : "") + String(each)).join(".");
    const parts = dotted ? [...hexadecimal.slice(0, 6), tail] : hexadecimal;
    // The run is what is zero from `from` on, at most `most` groups, and never the dotted tail.
    const [from, most] = elision ?? [0, 0];
    let to = from;
    while (to < (dotted ? 6 : 8) && to - from < most && groups[to] === 0) to += 1;
    const text = to > from ? `${parts.slice(0, from).join(":")}::${parts.slice(to).join(":")}` : parts.join(":");
    return { groups, text, dotted, sloppy };
  });

/** RFC 5952 by the letter, and slowly: of all runs of two zero groups or more, the longest, and of those the first. */
function canonical(groups: Groups): string {
  if (groups.slice(0, 5).every((each) => each === 0) && groups[5] === 0xffff) {
    return `::ffff:${groups
      .slice(6)
      .flatMap((each) => [each >> 8, each & 255])
      .join(".")}`;
  }
  const hex = (part: Groups) => part.map((each) => each.toString(16)).join(":");
  for (let length = 8; length >= 2; length--) {
    for (let from = 0; from + length <= 8; from++) {
      if (groups.slice(from, from + length).some((each) => each !== 0)) continue;
      return `${hex(groups.slice(0, from))}::${hex(groups.slice(from + length))}`;
    }
  }
  return hex(groups);
}

describe("scanV6", () => {
  const rfc4291 = [
    ["ABCD:EF01:2345:6789:ABCD:EF01:2345:6789", [0xabcd, 0xef01, 0x2345, 0x6789, 0xabcd, 0xef01, 0x2345, 0x6789]],
    ["2001:DB8:0:0:8:800:200C:417A", [0x2001, 0xdb8, 0, 0, 8, 0x800, 0x200c, 0x417a]],
    ["2001:DB8::8:800:200C:417A", [0x2001, 0xdb8, 0, 0, 8, 0x800, 0x200c, 0x417a]],
    ["FF01:0:0:0:0:0:0:101", [0xff01, 0, 0, 0, 0, 0, 0, 0x101]],
    ["FF01::101", [0xff01, 0, 0, 0, 0, 0, 0, 0x101]],
    ["0:0:0:0:0:0:0:1", [0, 0, 0, 0, 0, 0, 0, 1]],
    ["::1", [0, 0, 0, 0, 0, 0, 0, 1]],
    ["0:0:0:0:0:0:0:0", [0, 0, 0, 0, 0, 0, 0, 0]],
    ["::", [0, 0, 0, 0, 0, 0, 0, 0]],
    ["0:0:0:0:0:0:13.1.68.3", [0, 0, 0, 0, 0, 0, 0x0d01, 0x4403]],
    ["::13.1.68.3", [0, 0, 0, 0, 0, 0, 0x0d01, 0x4403]],
    ["0:0:0:0:0:FFFF:129.144.52.38", [0, 0, 0, 0, 0, 0xffff, 0x8190, 0x3426]],
    ["::FFFF:129.144.52.38", [0, 0, 0, 0, 0, 0xffff, 0x8190, 0x3426]],
  ] as const;
  const corners = [
    ["1::", [1, 0, 0, 0, 0, 0, 0, 0]],
    ["1:2:3:4:5:6:7::", [1, 2, 3, 4, 5, 6, 7, 0]],
    ["::2:3:4:5:6:7:8", [0, 2, 3, 4, 5, 6, 7, 8]],
    ["1:2:3::5:6:7:8", [1, 2, 3, 0, 5, 6, 7, 8]],
    ["1:2:3:4:5:6:255.255.255.255", [1, 2, 3, 4, 5, 6, 0xffff, 0xffff]],
    ["1:2:3:4:5::1.2.3.4", [1, 2, 3, 4, 5, 0, 0x0102, 0x0304]],
    ["64:ff9b::192.0.2.33", [0x64, 0xff9b, 0, 0, 0, 0, 0xc000, 0x0221]],
    ["ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Array<number>(8).fill(0xffff)],
    ["0001:0002:0003:0004:0005:0006:0007:0008", [1, 2, 3, 4, 5, 6, 7, 8]],
  ] as const;
  it.each([...rfc4291, ...corners])("reads %s, strict and sloppy", (text, groups) => {
    expect(scanV6(text, false)).toEqual(wordsOf(groups));
    expect(scanV6(text, true)).toEqual(wordsOf(groups));
  });

  it.each([
    ["00001::", [1, 0, 0, 0, 0, 0, 0, 0], /more than four digits/],
    ["fd00::000000000000000000007", [0xfd00, 0, 0, 0, 0, 0, 0, 7], /more than four digits/],
    ["::ffff:010.000.000.001", [0, 0, 0, 0, 0, 0xffff, 0x0a00, 1], /leading zero/],
  ] as const)("sloppy reads %s", (text, groups, reason) => {
    expect(scanV6(text, true)).toEqual(wordsOf(groups));
    expect(scanV6(text, false)).toMatch(reason);
  });

  it.each([
    [":", /empty/],
    [":1", /empty/],
    ["1:", /empty/],
    ["1::2:", /empty/],
    [":1::2", /empty/],
    ["1:2:3:4:5:6:7:", /empty/],
    [":2:3:4:5:6:7:8", /empty/],
    [":::", /three colons in a row/],
    ["1:::2", /three colons in a row/],
    ["1::2::3", /twice/],
    ["::1::", /twice/],
    ["::::", /twice/],
    ["1:2", /2 groups/],
    ["1:2:3:4:5:6:7", /7 groups/],
    ["1:2:3:4:5:6:7:8:9", /more than eight/],
    ["1:2:3:4:5:6:7:8::", /eight groups or more beside/],
    ["::1:2:3:4:5:6:7:8", /eight groups or more beside/],
    ["1:2:3:4::5:6:7:8", /eight groups or more beside/],
    ["1:2:3:4:5:6::1.2.3.4", /eight groups or more beside/],
    ["1:2:3:4:5:6:7:1.2.3.4", /9 groups/],
    ["1:2:3:4:5:1.2.3.4", /7 groups/],
    ["1.2.3.4::", /only stand at the end/],
    ["1.2.3.4:5:6:7:8:9:a:b", /only stand at the end/],
    ["::1.2.3.4:5", /only stand at the end/],
    ["::1.2.3.4:1.2.3.4", /only stand at the end/],
    ["::1.2.3", /in its dotted part it has 3 of four/],
    ["::1.2.3.256", /in its dotted part an octet is larger/],
    ["::1.2.3.4.5", /in its dotted part it has more than four/],
    ["::.", /in its dotted part an octet is empty/],
    ["::f.0.0.1", /in its dotted part the character "f"/],
    ["g::", /"g" is not hexadecimal/],
    ["::-1", /"-1" is not hexadecimal/],
    ["::0x1", /"0x1" is not hexadecimal/],
    [" ::1", /" " is not hexadecimal/],
    ["::1 ", /"1 " is not hexadecimal/],
    ["::1\n", /not hexadecimal/],
    ["[::1]", /not hexadecimal/],
    ["::１", /not hexadecimal/],
    ["::1/64", /not hexadecimal/],
    ["fe80::1%eth0", /zone/],
    ["fe80::1%", /zone/],
  ])("refuses %j, strict and sloppy", (text, reason) => {
    expect(scanV6(text, false)).toMatch(reason);
    expect(scanV6(text, true)).toMatch(reason);
  });

  it("refuses a group above ffff, however long", () => {
    for (const text of ["10000::", "::00010000", `::${"f".repeat(400)}`]) {
      expect(scanV6(text, false)).toMatch(/more than four digits/);
      expect(scanV6(text, true)).toMatch(/larger than ffff/);
    }
  });

  it("reads every spelling of an address, and so does ipaddr.js", () => {
    fc.assert(
      fc.property(spelling, ({ groups, text, dotted, sloppy }) => {
        expect(scanV6(text, sloppy)).toEqual(wordsOf(groups));
        expect(scanV6(text, true)).toEqual(wordsOf(groups));
        // Surplus zeros are not ipaddr.js' business, and it takes the deprecated ::a.b.c.d for ::ffff:a.b.c.d.
        if (sloppy || (dotted && /^::[\d.]+$/.test(text))) return;
        expect(ipaddr.IPv6.parse(text).parts).toEqual(groups);
        expect(isIPv6(text)).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  it("accepts, of texts that are nearly addresses, what Node and ipaddr.js accept", () => {
    const part = fc.constantFrom("0", "1", "f", "abcd", "FFFF", "00000", "10000", "", "g");
    const scattered = fc
      .array(fc.tuple(part, fc.constantFrom(":", ":", ":", "::", ":::")), { maxLength: 9 })
      .map((parts) => parts.flat().join(""));
    const tail = fc.constantFrom("", "", "1", ":", "1.2.3.4", "1.2.3", "01.2.3.4", "256.1.1.1", "1.2.3.4:5");
    const broken = fc
      .tuple(spelling, fc.nat(), fc.nat({ max: 2 }), fc.constantFrom("", "", ":", "::", "0", ".", "1.2.3.4"))
      .map(([{ text }, at, cut, insert]) => {
        const from = at % (text.length + 1);
        return text.slice(0, from) + insert + text.slice(from + cut);
      });
    fc.assert(
      fc.property(
        fc.oneof(
          fc.tuple(scattered, tail).map((parts) => parts.join("")),
          broken,
        ),
        (text) => {
          const strict = typeof scanV6(text, false) !== "string";
          expect(strict).toBe(isIPv6(text));
          // With a dotted tail ipaddr.js also takes leading zeros and 0x; without one it agrees.
          if (!text.includes(".")) expect(strict).toBe(ipaddr.IPv6.isValid(text));
          // What is right strictly is the same read sloppily.
          if (strict) expect(scanV6(text, true)).toEqual(scanV6(text, false));
        },
      ),
      { numRuns: 5000 },
    );
  });
});

describe("formatV6", () => {
  it.each([
    [[0, 0, 0, 0, 0, 0, 0, 0], "::", "all zero"],
    [[0, 0, 0, 0, 0, 0, 0, 1], "::1", "a run at the start"],
    [[1, 0, 0, 0, 0, 0, 0, 0], "1::", "a run at the end"],
    [[0x2001, 0xdb8, 0, 0, 1, 0, 0, 1], "2001:db8::1:0:0:1", "4.2.3: of two equal runs the first"],
    [[0, 0, 1, 0, 0, 1, 0, 0], "::1:0:0:1:0:0", "of three equal runs the first, at the very start"],
    [[0x2001, 0, 0, 1, 0, 0, 0, 1], "2001:0:0:1::1", "4.2.3: the longest run, though it comes later"],
    [[0x2001, 0xdb8, 0, 1, 1, 1, 1, 1], "2001:db8:0:1:1:1:1:1", "4.2.2: a single zero group stays"],
    [[0, 1, 2, 3, 4, 5, 6, 7], "0:1:2:3:4:5:6:7", "a single zero group stays at the start"],
    [[1, 2, 3, 4, 5, 6, 7, 0], "1:2:3:4:5:6:7:0", "a single zero group stays at the end"],
    [[0, 1, 0, 1, 0, 1, 0, 1], "0:1:0:1:0:1:0:1", "nor do many single ones count"],
    [[0x2001, 0xdb8, 0, 0, 0, 0, 2, 1], "2001:db8::2:1", "4.2.1: as short as possible"],
    [[0x2001, 0xdb8, 0xaaaa, 0xbbbb, 0xcccc, 0xdddd, 0xeeee, 1], "2001:db8:aaaa:bbbb:cccc:dddd:eeee:1", "4.1, 4.3"],
    [
      [0xabcd, 0xef, 0xa, 0xb0, 0xc00, 0xd000, 0xe, 0xf],
      "abcd:ef:a:b0:c00:d000:e:f",
      "4.1: zeros inside and at the end stay",
    ],
    [[0, 0, 0, 0, 0, 0xffff, 0xc000, 0x0201], "::ffff:192.0.2.1", "5: IPv4-mapped is mixed"],
    [[0, 0, 0, 0, 0, 0xffff, 0, 0], "::ffff:0.0.0.0", "5: whatever the IPv4 address"],
    [[0, 0, 0, 0, 0, 0xffff, 0xffff, 0xffff], "::ffff:255.255.255.255", "5: to the last one"],
    [[0, 0, 0, 0, 0, 0xfffe, 0xc000, 0x0201], "::fffe:c000:201", "one below the mapped prefix is not mixed"],
    [[0, 0, 0, 0, 1, 0xffff, 0xc000, 0x0201], "::1:ffff:c000:201", "one above it neither"],
    [[0, 0, 0, 0, 0, 0, 0xc000, 0x0201], "::c000:201", "nor is the deprecated IPv4-compatible form"],
    [[0x64, 0xff9b, 0, 0, 0, 0, 0xc000, 0x0221], "64:ff9b::c000:221", "nor NAT64, whose prefix a reader cannot know"],
    [Array<number>(8).fill(0xffff), Array(8).fill("ffff").join(":"), "all ones"],
  ])("%j is %s (%s)", (groups, text) => {
    expect(formatV6(...wordsOf(groups))).toBe(text);
    expect(canonical(groups)).toBe(text);
  });

  it("writes the canonical form of every one of the 256 patterns of zero groups", () => {
    for (let pattern = 0; pattern < 256; pattern++) {
      const groups = Array.from({ length: 8 }, (_, i) => ((pattern >> i) & 1) * (i + 10));
      const text = formatV6(...wordsOf(groups));
      expect(text).toBe(canonical(groups));
      expect(text).toBe(new ipaddr.IPv6(groups).toRFC5952String());
      expect(scanV6(text, false)).toEqual(wordsOf(groups));
    }
  });

  it("writes what the oracle and ipaddr.js write, and what scanV6 reads back", () => {
    const words: fc.Arbitrary<Words> = fc.oneof(anyGroups.map(wordsOf), fc.tuple(word, word, word, word));
    fc.assert(
      fc.property(words, (each) => {
        const groups = groupsOf(each);
        const text = formatV6(...each);
        expect(text).toBe(canonical(groups));
        expect(scanV6(text, false)).toEqual(each);
        expect(scanV6(text, true)).toEqual(each);
        const witness = new ipaddr.IPv6(groups);
        expect(ipaddr.IPv6.parse(text).parts).toEqual(groups);
        // ipaddr.js leaves section 5 out: it writes IPv4-mapped addresses in hexadecimal.
        if (!witness.isIPv4MappedAddress()) expect(text).toBe(witness.toRFC5952String());
      }),
      { numRuns: 2000 },
    );
  });

  it("writes every spelling canonically", () => {
    fc.assert(
      fc.property(spelling, ({ groups, text, sloppy }) => {
        const words = scanV6(text, sloppy);
        expect(typeof words === "string" ? words : formatV6(...words)).toBe(canonical(groups));
      }),
      { numRuns: 1000 },
    );
  });
});
