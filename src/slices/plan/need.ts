// A node's part of a range, its need for more or less (docs/decisions/0013, "Rebalancing"), who is asked to lend. Pure.
import { compareEntries, type Entry, isHeard, isTakenUp } from "./entry.ts";
import type { NodeFacts } from "./facts.ts";

/** `nothing`: no slice of today's shape. `short`: requests found nothing free. `low`: an eighth or less is free. */
export type Lack = "nothing" | "short" | "low";

export interface Need {
  readonly node: NodeFacts;
  /** All its entries that stay, in order. */
  readonly entries: readonly Entry[];
  /** Its entries that it may hand out of and will keep. */
  readonly good: readonly Entry[];
  readonly free: number;
  readonly used: number;
  readonly lack: Lack | undefined;
}

/** The nodes that may be given slices, by name. */
export function needsOf(nodes: readonly NodeFacts[], entries: readonly Entry[]): Need[] {
  const staying = entries.filter(({ isRemoved }) => !isRemoved);
  const byNode = Map.groupBy(staying, ({ node }) => node);
  return nodes
    .filter(({ isPresent, isLeaving, fenced }) => isPresent && isLeaving !== true && fenced === undefined)
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map((node) => needOf(node, byNode.get(node.name) ?? []));
}

function needOf(node: NodeFacts, entries: readonly Entry[]): Need {
  const good = entries.filter(({ phase, isStray, isConflict }) => phase === "active" && !isStray && !isConflict);
  const [free, used, short] = [sumOf(good, "free"), sumOf(good, "used"), sumOf(good, "short")];
  return { node, entries, good, free, used, lack: lackOf(good, free, used, short) };
}

function sumOf(entries: readonly Entry[], count: "free" | "used" | "short"): number {
  return entries.reduce((total, { word }) => total + (word?.[count] ?? 0), 0);
}

function lackOf(good: readonly Entry[], free: number, used: number, short: number): Lack | undefined {
  if (good.length === 0) return "nothing";
  // Slices that were granted and are not taken up yet may be all it needs; or those that a node held back in its sleep.
  if (!good.every((each) => isTakenUp(each) && !each.isBehind)) return undefined;
  if (short > 0) return "short";
  return free * 8 < free + used ? "low" : undefined;
}

/** Nothing at all is free to it: worth a piece of another's slice. A slice of an older shape that serves is no need. */
export function isNeedy({ lack, free, entries }: Need): boolean {
  if (lack === "short") return free === 0;
  return lack === "nothing" && !entries.some(({ phase }) => phase === "active");
}

/** Counting is exact enough up to here: half of an IPv6 slice is more than any node needs. */
const halfSliceMax = 2 ** 19;

/** The entry that the node should return: empty, heard, not lent; half a slice and a quarter of the rest stay free. */
export function surplusOf(need: Need, sliceSize: bigint, isLender: (entry: Entry) => boolean): Entry | undefined {
  // No flapping: more is granted below an eighth free, so an eighth must be taken before the node asks again.
  const { good, entries, lack } = need;
  if (lack !== undefined || good.length < 2 || !good.every(isTakenUp)) return undefined;
  if (entries.some(({ phase }) => phase === "returning")) return undefined;
  const half = Number(sliceSize > 2n * BigInt(halfSliceMax) ? BigInt(halfSliceMax) : (sliceSize + 1n) / 2n);
  const candidates = good.filter((entry) => isHeard(entry) && entry.word?.used === 0 && !isLender(entry));
  // Smallest pieces first, then the highest slice.
  return candidates
    .sort((a, b) => b.block.length - a.block.length || compareEntries(b, a))
    .find(({ word }) => {
      const free = need.free - (word?.free ?? 0);
      return free >= half && free * 4 >= free + need.used;
    });
}

/** Of one slice. 4,096 IPv6 CIDRs of 43 characters are 180 KiB, and all annotations of an object may be 256 KiB. */
const piecesMax = 4096;

/** Asks for a piece for each `needy` node. `coming`: blocks free in the next plan. Result: pieces that will come. */
export function askLenders(needs: readonly Need[], needy: ReadonlySet<string>, sliceSize: bigint, coming: number) {
  // An ask that cannot be met any more is withdrawn; a silent node's ask stays, and nobody waits for it.
  const lenders = needs.filter(({ node }) => node.isSilent !== true);
  let supply = coming;
  const candidates: { readonly entry: Entry; readonly nodeFree: number }[] = [];
  for (const { node, good, free } of lenders) {
    for (const entry of good) {
      const isAsked = entry.lend !== undefined;
      const isGiven = entry.lent.length > entry.lentBefore.length;
      const hasFree = (entry.word?.free ?? 0) > 0;
      // A node that has read the ask and has nothing free will not give anything.
      const mayAnswer = !needy.has(node.name) && (!isHeard(entry) || hasFree);
      const mayBeAsked = !needy.has(node.name) && isHeard(entry) && hasFree && entry.lent.length < piecesMax;
      if (isGiven || (isAsked && supply < needy.size && mayAnswer)) supply += 1;
      else {
        entry.lend = undefined;
        if (!isAsked && mayBeAsked) candidates.push({ entry, nodeFree: free });
      }
    }
  }
  candidates.sort((a, b) => b.nodeFree - a.nodeFree || (b.entry.word?.free ?? 0) - (a.entry.word?.free ?? 0));
  for (const { entry } of candidates.slice(0, Math.max(0, needy.size - supply))) {
    // Half of the free addresses, at most half a slice, at least one address.
    const half = Math.ceil((entry.word?.free ?? 0) / 2);
    const most = sliceSize / 2n;
    const addresses = Math.max(1, BigInt(half) > most ? Number(most) : half);
    entry.lend = { ask: (entry.grant?.serial ?? 0) + 1, addresses };
    supply += 1;
  }
  return supply;
}
