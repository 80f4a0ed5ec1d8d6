import * as fc from "fast-check";
import ipaddr from "ipaddr.js";
import { describe, expect, it } from "vitest";

import * as arbitrary from "../../test/net/arbitrary.ts";
import { addressOf, spaceOf, valueOf } from "../../test/net/arbitrary.ts";
import { refusalOf } from "../../test/net/refusal.ts";
import { type Address, bitsOf, parseAddress } from "./address.ts";
import { comparePrefixes, contains, containsPrefix, overlaps, parseCidr, parsePrefix, Prefix } from "./prefix.ts";

const lastV6 = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff";

/** An address and a length that fits it; the ends of the words are common. */
const cidr: fc.Arbitrary<readonly [Address, number]> = arbitrary.address.chain((address) => {
  const bits = bitsOf(address.family);
  const brinks = [0, 1, 31, 32, 33, 63, 64, 65, 95, 96, 97, 127, 128].filter((length) => length <= bits);
  const length = fc.oneof(fc.constantFrom(...brinks), fc.integer({ min: 0, max: bits }));
  return fc.tuple(fc.constant(address), length);
});

/** First and last number of the block, by division. */
function span(address: Address, length: number): readonly [bigint, bigint] {
  const size = spaceOf(address.family) / 2n ** BigInt(length);
  const first = (valueOf(address) / size) * size;
  return [first, first + size - 1n];
}

function bytes(address: Address): number[] {
  return ipaddr.parse(`${address}`).toByteArray();
}

describe("Prefix", () => {
  it.each([
    ["0.0.0.0/0", "0.0.0.0", "255.255.255.255", 32],
    ["128.0.0.0/1", "128.0.0.0", "255.255.255.255", 31],
    ["10.0.0.0/8", "10.0.0.0", "10.255.255.255", 24],
    ["10.0.0.0/24", "10.0.0.0", "10.0.0.255", 8],
    ["10.0.0.6/31", "10.0.0.6", "10.0.0.7", 1],
    ["10.0.0.7/32", "10.0.0.7", "10.0.0.7", 0],
    ["255.255.255.254/31", "255.255.255.254", "255.255.255.255", 1],
    ["255.255.255.255/32", "255.255.255.255", "255.255.255.255", 0],
    ["::/0", "::", lastV6, 128],
    ["8000::/1", "8000::", lastV6, 127],
    ["fd00::/32", "fd00::", "fd00:0:ffff:ffff:ffff:ffff:ffff:ffff", 96],
    ["fd00::/33", "fd00::", "fd00:0:7fff:ffff:ffff:ffff:ffff:ffff", 95],
    ["fd00::/64", "fd00::", "fd00::ffff:ffff:ffff:ffff", 64],
    ["fd00::/96", "fd00::", "fd00::ffff:ffff", 32],
    ["fd00::6/127", "fd00::6", "fd00::7", 1],
    ["fd00::7/128", "fd00::7", "fd00::7", 0],
    [`${lastV6}/128`, lastV6, lastV6, 0],
    ["::ffff:0.0.0.0/96", "::ffff:0.0.0.0", "::ffff:255.255.255.255", 32],
  ])("%s goes from %s to %s", (text, first, last, hostBits) => {
    const prefix = parsePrefix(text);
    expect(`${prefix.first} ${prefix.last}`).toBe(`${first} ${last}`);
    expect(prefix.hostBits).toBe(hostBits);
    expect(prefix.size).toBe(2n ** BigInt(hostBits));
    expect(`${prefix}`).toBe(text);
    expect(JSON.stringify([prefix])).toBe(`["${text}"]`);
  });

  it("around an address clears the host bits, and spans what division says", () => {
    fc.assert(
      fc.property(cidr, ([address, length]) => {
        const prefix = Prefix.around(address, length);
        const [first, last] = span(address, length);
        expect(prefix.family).toBe(address.family);
        expect(prefix.length).toBe(length);
        expect(prefix.network).toEqual(addressOf(address.family, first));
        expect(prefix.first).toEqual(prefix.network);
        expect(prefix.last).toEqual(addressOf(address.family, last));
        expect(prefix.size).toBe(last - first + 1n);
        expect(parsePrefix(`${prefix}`)).toEqual(prefix);
      }),
      { numRuns: 2000 },
    );
  });

  it("around an address is ipaddr.js' network and broadcast address", () => {
    fc.assert(
      fc.property(cidr, ([address, length]) => {
        const prefix = Prefix.around(address, length);
        const witness = address.family === 4 ? ipaddr.IPv4 : ipaddr.IPv6;
        const text = `${address}/${length}`;
        expect(bytes(prefix.first)).toEqual(witness.networkAddressFromCIDR(text).toByteArray());
        expect(bytes(prefix.last)).toEqual(witness.broadcastAddressFromCIDR(text).toByteArray());
      }),
      { numRuns: 1000 },
    );
  });

  it.each([
    ["10.0.0.1", 33],
    ["10.0.0.1", 128],
    ["10.0.0.1", -1],
    ["10.0.0.1", 1.5],
    ["10.0.0.1", Number.NaN],
    ["10.0.0.1", Number.POSITIVE_INFINITY],
    ["fd00::1", 129],
    ["fd00::1", -1],
  ])("around %s refuses the length %d", (text, length) => {
    const { code, message } = refusalOf(() => Prefix.around(parseAddress(text), length));
    expect(code).toBe("bad-prefix");
    expect(message).toContain(`/${length} is no prefix length for ${text}`);
    expect(message).toContain(text.includes(":") ? "from 0 to 128" : "from 0 to 32");
  });
});

