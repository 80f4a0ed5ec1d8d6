import * as fc from "fast-check";
import ipaddr from "ipaddr.js";
import { describe, expect, it } from "vitest";

import * as arbitrary from "../../test/net/arbitrary.ts";
import { addressOf, spaceOf, valueOf } from "../../test/net/arbitrary.ts";
import { refusalOf } from "../../test/net/refusal.ts";
import {
  type Address,
  assertSameFamily,
  bitsOf,
  compare,
  distance,
  equal,
  fromBigInt,
  mapped,
  minus,
  next,
  offsetBetween,
  parseAddress,
  plus,
  previous,
  toBigInt,
  unmapped,
  V4Address,
  V6Address,
} from "./address.ts";

const at = (text: string) => parseAddress(text);
const shown = (address: Address | undefined) => address?.toString();

const lastV4 = "255.255.255.255";
const lastV6 = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff";
const two32 = 1n << 32n;
const two53 = 1n << 53n;
const two64 = 1n << 64n;

/** What the oracle says: the address with that number, or undefined where the space has none. */
function expected(family: 4 | 6, value: bigint): Address | undefined {
  return value < 0n || value >= spaceOf(family) ? undefined : addressOf(family, value);
}

describe("parseAddress", () => {
  it.each([
    ["10.0.0.1", 4, "10.0.0.1"],
    ["fd00::1", 6, "fd00::1"],
    ["FD00:0:0:0::0001", 6, "fd00::1"],
    ["::ffff:10.0.0.1", 6, "::ffff:10.0.0.1"],
    ["::ffff:a00:1", 6, "::ffff:10.0.0.1"],
    ["::10.0.0.1", 6, "::a00:1"],
  ])("reads %s as IPv%d %s", (text, family, canonical) => {
    const address = parseAddress(text);
    expect(address.family).toBe(family);
    expect(`${address}`).toBe(canonical);
    expect(JSON.stringify({ address })).toBe(`{"address":"${canonical}"}`);
  });

  it.each([
    ["10.0.0.010", "10.0.0.10"],
    ["00fd00::0000007", "fd00::7"],
    ["::ffff:010.0.0.01", "::ffff:10.0.0.1"],
  ])("reads %s only if sloppy", (text, canonical) => {
    expect(`${parseAddress(text, { sloppy: true })}`).toBe(canonical);
    expect(refusalOf(() => parseAddress(text)).code).toBe("bad-address");
    expect(refusalOf(() => parseAddress(text, { sloppy: false, unmap: true })).code).toBe("bad-address");
  });

  it.each([
    ["::ffff:10.0.0.1", "10.0.0.1"],
    ["::FFFF:0A00:0001", "10.0.0.1"],
    ["0:0:0:0:0:ffff:255.255.255.255", lastV4],
    ["::ffff:0:0", "0.0.0.0"],
    ["10.0.0.1", "10.0.0.1"],
    ["::fffe:10.0.0.1", "::fffe:a00:1"],
    ["::1:ffff:10.0.0.1", "::1:ffff:a00:1"],
    ["::10.0.0.1", "::a00:1"],
    ["fd00::1", "fd00::1"],
  ])("unmaps %s to %s", (text, canonical) => {
    expect(`${parseAddress(text, { unmap: true })}`).toBe(canonical);
  });

  it.each([
    ["", "is not an IP address: an octet is empty."],
    ["10.0.0", "is not an IP address: it has 3 of four octets."],
    ["10.0.0.256", "is not an IP address: an octet is larger than 255."],
    ["10.0.0.01", "is not an IP address: an octet has a leading zero"],
    ["10.0.0.1/24", 'is not an IP address: the character "/"'],
    ["my host", 'is not an IP address: the character "m"'],
    [":", "is not an IPv6 address: a group is empty"],
    ["1:2", "is not an IPv6 address: it has 2 groups"],
    ["fe80::1%eth0", "is not an IPv6 address: it carries a zone"],
    ["fd00::00001", 'is not an IPv6 address: the group "00001" has more than four digits'],
    ['"::1', "is not an IPv6 address"],
  ])("refuses %j and names it", (text, reason) => {
    const { code, message } = refusalOf(() => parseAddress(text));
    expect(code).toBe("bad-address");
    expect(message).toContain(`${JSON.stringify(text)} ${reason}`);
    expect(message).toMatch(/\.$/);
  });

  it("reads back what toString writes, as ipaddr.js does", () => {
    fc.assert(
      fc.property(arbitrary.address, (address) => {
        const text = address.toString();
        expect(parseAddress(text)).toEqual(address);
        expect(parseAddress(text, { sloppy: true })).toEqual(address);
        expect(parseAddress(text.toUpperCase())).toEqual(address);
        expect(address.toJSON()).toBe(text);
        const bytes = ipaddr.parse(text).toByteArray();
        expect(bytes.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n)).toBe(valueOf(address));
      }),
      { numRuns: 1000 },
    );
  });
});

