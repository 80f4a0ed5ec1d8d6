// What a node has of a range and whether it needs more or less (docs/decisions/0013, "Rebalancing"). Pure.
import { compareEntries, type Entry, isHeard, isTakenUp } from "./entry.ts";
import type { NodeFacts } from "./facts.ts";

/** `nothing`: no slice of today's shape. `short`: requests found nothing free. `low`: an eighth or less is free. */
export type Lack = "nothing" | "short" | "low";

export interface Need {
  readonly node: NodeFacts;
  /** All it has that stays, in order. */
  readonly entries: readonly Entry[];
  /** Of these what it may hand out of and will keep. */
  readonly good: readonly Entry[];
  readonly free: number;
  readonly used: number;
  readonly lack: Lack | undefined;
}

/** The nodes that may be given slices, by name. */
export function needsOf(nodes: readonly NodeFacts[], entries: readonly Entry[]): Need[] {
  const byNode = Map.groupBy(
    entries.filter(({ isRemoved }) => !isRemoved),
    ({ node }) => node,
  );
  return nodes
    .filter(({ isPresent, isLeaving, fenced }) => isPresent && isLeaving !== true && fenced === undefined)
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map((node) => needOf(node, byNode.get(node.name) ?? []));
}

function needOf(node: NodeFacts, entries: readonly Entry[]): Need {
  const good = entries.filter(isGood);
  const free = sum(good, ({ word }) => word?.free ?? 0);
  const used = sum(good, ({ word }) => word?.used ?? 0);
  const short = sum(good, ({ word }) => word?.short ?? 0);
  return { node, entries, good, free, used, lack: lackOf(good, { free, used, short }) };
}

function isGood({ phase, isStray, isConflict }: Entry): boolean {
  return phase === "active" && !isStray && !isConflict;
}

function lackOf(good: readonly Entry[], sums: Record<"free" | "used" | "short", number>): Lack | undefined {
  const { free, used, short } = sums;
  if (good.length === 0) return "nothing";
  // What it was granted and has not taken up yet may be all it needs.
  if (!good.every(isTakenUp)) return undefined;
  if (short > 0) return "short";
  return free * 8 < free + used ? "low" : undefined;
}

/** Nothing is free to it at all: worth a piece of another's slice. A slice of an older shape that still serves is no need. */
export function isNeedy({ lack, free, entries }: Need): boolean {
  if (lack === "short") return free === 0;
  return lack === "nothing" && !entries.some(({ phase }) => phase === "active");
}

/** Counting is exact enough up to here: half of an IPv6 slice is more than any node needs. */
const halfSliceMax = 2 ** 19;

/**
 * The one that the node should return: empty, heard, none of it lent, with half a slice and a quarter of the rest free. Smallest pieces first, then
 * the highest slice. It does not flap: more is granted below an eighth free, so an eighth must be taken before the node asks again.
 */
export function surplusOf(need: Need, sliceSize: bigint, isLender: (entry: Entry) => boolean): Entry | undefined {
  const { good, entries, lack } = need;
  if (lack !== undefined || good.length < 2 || !good.every(isTakenUp)) return undefined;
  if (entries.some(({ phase }) => phase === "returning")) return undefined;
  const half = Number(sliceSize > 2n * BigInt(halfSliceMax) ? BigInt(halfSliceMax) : (sliceSize + 1n) / 2n);
  const candidates = good.filter((entry) => isHeard(entry) && entry.word?.used === 0 && !isLender(entry));
  return candidates
    .sort((a, b) => b.block.length - a.block.length || compareEntries(b, a))
    .find(({ word }) => {
      const free = need.free - (word?.free ?? 0);
      return free >= half && free * 4 >= free + need.used;
    });
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, each) => total + of(each), 0);
}