describe("parseCidr and parsePrefix", () => {
  it.each([
    ["10.0.0.7/24", "10.0.0.7", "10.0.0.0/24"],
    ["10.0.0.7/0", "10.0.0.7", "0.0.0.0/0"],
    ["10.0.0.7/32", "10.0.0.7", "10.0.0.7/32"],
    ["10.0.0.7/31", "10.0.0.7", "10.0.0.6/31"],
    ["fd00::7/64", "fd00::7", "fd00::/64"],
    ["fd00::7/127", "fd00::7", "fd00::6/127"],
    ["FD00::7/128", "fd00::7", "fd00::7/128"],
    ["fd00::7/0", "fd00::7", "::/0"],
    ["::ffff:10.0.0.7/120", "::ffff:10.0.0.7", "::ffff:10.0.0.0/120"],
    ["::ffff:10.0.0.7/24", "::ffff:10.0.0.7", "::/24"],
  ])("%s is %s in %s", (text, address, prefix) => {
    const read = parseCidr(text);
    expect(parseCidr(text, { sloppy: true })).toEqual(read);
    expect(`${read.address} ${read.prefix}`).toBe(`${address} ${prefix}`);
    const whole = address === prefix.split("/")[0];
    if (whole) {
      expect(`${parsePrefix(text)}`).toBe(prefix);
      return;
    }
    const { code, message } = refusalOf(() => parsePrefix(text));
    expect(code).toBe("bad-prefix");
    expect(message).toBe(`${JSON.stringify(text)} has host bits set: the prefix around it is ${prefix}.`);
  });

  it.each([
    ["010.000.000.007/24", "10.0.0.7", "10.0.0.0/24"],
    ["10.0.0.7/024", "10.0.0.7", "10.0.0.0/24"],
    ["10.0.0.7/00", "10.0.0.7", "0.0.0.0/0"],
    ["0fd00::7/064", "fd00::7", "fd00::/64"],
  ])("%s is read only if sloppy", (text, address, prefix) => {
    const read = parseCidr(text, { sloppy: true });
    expect(`${read.address} ${read.prefix}`).toBe(`${address} ${prefix}`);
    expect(() => parseCidr(text)).toThrow();
  });

  // Go prints ::ffff:10.0.0.7/120 as 10.0.0.0/24: of the 120 bits, 96 are the mapping.
  it.each([
    ["::ffff:10.0.0.7/120", "10.0.0.7", "10.0.0.0/24"],
    ["::ffff:10.0.0.7/128", "10.0.0.7", "10.0.0.7/32"],
    ["::ffff:10.0.0.7/96", "10.0.0.7", "0.0.0.0/0"],
    ["::ffff:10.0.0.7/95", "::ffff:10.0.0.7", "::fffe:0:0/95"],
    ["::ffff:10.0.0.7/24", "::ffff:10.0.0.7", "::/24"],
    ["::ffff:10.0.0.7/0", "::ffff:10.0.0.7", "::/0"],
    ["10.0.0.7/24", "10.0.0.7", "10.0.0.0/24"],
    ["fd00::7/120", "fd00::7", "fd00::/120"],
  ])("unmapped, %s is %s in %s", (text, address, prefix) => {
    const read = parseCidr(text, { unmap: true });
    expect(`${read.address} ${read.prefix}`).toBe(`${address} ${prefix}`);
  });

  it("refuses, unmapped, a length that IPv6 has not", () => {
    const { code, message } = refusalOf(() => parseCidr("::ffff:10.0.0.7/129", { unmap: true }));
    expect(code).toBe("bad-prefix");
    expect(message).toContain("/129 is no prefix length for ::ffff:10.0.0.7");
  });

  it.each([
    ["", "bad-prefix", '"" has no prefix length: write it as address/length, like 10.0.0.0/24'],
    ["10.0.0.0", "bad-prefix", '"10.0.0.0" has no prefix length: write it as address/length, like 10.0.0.0/24'],
    ["fd00::", "bad-prefix", '"fd00::" has no prefix length: write it as address/length, like fd00::/64'],
    ["10.0.0.0/", "bad-prefix", '"10.0.0.0/" has no valid prefix length: "" is not'],
    ["10.0.0.0/a", "bad-prefix", '"10.0.0.0/a" has no valid prefix length: "a" is not'],
    ["10.0.0.0/-1", "bad-prefix", '"-1" is not'],
    ["10.0.0.0/+8", "bad-prefix", '"+8" is not'],
    ["10.0.0.0/8 ", "bad-prefix", '"8 " is not'],
    ["10.0.0.0/8\n", "bad-prefix", String.raw`"8\n" is not`],
    ["10.0.0.0/8.0", "bad-prefix", '"8.0" is not'],
    ["10.0.0.0/1e1", "bad-prefix", '"1e1" is not'],
    ["10.0.0.0/0x8", "bad-prefix", '"0x8" is not'],
    ["10.0.0.0/８", "bad-prefix", '"８" is not'],
    ["10.0.0.0/8/8", "bad-prefix", '"8/8" is not'],
    ["10.0.0.0/255.0.0.0", "bad-prefix", '"255.0.0.0" is not'],
    ["10.0.0.0/1000", "bad-prefix", "1000"],
    ["10.0.0.0/4294967304", "bad-prefix", "4294967304"],
    [`10.0.0.0/${"9".repeat(400)}`, "bad-prefix", "999"],
    ["10.0.0.0/33", "bad-prefix", "/33 is no prefix length for 10.0.0.0: it goes from 0 to 32"],
    ["fd00::/129", "bad-prefix", "/129 is no prefix length for fd00::: it goes from 0 to 128"],
    ["/24", "bad-address", '"" is not an IP address'],
    ["10.0.0/24", "bad-address", '"10.0.0" is not an IP address'],
    ["fd00:/64", "bad-address", '"fd00:" is not an IPv6 address'],
    ["10.0.0.0 /24", "bad-address", '"10.0.0.0 " is not an IP address'],
    ["fe80::1%eth0/64", "bad-address", "zone"],
  ])("refuses %.40j as %s, and names it", (text, code, part) => {
    for (const sloppy of [false, true]) {
      for (const read of [parseCidr, parsePrefix]) {
        const refusal = refusalOf(() => read(text, { sloppy }));
        expect(refusal.code).toBe(code);
        expect(refusal.message).toContain(part);
      }
    }
  });

  it("agree with ipaddr.js about what is a CIDR", () => {
    const digits = fc.oneof(fc.integer({ min: 0, max: 140 }).map(String), fc.constantFrom("", "-1", "a", "8/8", "1e1"));
    fc.assert(
      fc.property(arbitrary.address, digits, (address, length) => {
        const text = `${address}/${length}`;
        let accepted = true;
        try {
          parseCidr(text);
        } catch {
          accepted = false;
        }
        // ipaddr.js takes leading zeros in the length too; none are generated here.
        expect(accepted).toBe(ipaddr.isValidCIDR(text));
      }),
      { numRuns: 500 },
    );
  });
});

