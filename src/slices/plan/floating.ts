// The part of a range that is no node's: the highest aligned block of its size, assigned once it has no slice. Pure.
import { floatingNode } from "../../api/slices/slice-grant.ts";
import { common, IntervalSet } from "../../net/interval-set.ts";
import { intervalOf } from "../../net/interval.ts";
import { containsPrefix, overlaps, Prefix } from "../../net/prefix.ts";
import type { Entry } from "./entry.ts";
import type { PoolFacts } from "./facts.ts";

export interface FloatingPlan {
  /** The blocks in the status from now on. */
  readonly assigned: readonly Prefix[];
  /** The blocks that no node may get, assigned or not yet. */
  readonly kept: readonly Prefix[];
  /** The block that may be taken from. */
  readonly open?: Prefix;
}

export function wantedFloating({ range, floatingLength, wanted }: PoolFacts): Prefix | undefined {
  return wanted && floatingLength !== undefined ? Prefix.around(range.last, floatingLength) : undefined;
}

export function planFloating(facts: PoolFacts, entries: readonly Entry[]): FloatingPlan {
  // Shared again: its holds are in the reservation ledger, as all of the range will be.
  if (!facts.wanted) return { assigned: [], kept: [] };
  const before = facts.allocations.filter(({ node }) => node === floatingNode).map(({ block }) => block);
  const wanted = wantedFloating(facts);
  const isWanted = (block: Prefix) => wanted !== undefined && containsPrefix(wanted, block);
  const isOldInUse = (block: Prefix) =>
    facts.floatingInUse?.some((each) => overlaps(each, block) && !isWanted(each)) ?? true;
  const staying = before.filter((block) => !isWanted(block) && isOldInUse(block));
  if (wanted === undefined) return { assigned: staying, kept: staying };

  const forgotten = IntervalSet.of(facts.forgotten ?? []);
  // Asked of a block that was assigned before, too: after a restore a slice may have been granted there since.
  const isTaken = (part: Prefix) =>
    common([intervalOf(part)], forgotten).count > 0 || entries.some(({ block }) => overlaps(block, part));
  const isOurs = before.some((block) => containsPrefix(block, wanted));
  if (!isTaken(wanted) && (isOurs || facts.mayGrant)) {
    const assigned = staying.length > 0 ? staying : [wanted];
    return { assigned, kept: [...assigned, wanted], open: wanted };
  }
  // It grows: the old part goes on until the slices in the new part are drained.
  const inside = before.filter(isWanted);
  const open = inside.find((part) => !isTaken(part));
  return { assigned: [...staying, ...inside], kept: [...staying, wanted], ...(open !== undefined && { open }) };
}
