// The part of a range that belongs to no node: the highest aligned block of its size, assigned once no slice is left in it. Pure.
import { floatingNode } from "../../api/slices/slice-grant.ts";
import { common, IntervalSet } from "../../net/interval-set.ts";
import { intervalOf } from "../../net/interval.ts";
import { containsPrefix, overlaps, Prefix } from "../../net/prefix.ts";
import type { Entry } from "./entry.ts";
import type { PoolFacts } from "./facts.ts";

export interface FloatingPlan {
  /** What is in the status from now on. */
  readonly assigned: readonly Prefix[];
  /** What no node may get, assigned or not yet. */
  readonly kept: readonly Prefix[];
  /** What may be taken from. */
  readonly open?: Prefix;
}

export function wantedFloating({ range, floatingLength, wanted }: PoolFacts): Prefix | undefined {
  return wanted && floatingLength !== undefined ? Prefix.around(range.last, floatingLength) : undefined;
}

export function planFloating(facts: PoolFacts, entries: readonly Entry[]): FloatingPlan {
  // Shared again: what is held in it is in the reservation ledger, as all of the range will be.
  if (!facts.wanted) return { assigned: [], kept: [] };
  const before = facts.allocations.filter(({ node }) => node === floatingNode).map(({ block }) => block);
  const wanted = wantedFloating(facts);
  const isWanted = (block: Prefix) => wanted !== undefined && containsPrefix(wanted, block);
  const isOldInUse = (block: Prefix) =>
    facts.floatingInUse?.some((each) => overlaps(each, block) && !isWanted(each)) ?? true;
  const staying = before.filter((block) => !isWanted(block) && isOldInUse(block));
  if (wanted === undefined) return { assigned: staying, kept: staying };

  const forgotten = IntervalSet.of(facts.forgotten ?? []);
  // After a restore also in what was assigned before: a slice was granted there since.
  const isTaken = (part: Prefix) =>
    common([intervalOf(part)], forgotten).count > 0 || entries.some(({ block }) => overlaps(block, part));
  const isOurs = before.some((block) => containsPrefix(block, wanted));
  if (!isTaken(wanted) && (isOurs || facts.mayGrant)) {
    const assigned = staying.length > 0 ? staying : [wanted];
    return { assigned, kept: [...assigned, wanted], open: wanted };
  }
  // Grows: until the slices in the new part are drained, the old part goes on.
  const inside = before.filter(isWanted);
  const open = inside.find((part) => !isTaken(part));
  return { assigned: [...staying, ...inside], kept: [...staying, wanted], ...(open !== undefined && { open }) };
}