describe("mapped and unmapped", () => {
  it("are inverse for IPv4, and ipaddr.js agrees", () => {
    fc.assert(
      fc.property(arbitrary.v4, (address) => {
        const inside = mapped(address);
        expect(inside.family).toBe(6);
        expect(`${inside}`).toBe(`::ffff:${address}`);
        expect(unmapped(inside)).toEqual(address);
        expect(unmapped(address)).toBe(address);
        expect(ipaddr.IPv4.parse(`${address}`).toIPv4MappedAddress().parts).toEqual(
          ipaddr.IPv6.parse(`${inside}`).parts,
        );
        expect(compare(address, inside)).toBeLessThan(0);
      }),
    );
  });

  it("leave IPv6 alone outside ::ffff:0:0/96", () => {
    const first = 0xffffn << 32n;
    fc.assert(
      fc.property(arbitrary.v6, (address) => {
        expect(mapped(address)).toBe(address);
        const inside = valueOf(address) >= first && valueOf(address) < first + two32;
        expect(unmapped(address).family).toBe(inside ? 4 : 6);
        if (!inside) expect(unmapped(address)).toBe(address);
      }),
    );
    for (const text of ["::fffe:ffff:ffff", "::1:0:0:0", "1::ffff:10.0.0.1", "0:1::ffff:10.0.0.1"]) {
      expect(unmapped(at(text))).toEqual(at(text));
    }
  });
});

describe("compare and equal", () => {
  it("sort IPv4 before IPv6, then by number", () => {
    const sorted = ["0.0.0.0", "9.255.255.255", "10.0.0.0", "127.255.255.255", "128.0.0.0", lastV4].concat([
      "::",
      "::1",
      "::ffff:0.0.0.0",
      "::1:0:0:0",
      "1::",
      "7fff::",
      "8000::",
      lastV6,
    ]);
    for (const [i, a] of sorted.entries()) {
      for (const [j, b] of sorted.entries()) {
        expect(Math.sign(compare(at(a), at(b)))).toBe(Math.sign(i - j));
        expect(equal(at(a), at(b))).toBe(i === j);
      }
    }
    expect(sorted.toReversed().map(at).sort(compare).map(String)).toEqual(sorted);
  });

  it("agree with the numbers over both spaces", () => {
    fc.assert(
      fc.property(arbitrary.address, arbitrary.address, (a, b) => {
        const [left, right] = [a, b].map((each) => (each.family === 4 ? 0n : 1n << 128n) + valueOf(each));
        const sign = left! < right! ? -1 : Number(left! > right!);
        expect(Math.sign(compare(a, b))).toBe(sign);
        expect(equal(a, b)).toBe(sign === 0);
      }),
      { numRuns: 2000 },
    );
  });
});

