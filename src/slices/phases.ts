// How a range becomes sliced and shared again: the next value of `sliced` in holdfast-state (docs/decisions/0013). Pure.
//
//   none ──> closing ──> open ──> opening ──> none          none ──> open, where it was never shared
//              └───────────────────^    └──> closing
//
// Promised: a range opens only when every daemon that lives has said that it works by a version in which it was closing; what is still
// a slice is never shared; versions rise, also where the state was lost.
import type { SlicedRange, SlicedRanges } from "../ledger/sliced-ranges.ts";
import { overlaps, type Prefix } from "../net/prefix.ts";

export interface WantedRange {
  readonly namespace: string;
  readonly network: string;
  readonly range: Prefix;
  /** The NodeSlicePool's name. */
  readonly pool: string;
  readonly floating?: Prefix;
  /** Its definitions were never anything else, and no shared pool overlaps it. */
  readonly wasNeverShared: boolean;
}

export interface PoolBlocks {
  readonly namespace: string;
  readonly network: string;
  readonly range: Prefix;
  readonly pool: string;
  /** Everything that still is somebody's slice. */
  readonly blocks: readonly Prefix[];
}

export interface PhaseFacts {
  readonly current: SlicedRanges;
  readonly wanted: readonly WantedRange[];
  /** Of every pool that is there. */
  readonly pools: readonly PoolBlocks[];
  /** The versions that daemons with a fresh Lease work by; undefined: one that has not said any. */
  readonly seen: readonly (number | undefined)[];
  /** What the reservation ledger holds was listed after all of them had seen the version. */
  readonly isListed: boolean;
}

export interface NextSliced {
  /** The very same value if nothing changes. */
  readonly sliced: SlicedRanges;
  /** Ranges that wait for the reservation ledger to be listed, and for nothing else. */
  readonly needsList: boolean;
}

export function nextSliced(facts: PhaseFacts): NextSliced {
  const { current, seen } = facts;
  // Written from a copy that was restored: daemons work by what they saw later, and what they say of this version means nothing.
  const isBehind = seen.some((version) => (version ?? 0) > current.version);
  const haveSeen = !isBehind && seen.every((version) => version !== undefined && version >= current.version);
  const entries = new Map(current.ranges.map((each) => [keyOf(each), each]));
  const wanted = new Map(facts.wanted.map((each) => [keyOf(each), each]));
  const pools = new Map(facts.pools.map((each) => [keyOf(each), each]));
  const keys = [...new Set([...entries.keys(), ...wanted.keys(), ...pools.keys()])].sort();
  const next = keys.flatMap((key) => {
    const entry = entries.get(key);
    const want = wanted.get(key);
    const pool = pools.get(key);
    if (want === undefined) return unwanted(entry, pool);
    return [wantedEntry(entry, want, pool, haveSeen && facts.isListed)];
  });
  const needsList = haveSeen && !facts.isListed && current.ranges.some(({ phase }) => phase === "closing");
  if (!isBehind && isSameList(next, current.ranges)) return { sliced: current, needsList };
  // A state that was lost begins anew, but what daemons have seen does not.
  const version = 1 + seen.reduce<number>((most, each) => Math.max(most, each ?? 0), current.version);
  return { sliced: { version, ranges: next }, needsList };
}

function wantedEntry(
  entry: SlicedRange | undefined,
  { wasNeverShared, floating, ...place }: WantedRange,
  pool: PoolBlocks | undefined,
  mayOpen: boolean,
): SlicedRange {
  const withFloating = floating === undefined ? {} : { floating };
  const isFirst = entry === undefined && wasNeverShared && (pool?.blocks.length ?? 0) === 0;
  if (isFirst || entry?.phase === "open" || (entry?.phase === "closing" && mayOpen)) {
    return { ...place, phase: "open", blocks: [], ...withFloating };
  }
  return { ...place, phase: "closing", blocks: [], ...withFloating };
}

function unwanted(entry: SlicedRange | undefined, pool: PoolBlocks | undefined): SlicedRange[] {
  const blocks = pool?.blocks ?? [];
  const place = entry ?? pool;
  if (blocks.length === 0 || place === undefined) return [];
  const { namespace, network, range } = place;
  return [{ namespace, network, range, pool: pool!.pool, phase: "opening", blocks }];
}

/** Where two ranges of one network overlap, the one is a shared pool's or one that is drained. */
export function isSharedOver(
  { namespace, network, range }: Pick<WantedRange, "namespace" | "network" | "range">,
  shared: Iterable<{ readonly namespace: string; readonly network: string; readonly range: Prefix }>,
): boolean {
  for (const each of shared) {
    if (each.namespace === namespace && each.network === network && overlaps(each.range, range)) return true;
  }
  return false;
}

function keyOf({ namespace, network, range, pool }: Pick<SlicedRange, "namespace" | "network" | "range" | "pool">) {
  return `${namespace} ${network} ${range} ${pool}`;
}

function isSameList(a: readonly SlicedRange[], b: readonly SlicedRange[]): boolean {
  return a.length === b.length && a.every((each, index) => textOf(each) === textOf(b[index]!));
}

function textOf(range: SlicedRange): string {
  const { phase, floating, blocks } = range;
  return `${keyOf(range)} ${phase} ${floating ?? ""} ${blocks.join(",")}`;
}
