import * as fc from "fast-check";
import { describe, expect, it, test } from "vitest";

import { apiRefusalOf } from "../../../test/api/refusal.ts";
import { address, count, valueOf } from "../../../test/net/arbitrary.ts";
import { bitsOf, equal, fromBigInt, parseAddress, plus } from "../../net/address.ts";
import { parseCidr, Prefix } from "../../net/prefix.ts";
import { allocationKey, readAllocationKey } from "./allocation-key.ts";

const key = (range: string, at: string, forWhereabouts = false) =>
  allocationKey(parseCidr(range), parseAddress(at), { forWhereabouts });

function read(range: string, text: string) {
  const reading = readAllocationKey(parseCidr(range), text);
  if (typeof reading === "string") return reading;
  return [reading.address, ...reading.others].join(" ") + (reading.isWrapped ? " or 2^64 further" : "");
}

describe("written", () => {
  test.each([
    ["10.0.0.0/8", "10.0.0.0", "0"],
    ["10.0.0.0/8", "10.1.0.2", "65538"],
    ["10.0.0.5/23", "10.0.1.3", "254"], // whereabouts: 248
    ["fd00::/64", "fd00::8000:0:0:0", "9223372036854775808"],
    ["fd00::/32", "fd00:0:1::", "1208925819614629174706176"],
    ["::/0", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "340282366920938463463374607431768211455"],
  ])("in %s, %s is %s", (range, at, expected) => {
    expect(key(range, at)).toBe(expected);
  });

  test.each([
    ["10.0.0.0/24", "10.0.1.0", false, "not-in-range", /10\.0\.1\.0 is not in the pool's spec.range 10\.0\.0\.0\/24/],
    ["10.0.0.0/24", "fd00::1", false, "not-in-range", /fd00::1 is not in/],
    [
      "10.0.0.5/24",
      "10.0.0.4",
      false,
      "not-in-range",
      /10\.0\.0\.4 is below 10\.0\.0\.5.*move the pool to 10\.0\.0\.0\/24/,
    ],
    ["fd00::/64", "fd00::8000:0:0:0", true, "offset-too-large", /below 2\^63 only/],
  ])("in %s, %s is refused", (range, at, forWhereabouts, code, words) => {
    const refusal = apiRefusalOf(() => key(range, at, forWhereabouts));
    expect(refusal.code).toBe(code);
    expect(refusal.message).toMatch(words);
  });

  it("while whereabouts is active, up to what it reads", () => {
    expect(key("fd00::/64", "fd00::7fff:ffff:ffff:ffff", true)).toBe("9223372036854775807");
  });
});

describe("read", () => {
  test.each([
    ["10.0.0.0/24", "7", "10.0.0.7"],
    ["10.0.0.0/24", "007", "10.0.0.7"],
    ["10.0.0.0/24", "+7", "10.0.0.7"],
    ["fd00::/64", "9223372036854775808", "fd00::8000:0:0:0"],
    ["fd00::/64", "18446744073709551615", "fd00::ffff:ffff:ffff:ffff"],
    ["fd00::/32", "5", "fd00::5 or 2^64 further"],
    ["fd00::/32", "1208925819614629174706176", "fd00:0:1::"],
    // Host bits: what whereabouts takes it for, then what it may have been.
    ["10.0.0.5/23", "248", "10.0.0.253 10.0.1.3"],
    ["10.0.0.5/24", "2", "10.0.0.7 10.0.0.3"],
    ["10.0.0.200/24", "100", "10.0.0.100"],
    ["10.0.1.3/23", "254", "10.0.0.5 10.0.0.255"], // the fork subtracts rightly, and drops the sign too
    ["10.0.0.5/24", "100", "10.0.0.105"],
  ])("in %s, %s is %s", (range, text, meaning) => {
    expect(read(range, text)).toBe(meaning);
  });

  test.each([
    ["10.0.0.0/24", "256", 'the key "256" leads out of 10.0.0.0/24, counted from 10.0.0.0'],
    ["10.0.0.0/24", "-1", 'the key "-1" is not a decimal offset'],
    ["10.0.0.0/24", "", 'the key "" is not a decimal offset'],
    ["10.0.0.0/24", "10.0.0.7", 'the key "10.0.0.7" is not a decimal offset'],
    ["fd00::/64", "9".repeat(40), `the key "${"9".repeat(40)}" is not a decimal offset`],
  ])("in %s, %s means nothing", (range, text, sentence) => {
    expect(read(range, text)).toBe(sentence);
  });
});

/** Any address of any range, and how far it is from the range's own, by numbers. */
const placed = fc.tuple(address, fc.nat(), count).map(([base, length, far]) => {
  const prefix = Prefix.around(base, length % (bitsOf(base.family) + 1));
  return { base, prefix, at: plus(prefix.first, far % prefix.size)! };
});

test("what was written is read back, over the whole space", () => {
  fc.assert(
    fc.property(placed, ({ prefix, at }) => {
      const range = { address: prefix.network, prefix };
      const text = allocationKey(range, at);
      expect(text).toBe((valueOf(at) - valueOf(prefix.network)).toString());
      const reading = readAllocationKey(range, text);
      expect(typeof reading !== "string" && equal(reading.address, at) && reading.others.length === 0).toBe(true);
    }),
  );
});

test("with host bits too, or it is refused", () => {
  fc.assert(
    fc.property(placed, ({ base, prefix, at }) => {
      const range = { address: base, prefix };
      if (valueOf(at) < valueOf(base)) expect(apiRefusalOf(() => allocationKey(range, at)).code).toBe("not-in-range");
      else {
        const reading = readAllocationKey(range, allocationKey(range, at));
        expect(typeof reading !== "string" && reading.address.toString()).toBe(at.toString());
      }
    }),
  );
});

test("no meaning lies outside the range", () => {
  fc.assert(
    fc.property(placed, count, ({ base, prefix }, offset) => {
      const reading = readAllocationKey({ address: base, prefix }, offset.toString());
      if (typeof reading === "string") return;
      for (const each of [reading.address, ...reading.others]) {
        const network = fromBigInt(prefix.family, valueOf(prefix.first));
        expect(valueOf(each) - valueOf(network)).toBeGreaterThanOrEqual(0n);
        expect(valueOf(each)).toBeLessThanOrEqual(valueOf(prefix.last));
      }
    }),
  );
});
