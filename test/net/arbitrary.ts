// fast-check generators of addresses, leaning to where arithmetic goes wrong: words next to 0, 2^31 and 2^32, so that
// sums carry and differences borrow through several words. And `valueOf`, the number of an address by a way of its own.
import * as fc from "fast-check";

import { type Address, type Family, V4Address, V6Address } from "../../src/net/address.ts";

export const word: fc.Arbitrary<number> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(0, 0xffff_ffff) },
  { weight: 2, arbitrary: fc.constantFrom(1, 2, 0xffff, 0x1_0000, 0x7fff_ffff, 0x8000_0000, 0xffff_0000, 0xffff_fffe) },
  { weight: 2, arbitrary: fc.integer({ min: 0, max: 0xffff_ffff }) },
);

export const v4: fc.Arbitrary<V4Address> = word.map((value) => new V4Address(value));

export const v6: fc.Arbitrary<V6Address> = fc
  .tuple(word, word, word, word)
  .map(([w0, w1, w2, w3]) => new V6Address(w0, w1, w2, w3));

export const address: fc.Arbitrary<Address> = fc.oneof(v4, v6);

/** Two of one family. */
export const pair: fc.Arbitrary<readonly [Address, Address]> = fc.oneof(fc.tuple(v4, v4), fc.tuple(v6, v6));

/** The powers of two at which a representation ends: a word, a safe integer, int64, uint64, three words, the space. */
const brinks = [0n, 1n << 31n, 1n << 32n, 1n << 53n, 1n << 63n, 1n << 64n, 1n << 96n, 1n << 128n];

/** How far to go: 0 to beyond the IPv6 space. */
export const count: fc.Arbitrary<bigint> = fc.oneof(
  fc
    .tuple(fc.constantFrom(...brinks), fc.bigInt({ min: -3n, max: 3n }))
    .map(([brink, off]) => (brink + off < 0n ? -off : brink + off)),
  fc.bigInt({ min: 0n, max: 1n << 33n }),
  fc.bigInt({ min: 0n, max: 1n << 129n }),
);

/** One past the last number of the family's space. */
export function spaceOf(family: Family): bigint {
  return family === 4 ? 1n << 32n : 1n << 128n;
}

export function valueOf(each: Address): bigint {
  const words = each.family === 4 ? [each.value] : [each.w0, each.w1, each.w2, each.w3];
  return BigInt(`0x${words.map((part) => part.toString(16).padStart(8, "0")).join("")}`);
}

export function addressOf(family: Family, value: bigint): Address {
  const digits = value.toString(16).padStart(family === 4 ? 8 : 32, "0");
  const at = (index: number) => Number.parseInt(digits.slice(8 * index, 8 * index + 8), 16);
  return family === 4 ? new V4Address(at(0)) : new V6Address(at(0), at(1), at(2), at(3));
}
