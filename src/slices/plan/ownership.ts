// Which entries lie inside others rightly, which overlap, and what is nobody's. Pure. Prefixes are nested or apart: in
// order (the larger first) every overlapping entry that comes before an entry encloses it. Of two grants of an address
// the later generation counts: the earlier one was given up since, and is here again because etcd was restored.
import { covers } from "../../api/slices/slice-grant.ts";
import { compare } from "../../net/address.ts";
import { difference, IntervalSet } from "../../net/interval-set.ts";
import { intervalOf } from "../../net/interval.ts";
import { containsPrefix, type Prefix } from "../../net/prefix.ts";
import type { Entry } from "./entry.ts";

/** Marks the losers of overlaps and the pieces without a slice around them; answers the overlaps in sentences. */
export function judgeOverlaps(entries: readonly Entry[], isShaped: (block: Prefix) => boolean): string[] {
  const conflicts: string[] = [];
  // An entry that this plan removes is whole until it is gone.
  for (const entry of entries) if (!entry.isInUse && !entry.isRemoved) spare(entry, entries);
  const around: Entry[] = [];
  for (const entry of entries) {
    while (around.length > 0 && !containsPrefix(around.at(-1)!.block, entry.block)) around.pop();
    let isPiece = false;
    for (const outer of around) {
      if (covers(outer.lentBefore, entry.block)) isPiece ||= !outer.isRemoved;
      // A piece may be lent on as a whole, to a node whose name comes before.
      else if (covers(entry.lentBefore, outer.block)) continue;
      else if (!overlap(outer, entry)) continue;
      // Granted inside an earlier grant: the piece was lent, and the object around it is of a copy from before that.
      else if (entry.block.length > outer.block.length && generationOf(entry) > generationOf(outer)) {
        outer.lent = [...outer.lent, entry.block];
        isPiece = true;
      } else conflicts.push(settle(outer, entry));
    }
    entry.isStray = !isShaped(entry.block) && !isPiece;
    around.push(entry);
  }
  return conflicts;
}

/** An entry that is not granted yet will be granted without the entries of other nodes inside it. */
function spare(entry: Entry, entries: readonly Entry[]): void {
  const isSame = ({ block }: Entry) => block.length === entry.block.length;
  const inside = insideOf(entries, entry.block, 0).filter(
    (each) => each !== entry && (!isSame(each) || (each.isInUse && !each.isRemoved)),
  );
  entry.lentBefore = outermost(inside);
  entry.lent = entry.lentBefore;
}

/** A slice that was never granted is granted without what lies inside it: no conflict, unless it is the same block. */
function overlap(outer: Entry, inner: Entry): boolean {
  if (outer.isRemoved || inner.isRemoved) return false;
  return outer.isInUse || outer.block.length === inner.block.length;
}

function generationOf({ grant }: Entry): number {
  return grant?.generation ?? 0;
}

function settle(outer: Entry, inner: Entry): string {
  // Of one generation, or never granted: an entry of the status outranks one that only has an object; then the earlier.
  const order = generationOf(outer) - generationOf(inner) || Number(outer.isAssigned) - Number(inner.isAssigned);
  const [winner, loser] = order >= 0 ? [outer, inner] : [inner, outer];
  loser.isConflict = true;
  const what = `${loser.block} of node ${loser.node} overlaps ${winner.block} of node ${winner.node}`;
  const result = `nothing new is handed out of ${loser.block} and what is held there moves to reservations`;
  return `${what}: ${result}. If both are in use, look for an address that two pods have: holdfast check.`;
}

/** Addresses that some journal may hand out, or may have until this plan is carried out. */
export function occupiedBy(entries: readonly Entry[]): IntervalSet {
  const set = new IntervalSet();
  for (const { block, lentBefore } of entries) {
    if (lentBefore.length === 0) set.add(intervalOf(block));
    else for (const each of difference([intervalOf(block)], lentBefore.map(intervalOf))) set.add(each);
  }
  return set;
}

/** The entries inside the block that are longer by so many bits, in order. `entries` are in order. */
export function insideOf(entries: readonly Entry[], block: Prefix, bits = 1): Entry[] {
  const found: Entry[] = [];
  for (let i = lowerBound(entries, block); i < entries.length; i++) {
    const entry = entries[i]!;
    if (!containsPrefix(block, entry.block)) {
      if (compare(entry.block.network, block.network) > 0) break;
      continue;
    }
    if (entry.block.length >= block.length + bits) found.push(entry);
  }
  return found;
}

/** The entries that lie in no other. `entries` are in order. */
export function outermost(entries: readonly Entry[]): Prefix[] {
  const result: Prefix[] = [];
  for (const { block } of entries) {
    const last = result.at(-1);
    if (last === undefined || !containsPrefix(last, block)) result.push(block);
  }
  return result;
}

function lowerBound(entries: readonly Entry[], block: Prefix): number {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compare(entries[middle]!.block.network, block.network) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
