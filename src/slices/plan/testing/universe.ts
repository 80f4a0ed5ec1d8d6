// Small sets of addresses, one by one, for the simulation's counts.
import { next } from "../../../net/address.ts";
import { compare } from "../../../net/address.ts";
import type { Interval } from "../../../net/interval.ts";

/** At most 4,096: a simulation that lists more is a mistake. */
export function addressesOf(intervals: Iterable<Interval>): string[] {
  const found: string[] = [];
  for (const { first, last } of intervals) {
    for (let at = first; ; at = next(at)!) {
      found.push(String(at));
      if (found.length > 4096) throw new Error(`the simulation lists too many addresses, at ${at}`);
      if (compare(at, last) === 0) break;
    }
  }
  return found;
}