describe("contains, containsPrefix and overlaps", () => {
  it.each([
    ["0.0.0.0/0", "255.255.255.255", true],
    ["0.0.0.0/0", "::", false],
    ["::/0", lastV6, true],
    ["::/0", "0.0.0.0", false],
    ["::ffff:0.0.0.0/96", "10.0.0.1", false],
    ["10.0.0.0/8", "::ffff:10.0.0.1", false],
    ["10.0.0.6/31", "10.0.0.5", false],
    ["10.0.0.6/31", "10.0.0.7", true],
    ["10.0.0.6/31", "10.0.0.8", false],
    ["10.0.0.7/32", "10.0.0.7", true],
    ["10.0.0.7/32", "10.0.0.6", false],
    ["fd00::6/127", "fd00::7", true],
    ["fd00::6/127", "fd00::8", false],
    ["fd00::7/128", "fd00::7", true],
    ["fd00::7/128", "fd00:0:0:1::7", false],
    ["fd00::/64", "fd01::", false],
  ])("%s has %s: %s", (prefix, address, answer) => {
    expect(contains(parsePrefix(prefix), parseAddress(address))).toBe(answer);
  });

  /** A prefix, and an address in it, next to it, or anywhere. */
  const around = fc
    .tuple(cidr, arbitrary.address, arbitrary.count, fc.nat({ max: 3 }))
    .map(([[address, length], anywhere, count, which]) => {
      const [first, last] = span(address, length);
      const top = spaceOf(address.family) - 1n;
      const numbers = [
        first + (count % (last - first + 1n)),
        first === 0n ? 0n : first - 1n,
        last < top ? last + 1n : top,
      ];
      const number = numbers[which];
      const other = number === undefined ? anywhere : addressOf(address.family, number);
      return [Prefix.around(address, length), other] as const;
    });

  it("contains says what the numbers and ipaddr.js say", () => {
    fc.assert(
      fc.property(around, ([prefix, address]) => {
        const [first, last] = span(prefix.network, prefix.length);
        const same = prefix.family === address.family;
        const inside = same && first <= valueOf(address) && valueOf(address) <= last;
        expect(contains(prefix, address)).toBe(inside);
        // ipaddr.js throws between families.
        if (!same) return;
        const network = ipaddr.parse(`${prefix.network}`);
        expect(contains(prefix, address)).toBe(ipaddr.parse(`${address}`).match([network, prefix.length]));
      }),
      { numRuns: 2000 },
    );
  });

  it("containsPrefix and overlaps say what the numbers say", () => {
    const prefix = cidr.map(([address, length]) => Prefix.around(address, length));
    const related = fc.tuple(around, fc.nat({ max: 128 })).map(([[outer, address], length]) => {
      return [outer, Prefix.around(address, length % (bitsOf(address.family) + 1))] as const;
    });
    fc.assert(
      fc.property(fc.oneof(related, fc.tuple(prefix, prefix)), ([a, b]) => {
        const [aFirst, aLast] = span(a.network, a.length);
        const [bFirst, bLast] = span(b.network, b.length);
        const same = a.family === b.family;
        expect(containsPrefix(a, b)).toBe(same && aFirst <= bFirst && bLast <= aLast);
        expect(containsPrefix(b, a)).toBe(same && bFirst <= aFirst && aLast <= bLast);
        expect(overlaps(a, b)).toBe(same && aFirst <= bLast && bFirst <= aLast);
        expect(overlaps(b, a)).toBe(overlaps(a, b));
      }),
      { numRuns: 2000 },
    );
    expect(overlaps(parsePrefix("0.0.0.0/0"), parsePrefix("::/0"))).toBe(false);
    expect(containsPrefix(parsePrefix("::/0"), parsePrefix("10.0.0.0/8"))).toBe(false);
  });
});

it("comparePrefixes sorts by network, the larger block first, IPv4 before IPv6", () => {
  const sorted = ["0.0.0.0/0", "0.0.0.0/32", "10.0.0.0/8", "10.0.0.0/24", "10.0.1.0/24", "::/0", "::/128", "fd00::/8"];
  const read = sorted.map((text) => parsePrefix(text));
  expect(read.toReversed().sort(comparePrefixes).map(String)).toEqual(sorted);
  for (const [i, a] of read.entries()) {
    for (const [j, b] of read.entries()) expect(Math.sign(comparePrefixes(a, b))).toBe(Math.sign(i - j));
  }
});
