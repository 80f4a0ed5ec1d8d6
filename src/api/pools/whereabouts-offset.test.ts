import * as fc from "fast-check";
import { expect, test } from "vitest";

import { word } from "../../../test/net/arbitrary.ts";
import { type Address, distance, parseAddress, plus, V4Address, V6Address } from "../../net/address.ts";
import { type Cidr, parseCidr, Prefix } from "../../net/prefix.ts";
import { whereaboutsOffset, whereaboutsOrigins } from "./whereabouts-offset.ts";

test.each([
  ["10.0.0.5", "10.0.1.3", 248n], // should be 254
  ["10.0.0.5", "10.0.0.9", 4n],
  ["10.0.0.5", "10.0.0.3", 2n], // below the base: no sign
  ["10.0.0.0", "10.0.1.3", 259n],
  ["fd00::5", "fd00::1:0:0:5", 1n << 48n],
  ["fd00::5", "fd00::1:0:0:0:5", 0n], // 2^64, cut to 64 bits
])("from %s, %s is written as %s", (base, address, offset) => {
  expect(whereaboutsOffset(parseAddress(base), parseAddress(address))).toBe(offset);
});

test("without host bits it is the distance", () => {
  fc.assert(
    fc.property(word, fc.integer({ min: 0, max: 32 }), word, (base, length, other) => {
      const prefix = Prefix.around(new V4Address(base), length);
      const inside = plus(prefix.first, BigInt(other) % prefix.size)!;
      expect(whereaboutsOffset(prefix.first, inside)).toBe(distance(prefix.first, inside));
    }),
  );
});

/** Slow and plain: every address of the range is asked. */
function askAll({ address, prefix }: Cidr, offset: bigint): string[] {
  const found: string[] = [];
  for (let at: Address | undefined = prefix.first, n = 0n; at !== undefined && n < prefix.size; at = plus(at, 1), n++) {
    if (whereaboutsOffset(address, at) === offset) found.push(at.toString());
  }
  return found;
}

test("the origins of an offset are those that asking every address finds", () => {
  const bases = fc.oneof(
    word.map((value) => new V4Address(value)),
    fc.tuple(word, word).map(([high, low]) => new V6Address(0xfd00_0000, 0, high, low)),
  );
  fc.assert(
    fc.property(bases, fc.integer({ min: 0, max: 11 }), fc.nat(2047), (address, hostBits, target) => {
      const prefix = Prefix.around(address, (address.family === 4 ? 32 : 128) - hostBits);
      const range = { address, prefix };
      // An offset that some address has, and one that perhaps none has.
      for (const offset of [
        whereaboutsOffset(address, plus(prefix.first, BigInt(target) % prefix.size)!),
        BigInt(target),
      ]) {
        expect(whereaboutsOrigins(range, offset).map(String).sort()).toEqual(askAll(range, offset).sort());
      }
    }),
    { numRuns: 60 },
  );
});

test("in a /64 too, the address that was meant is among the origins", () => {
  fc.assert(
    fc.property(word, word, word, word, (baseHigh, baseLow, high, low) => {
      const address = new V6Address(0xfd00_0000, 1, baseHigh, baseLow);
      const meant = new V6Address(0xfd00_0000, 1, high, low);
      const origins = whereaboutsOrigins(
        { address, prefix: Prefix.around(address, 64) },
        whereaboutsOffset(address, meant),
      );
      expect(origins.map(String)).toContain(meant.toString());
    }),
  );
});

test("wider ranges and longer offsets are not searched", () => {
  expect(whereaboutsOrigins(parseCidr("fd00::5/63"), 4n)).toEqual([]);
  expect(whereaboutsOrigins(parseCidr("fd00::5/64"), 1n << 64n)).toEqual([]);
});
