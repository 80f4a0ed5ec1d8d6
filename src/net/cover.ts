// The fewest prefixes that cover an interval exactly, in order.
import { bitsOf, compare, distance, fromBigInt, toBigInt } from "./address.ts";
import type { Interval } from "./interval.ts";
import { Prefix } from "./prefix.ts";

/** At most 2 x 128 prefixes, for an interval that is off by one at both ends. */
export function prefixesOf({ first, last }: Interval): Prefix[] {
  const bits = bitsOf(first.family);
  const result: Prefix[] = [];
  let at = first;
  for (;;) {
    const prefix = Prefix.around(
      at,
      bits - Math.min(trailingZeros(toBigInt(at), bits), log2Floor(distance(at, last) + 1n)),
    );
    result.push(prefix);
    if (compare(prefix.last, last) === 0) return result;
    at = fromBigInt(first.family, toBigInt(prefix.last) + 1n);
  }
}

function trailingZeros(value: bigint, bits: number): number {
  let count = 0;
  while (count < bits && (value & (1n << BigInt(count))) === 0n) count += 1;
  return count;
}

function log2Floor(value: bigint): number {
  return value.toString(2).length - 1;
}