describe("plus, minus, next and previous", () => {
  it.each([
    ["10.0.0.255", 1, "10.0.1.0"],
    ["10.255.255.255", 1, "11.0.0.0"],
    ["127.255.255.255", 1, "128.0.0.0"],
    ["0.0.0.0", 0xffffffff, lastV4],
    ["0.0.0.0", two32, undefined],
    [lastV4, 0, lastV4],
    [lastV4, 1, undefined],
    [lastV4, 1n << 200n, undefined],
    ["0.0.0.0", Number.MAX_SAFE_INTEGER, undefined],
    ["fd00::ffff", 1, "fd00::1:0"],
    ["fd00::ffff:ffff", 1, "fd00::1:0:0"],
    ["fd00::ffff:ffff:ffff:ffff", 1, "fd00:0:0:1::"],
    ["fd00:0:ffff:ffff:ffff:ffff:ffff:ffff", 1, "fd00:1::"],
    ["::", two32, "::1:0:0"],
    ["::", two53, "::20:0:0:0"],
    ["::", two64, "0:0:0:1::"],
    ["::", (1n << 128n) - 1n, lastV6],
    ["::", 1n << 128n, undefined],
    ["::1", (1n << 128n) - 1n, undefined],
    [lastV6, 0n, lastV6],
    [lastV6, 1n, undefined],
    ["ffff:ffff:ffff:ffff:ffff:ffff::", 0x1_0000_0000, undefined],
    ["ffff:ffff:ffff:ffff:ffe0::", Number.MAX_SAFE_INTEGER, "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
    ["ffff:ffff:ffff:ffff:ffe0::1", Number.MAX_SAFE_INTEGER, undefined],
  ] as const)("%s + %s is %s", (text, count, result) => {
    expect(shown(plus(at(text), count))).toBe(result);
    if (result !== undefined) expect(shown(minus(at(result), count))).toBe(text);
  });

  it.each([
    ["0.0.0.0", 1],
    ["0.0.0.5", 6],
    [lastV4, two32],
    ["::", 1],
    ["::1", 2n],
    ["::ffff:ffff", 0x1_0000_0000],
    ["::1f:ffff:ffff:fffe", Number.MAX_SAFE_INTEGER],
    [lastV6, 1n << 128n],
    [lastV6, 1n << 200n],
  ])("%s - %s is before the start", (text, count) => {
    expect(minus(at(text), count)).toBeUndefined();
  });

  it("take a number that is a whole one beyond 2^53 by its exact value", () => {
    for (const exponent of [53, 54, 63, 64, 65, 66, 96, 100, 127]) {
      const count = 2 ** exponent;
      expect(shown(plus(at("::"), count))).toBe(`${addressOf(6, 1n << BigInt(exponent))}`);
      expect(shown(minus(at(lastV6), count))).toBe(`${addressOf(6, (1n << 128n) - 1n - (1n << BigInt(exponent)))}`);
      expect(plus(at("0.0.0.0"), count)).toBeUndefined();
      expect(minus(at(lastV4), count)).toBeUndefined();
    }
    expect(plus(at("::"), 2 ** 128)).toBeUndefined();
    expect(minus(at(lastV6), 2 ** 128)).toBeUndefined();
  });

  it("agree with bigint arithmetic, and never wrap", () => {
    fc.assert(
      fc.property(arbitrary.address, arbitrary.count, (address, count) => {
        const { family } = address;
        const above = expected(family, valueOf(address) + count);
        const below = expected(family, valueOf(address) - count);
        expect(plus(address, count)).toEqual(above);
        expect(minus(address, count)).toEqual(below);
        if (count <= BigInt(Number.MAX_SAFE_INTEGER)) {
          expect(plus(address, Number(count))).toEqual(above);
          expect(minus(address, Number(count))).toEqual(below);
        }
        if (above !== undefined) expect(minus(above, count)).toEqual(address);
        if (below !== undefined) expect(plus(below, count)).toEqual(address);
      }),
      { numRuns: 4000 },
    );
  });

  it("step by one, and nowhere at the ends", () => {
    expect(next(at(lastV4))).toBeUndefined();
    expect(next(at(lastV6))).toBeUndefined();
    expect(previous(at("0.0.0.0"))).toBeUndefined();
    expect(previous(at("::"))).toBeUndefined();
    fc.assert(
      fc.property(arbitrary.address, (address) => {
        expect(next(address)).toEqual(expected(address.family, valueOf(address) + 1n));
        expect(previous(address)).toEqual(expected(address.family, valueOf(address) - 1n));
      }),
      { numRuns: 1000 },
    );
  });
});

describe("offsetBetween and distance", () => {
  it.each([
    // The borrow that whereabouts gets wrong: it says 248.
    ["10.0.0.5", "10.0.1.3", 254n],
    ["10.0.0.255", "10.0.1.0", 1n],
    ["10.0.255.255", "10.1.0.0", 1n],
    ["0.0.0.0", lastV4, two32 - 1n],
    ["127.255.255.255", "128.0.0.0", 1n],
    ["fd00::5", "fd00::1:3", 65534n],
    ["fd00::ffff:ffff", "fd00::1:0:0", 1n],
    ["fd00::ffff:ffff:ffff:ffff", "fd00:0:0:1::", 1n],
    ["fd00:0:ffff:ffff:ffff:ffff:ffff:ffff", "fd00:1::", 1n],
    ["::", "::1f:ffff:ffff:ffff", two53 - 1n],
    ["::", "::20:0:0:0", two53],
    ["::", "::20:0:0:1", two53 + 1n],
    ["fd00::ffff:ffff:ffff:ffff", "fd00:0:0:1:1f:ffff:ffff:fffe", two53 - 1n],
    ["fd00::ffff:ffff:ffff:ffff", "fd00:0:0:1:1f:ffff:ffff:ffff", two53],
    // Where whereabouts runs over: int64 on reading, uint64 on writing.
    ["::", "::7fff:ffff:ffff:ffff", (1n << 63n) - 1n],
    ["::", "::8000:0:0:0", 1n << 63n],
    ["::", "::ffff:ffff:ffff:ffff", two64 - 1n],
    ["::", "0:0:0:1::", two64],
    ["::", "0:0:0:1::5", two64 + 5n],
    ["::", lastV6, (1n << 128n) - 1n],
  ])("from %s to %s it is %d", (from, to, count) => {
    expect(distance(at(from), at(to))).toBe(count);
    expect(distance(at(to), at(from))).toBe(-count);
    expect(offsetBetween(at(from), at(to))).toBe(count < two53 ? Number(count) : undefined);
    expect(offsetBetween(at(to), at(from))).toBeUndefined();
  });

  it("are 0, and not -0, from an address to itself", () => {
    for (const text of ["0.0.0.0", "10.0.0.1", lastV4, "::", "fd00::1", lastV6]) {
      expect(offsetBetween(at(text), at(text))).toBe(0);
      expect(distance(at(text), at(text))).toBe(0n);
    }
  });

  it("do not exist between families: offsetBetween says undefined, distance throws", () => {
    for (const [a, b] of [
      ["10.0.0.1", "::ffff:10.0.0.1"],
      ["::", "0.0.0.0"],
      ["0.0.0.0", "::"],
    ] as const) {
      expect(offsetBetween(at(a), at(b))).toBeUndefined();
      const { code, message } = refusalOf(() => distance(at(a), at(b)));
      expect(code).toBe("mixed-families");
      expect(message).toContain(`${a} is IPv${at(a).family} and ${b} is IPv${at(b).family}`);
    }
  });

  it("agree with bigint arithmetic, for addresses anywhere and for addresses near each other", () => {
    const near = fc
      .tuple(arbitrary.v6, arbitrary.count)
      .map(([from, count]) => [from, expected(6, valueOf(from) + count) ?? from] as const);
    fc.assert(
      fc.property(fc.oneof(arbitrary.pair, near), ([from, to]) => {
        const exact = valueOf(to) - valueOf(from);
        expect(distance(from, to)).toBe(exact);
        expect(offsetBetween(from, to)).toBe(exact >= 0n && exact < two53 ? Number(exact) : undefined);
        expect(exact >= 0n ? plus(from, exact) : minus(from, -exact)).toEqual(to);
      }),
      { numRuns: 4000 },
    );
  });
});

describe("toBigInt and fromBigInt", () => {
  it("are inverse, and agree with the digits", () => {
    fc.assert(
      fc.property(arbitrary.address, (address) => {
        expect(toBigInt(address)).toBe(valueOf(address));
        expect(fromBigInt(address.family, valueOf(address))).toEqual(address);
      }),
      { numRuns: 1000 },
    );
    expect(fromBigInt(4, 0x0a000001n)).toEqual(new V4Address(0x0a000001));
    expect(fromBigInt(6, 0x0a000001n)).toEqual(new V6Address(0, 0, 0, 0x0a000001));
  });

  it.each([
    [4, -1n],
    [4, two32],
    [4, 1n << 128n],
    [6, -1n],
    [6, -(1n << 128n)],
    [6, 1n << 128n],
  ] as const)("refuse, for IPv%d, the number %d", (family, value) => {
    const { code, message } = refusalOf(() => fromBigInt(family, value));
    expect(code).toBe("out-of-space");
    expect(message).toBe(`${value} is outside the IPv${family} address space.`);
  });
});

it("knows the families' widths", () => {
  expect([bitsOf(4), bitsOf(6)]).toEqual([32, 128]);
  expect([at("0.0.0.0").family, at("::").family]).toEqual([4, 6]);
});

it("assertSameFamily passes two of one family, and names both otherwise", () => {
  assertSameFamily(at("10.0.0.1"), at("10.0.0.2"));
  assertSameFamily(at("::"), at("::ffff:10.0.0.1"));
  expect(refusalOf(() => assertSameFamily(at("fd00::1"), at("10.0.0.1")))).toEqual({
    code: "mixed-families",
    message: "fd00::1 is IPv6 and 10.0.0.1 is IPv4: give two of the same family.",
  });
});
