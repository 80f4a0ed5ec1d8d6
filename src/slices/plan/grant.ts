// The grant that an entry should carry. Pure. Promised: the same value as before where nothing changes, else a greater
// serial; `without` only grows while a generation lasts.
import type { SliceGrant } from "../../api/slices/slice-grant.ts";
import { common, type IntervalSet, union } from "../../net/interval-set.ts";
import { formatInterval, intervalOf, parseBlock } from "../../net/interval.ts";
import { orNone } from "../../net/or-none.ts";
import { comparePrefixes } from "../../net/prefix.ts";
import type { Entry } from "./entry.ts";

/** Of one grant. 1,024 IPv6 intervals of 79 characters are 80 KiB; with `without` an object stays below its 256 KiB. */
const takenMax = 1024;

export interface GrantContext {
  readonly reserved: IntervalSet;
  /** With addresses that no definition hands out: a node must neither count them as free nor lend them. */
  readonly closed: IntervalSet;
  /** Nothing is widened: after a restore daemons have yet to record again what their pods hold. */
  readonly isWaiting: boolean;
  readonly nextGeneration: () => number;
}

export function grantOf(entry: Entry, context: GrantContext): SliceGrant {
  const { isWaiting, nextGeneration } = context;
  const { grant, isOutdated, isBehind } = entry;
  // Its journal works by a later grant, which leaves out addresses that are not recorded again yet.
  if (grant !== undefined && (isOutdated || isBehind) && isWaiting && entry.phase === "active") return grant;
  const content = {
    phase: entry.phase,
    without: withoutOf(entry),
    // A slice that drains or returns hands nothing out: its own moved holds would change the grant again and again.
    taken: grant !== undefined && entry.phase !== "active" ? grant.taken : takenOf(entry, context),
    ...(entry.lend !== undefined && entry.phase === "active" && { lend: entry.lend }),
    ...(entry.exhausted !== undefined && entry.phase === "active" && { exhausted: entry.exhausted }),
  };
  if (grant === undefined) return { generation: nextGeneration(), serial: 1, ...content };
  if (!isOutdated && !isBehind && isSame(grant, content)) return grant;
  const serial = 1 + Math.max(grant.serial, entry.word?.serial ?? 0);
  return { generation: isOutdated ? nextGeneration() : grant.generation, serial, ...content };
}

function withoutOf({ grant, lent, lentBefore }: Entry): string[] {
  if (grant !== undefined && lent.length === lentBefore.length) return grant.without;
  return [...new Set([...(grant?.without ?? []), ...[...lent].sort(comparePrefixes).map(String)])];
}

/** Above the limit it names reserved addresses only (requests know useless ones); still above, the slice's rest. */
function takenOf({ block, grant }: Entry, { reserved, closed, isWaiting }: GrantContext): string[] {
  // An interval that cannot be read was written by a hand, and the node does not go by the grant.
  const before = ((isWaiting && grant?.taken) || []).flatMap((each) => orNone(() => parseBlock(each)) ?? []);
  const inside = (set: IntervalSet) => [...union(common([intervalOf(block)], set), before)];
  const all = inside(closed);
  const found = all.length <= takenMax ? all : inside(reserved);
  if (found.length <= takenMax) return found.map(formatInterval);
  const kept = found.slice(0, takenMax - 1);
  return [...kept, { first: found[takenMax - 1]!.first, last: block.last }].map(formatInterval);
}

function isSame(grant: SliceGrant, content: Omit<SliceGrant, "generation" | "serial">): boolean {
  const restOf = ({ phase, lend, exhausted }: typeof content) => [phase, lend?.ask, lend?.addresses, exhausted].join();
  const isSameRest = restOf(grant) === restOf(content);
  return isSameRest && isEqual(grant.without, content.without) && isEqual(grant.taken, content.taken);
}

function isEqual(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((each, i) => each === b[i]);
}
