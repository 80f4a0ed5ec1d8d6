// How a range becomes sliced and shared again: the next value of `sliced` in holdfast-state (docs/decisions/0013). Pure.
//
//   none ──> closing ──> open ──> opening ──> none          none ──> open, where it was never shared
//              └───────────────────^    └──> closing
//
// A phase is written on the NodeSlicePool first, so that what daemons are told can be made again from there.
//
// Promised: a range opens only when every living daemon works by a version in which it was closing; what is still a slice is never shared;
// versions rise, also where the state was lost.
import type { SlicedPhase, SlicedRange, SlicedRanges } from "../../cluster/sliced-ranges.ts";
import { overlaps, type Prefix } from "../../net/prefix.ts";

/** One range and the NodeSlicePool's name. */
export type RangePlace = Pick<SlicedRange, "namespace" | "network" | "range" | "pool">;

export interface WantedRange extends RangePlace, Pick<SlicedRange, "floating"> {
  /** Its definitions were never anything else, and no shared pool overlaps it. */
  readonly wasNeverShared: boolean;
}

export interface PoolBlocks extends RangePlace {
  /** On record: on the pool; of one that is gone while slices of it are there, the safe side. Undefined: it is not cut. */
  readonly phase: SlicedPhase | undefined;
  /** Everything that still is somebody's slice. */
  readonly blocks: readonly Prefix[];
}

export interface PhaseFacts {
  /** What daemons are told now; undefined: it is gone, or cannot be read. */
  readonly told: SlicedRanges | undefined;
  readonly wanted: readonly WantedRange[];
  /** Of every pool that is there. */
  readonly pools: readonly PoolBlocks[];
  /** The versions that daemons with a fresh Lease work by; undefined: one that has not said any. */
  readonly seen: readonly (number | undefined)[];
  /** What the reservation ledger holds was listed after all of them had seen the version. */
  readonly isListed: boolean;
}

/** `sliced`: the very value that is told if nothing changes. `needsList`: ranges wait for the reservation ledger to be listed, and for nothing else. */
export function nextSliced(facts: PhaseFacts) {
  const { told, seen } = facts;
  const version = told?.version ?? 0;
  // Written from a copy that was restored: daemons work by what they saw later, and what they say of this version means nothing.
  const isBehind = seen.some((each) => (each ?? 0) > version);
  const haveSeen = !isBehind && seen.every((each) => each !== undefined && each >= version);
  const phaseOf = phasesOf(facts);
  const wanted = new Map(facts.wanted.map((each) => [keyOf(each), each]));
  const pools = new Map(facts.pools.map((each) => [keyOf(each), each]));
  const keys = [...new Set([...wanted.keys(), ...pools.keys()])].sort();
  const next = keys.flatMap((key) => {
    const want = wanted.get(key);
    const pool = pools.get(key);
    // What is on record as closing, and not told yet, nobody can have seen.
    const isTold = told?.ranges.some((each) => each.phase === "closing" && keyOf(each) === key) ?? false;
    const mayOpen = haveSeen && facts.isListed && isTold;
    if (want !== undefined) return [wantedEntry(phaseOf(key), want, pool, mayOpen)];
    return pool!.blocks.length === 0 ? [] : [{ ...pool!, phase: "opening" as const }];
  });
  const needsList = haveSeen && !facts.isListed && told?.ranges.some(({ phase }) => phase === "closing") === true;
  const isSame = told !== undefined && !isBehind && isSameList(next, told.ranges);
  return { sliced: isSame ? told : after(facts, next), needsList };
}

/** What daemons are told counts; else what is on record: closing and opening were about to be told; open is looked at again unless all was lost. */
export function phasesOf({ told, pools }: Pick<PhaseFacts, "told" | "pools">) {
  const recorded = new Map(pools.map((each) => [keyOf(each), each.phase]));
  if (told === undefined) return (key: string) => recorded.get(key);
  const entries = new Map(told.ranges.map((each) => [keyOf(each), each.phase]));
  return (key: string) => entries.get(key) ?? (recorded.get(key) === "open" ? undefined : recorded.get(key));
}

/** What is on record, told again with nothing moved on: for a leader that may not do more. */
export function toldAgain(facts: Pick<PhaseFacts, "told" | "pools" | "seen">): SlicedRanges {
  const ranges = facts.pools.flatMap(({ phase, blocks, ...place }): SlicedRange[] =>
    phase === undefined ? [] : [{ ...place, phase, blocks: phase === "opening" ? blocks : [] }],
  );
  return after(facts, ranges);
}

/** A state that was lost begins anew, but what daemons have seen does not. */
function after({ told, seen }: Pick<PhaseFacts, "told" | "seen">, ranges: readonly SlicedRange[]): SlicedRanges {
  const version = 1 + seen.reduce<number>((most, each) => Math.max(most, each ?? 0), told?.version ?? 0);
  return { version, ranges };
}

function wantedEntry(
  phase: SlicedPhase | undefined,
  { wasNeverShared, floating, ...place }: WantedRange,
  pool: PoolBlocks | undefined,
  mayOpen: boolean,
): SlicedRange {
  const isFirst = phase === undefined && wasNeverShared && (pool?.blocks.length ?? 0) === 0;
  const isOpen = isFirst || phase === "open" || (phase === "closing" && mayOpen);
  return { ...place, phase: isOpen ? "open" : "closing", blocks: [], floating };
}

/** Where two ranges of one network overlap, the one is a shared pool's or one that is drained. */
export function isSharedOver(
  { namespace, network, range }: Omit<RangePlace, "pool">,
  shared: readonly Omit<RangePlace, "pool">[],
): boolean {
  return shared.some((each) => each.namespace === namespace && each.network === network && overlaps(each.range, range));
}

export function keyOf({ namespace, network, range, pool }: RangePlace): string {
  return `${namespace} ${network} ${range} ${pool}`;
}

function isSameList(a: readonly SlicedRange[], b: readonly SlicedRange[]): boolean {
  return a.length === b.length && a.every((each, index) => textOf(each) === textOf(b[index]!));
}

function textOf(range: SlicedRange): string {
  const { phase, floating, blocks } = range;
  return `${keyOf(range)} ${phase} ${floating ?? ""} ${blocks.join(",")}`;
}
