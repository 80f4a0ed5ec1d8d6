// The fewest prefixes that cover an interval exactly, in order.
import { type Address, bitsOf, compare, distance, next, toBigInt } from "./address.ts";
import type { Interval } from "./interval.ts";
import { Prefix } from "./prefix.ts";

/** At most 2 x 128 prefixes, for an interval that is off by one at both ends. */
export function prefixesOf({ first, last }: Interval): Prefix[] {
  const bits = bitsOf(first.family);
  const result: Prefix[] = [];
  for (let at: Address | undefined = first; at !== undefined && compare(at, last) <= 0;) {
    const hostBits = Math.min(trailingZeros(toBigInt(at), bits), log2Floor(distance(at, last) + 1n));
    const prefix: Prefix = Prefix.around(at, bits - hostBits);
    result.push(prefix);
    at = next(prefix.last);
  }
  return result;
}

function trailingZeros(value: bigint, bits: number): number {
  let count = 0;
  while (count < bits && (value & (1n << BigInt(count))) === 0n) count += 1;
  return count;
}

function log2Floor(value: bigint): number {
  return value.toString(2).length - 1;
}
