// Which slices are asked for a piece when none is free and some nodes have nothing to hand out: one ask per node in need. An ask that cannot
// be met any more is withdrawn; a silent node's ask stays and nobody waits for it. Pure.
import { type Entry, isHeard } from "./entry.ts";
import type { Need } from "./need.ts";

/** Of one slice. 4,096 IPv6 CIDRs of 43 characters are 180 KiB, and all annotations of an object may be 256 KiB. */
const piecesMax = 4096;

/** Writes `lend` onto entries. `needy`: nodes that get nothing else in this plan. `coming`: blocks free in the next. Result: how many will come. */
export function askLenders(
  needs: readonly Need[],
  needy: ReadonlySet<string>,
  sliceSize: bigint,
  coming: number,
): number {
  const lenders = needs.filter(({ node }) => node.isSilent !== true);
  let supply = coming;
  const candidates: { readonly entry: Entry; readonly nodeFree: number }[] = [];
  for (const { node, good, free } of lenders) {
    for (const entry of good) {
      const isAsked = entry.lend !== undefined;
      const isGiven = entry.lent.length > entry.lentBefore.length;
      if (isGiven) supply += 1;
      else if (isAsked && supply < needy.size && !needy.has(node.name) && mayAnswer(entry)) supply += 1;
      else {
        entry.lend = undefined;
        if (!isAsked && !needy.has(node.name) && mayBeAsked(entry)) candidates.push({ entry, nodeFree: free });
      }
    }
  }
  candidates.sort((a, b) => b.nodeFree - a.nodeFree || (b.entry.word?.free ?? 0) - (a.entry.word?.free ?? 0));
  for (const { entry } of candidates.slice(0, Math.max(0, needy.size - supply))) {
    entry.lend = { ask: (entry.grant?.serial ?? 0) + 1, addresses: askOf(entry.word?.free ?? 0, sliceSize) };
    supply += 1;
  }
  return supply;
}

/** A node that has read the ask and has nothing free will not give anything. */
function mayAnswer(entry: Entry): boolean {
  return !isHeard(entry) || (entry.word?.free ?? 0) > 0;
}

function mayBeAsked(entry: Entry): boolean {
  return isHeard(entry) && (entry.word?.free ?? 0) > 0 && entry.lent.length < piecesMax;
}

/** Half of what is free, and no more than half a slice; one address at least. */
function askOf(free: number, sliceSize: bigint): number {
  const half = Math.ceil(free / 2);
  const most = sliceSize / 2n;
  return Math.max(1, BigInt(half) > most ? Number(most) : half);
}
