// How many slices a set of addresses touches, without listing them. Pure.
import { common, IntervalSet } from "../../net/interval-set.ts";
import { intervalOf } from "../../net/interval.ts";
import { Prefix } from "../../net/prefix.ts";
import type { SlicePlan } from "./facts.ts";

/** The slices that have any of these addresses, as a set of all their addresses. */
function slicesAround(addresses: IntervalSet, sliceLength: number): IntervalSet {
  const set = new IntervalSet();
  for (const { first, last } of addresses) {
    set.add({ first: Prefix.around(first, sliceLength).first, last: Prefix.around(last, sliceLength).last });
  }
  return set;
}

/** A slice of which any part is assigned counts as assigned. */
export function totalsOf(useful: IntervalSet, sliceLength: number, blocks: readonly Prefix[]): SlicePlan["totals"] {
  const all = slicesAround(useful, sliceLength);
  const touched = slicesAround(IntervalSet.of(blocks.map(intervalOf)), sliceLength);
  const total = countOf(all, sliceLength);
  const assigned = countOf(common(touched, all), sliceLength);
  return { total, assigned, free: total - assigned };
}

function countOf(slices: IntervalSet, sliceLength: number): bigint {
  for (const { first } of slices) return slices.size / Prefix.around(first, sliceLength).size;
  return 0n;
}
