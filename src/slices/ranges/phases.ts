// How a range becomes sliced and shared again: the next `sliced` in holdfast-state (docs/decisions/0013). Pure.
//
//   none ──> closing ──> open ──> opening ──> none          none ──> open, where it was never shared
//              └───────────────────^    └──> closing
//
// A phase is written on the NodeSlicePool first, so that the state for daemons can be made again from there.
//
// Promised: a range opens only when every living daemon works by a version in which it was closing; a block that still
// is a slice is never shared; versions rise, also where the state was lost.
import type { SlicedPhase, SlicedRange, SlicedRanges } from "../../cluster/sliced-ranges.ts";
import { overlaps, type Prefix } from "../../net/prefix.ts";

export type RangePlace = Pick<SlicedRange, "namespace" | "network" | "range" | "pool">;

export interface WantedRange extends RangePlace, Pick<SlicedRange, "floating"> {
  /** Its definitions were never changed, and no shared pool overlaps it. */
  readonly wasNeverShared: boolean;
}

export interface PoolBlocks extends RangePlace {
  /** On the pool's record; for a lost pool with slices left, the safe side. Undefined: the range is not cut. */
  readonly phase: SlicedPhase | undefined;
  /** Every block that still is some node's slice. */
  readonly blocks: readonly Prefix[];
}

export interface PhaseFacts {
  /** The state that daemons are told now; undefined: it is gone, or cannot be read. */
  readonly told: SlicedRanges | undefined;
  readonly wanted: readonly WantedRange[];
  /** Of every existing pool. */
  readonly pools: readonly PoolBlocks[];
  /** The versions that daemons with a fresh Lease work by; undefined: a daemon has said none. */
  readonly seen: readonly (number | undefined)[];
  /** The reservation ledger was listed after all daemons had seen the version. */
  readonly isListed: boolean;
  /** Key of a range whose shared pools do not say yet who arbitrates: nothing more of it is shared. */
  readonly unsettled?: { has(key: string): boolean };
}

/** `sliced`: the told value if nothing changes. `needsList`: ranges wait for a list of the reservation ledger only. */
export function nextSliced(facts: PhaseFacts) {
  const { told, seen } = facts;
  const version = told?.version ?? 0;
  // Written from a restored copy: daemons work by a later version, and their word on this one means nothing.
  const isBehind = seen.some((each) => (each ?? 0) > version);
  const haveSeen = !isBehind && seen.every((each) => each !== undefined && each >= version);
  const phaseOf = phasesOf(facts);
  const wanted = new Map(facts.wanted.map((each) => [keyOf(each), each]));
  const pools = new Map(facts.pools.map((each) => [keyOf(each), each]));
  const keys = [...new Set([...wanted.keys(), ...pools.keys()])].sort();
  const next = keys.flatMap((key): SlicedRange[] => {
    const want = wanted.get(key);
    const pool = pools.get(key);
    // Nobody can have seen a closing phase that is on record and not told yet.
    const isTold = told?.ranges.some((each) => each.phase === "closing" && keyOf(each) === key) ?? false;
    const mayOpen = haveSeen && facts.isListed && isTold;
    const before = told?.ranges.find((each) => keyOf(each) === key);
    const isSettled = facts.unsettled?.has(key) !== true;
    if (want !== undefined) {
      const floating = isSettled ? want.floating : before?.floating;
      return [wantedEntry(phaseOf(key), { ...want, floating }, pool, mayOpen)];
    }
    if (!isSettled) return [before ?? { ...pool!, phase: "closing", blocks: [] }];
    return pool!.blocks.length === 0 ? [] : [{ ...pool!, phase: "opening" }];
  });
  const needsList = haveSeen && !facts.isListed && told?.ranges.some(({ phase }) => phase === "closing") === true;
  const textsOf = (ranges: readonly SlicedRange[]) => ranges.map(textOf).join("\n");
  const isSame = told !== undefined && !isBehind && textsOf(next) === textsOf(told.ranges);
  return { sliced: isSame ? told : after(facts, next), needsList };
}

/** The told phase counts, else the recorded: closing and opening were about to be told; open only if none is told. */
export function phasesOf({ told, pools }: Pick<PhaseFacts, "told" | "pools">) {
  const recorded = new Map(pools.map((each) => [keyOf(each), each.phase]));
  if (told === undefined) return (key: string) => recorded.get(key);
  const entries = new Map(told.ranges.map((each) => [keyOf(each), each.phase]));
  return (key: string) => entries.get(key) ?? (recorded.get(key) === "open" ? undefined : recorded.get(key));
}

/** The recorded phases, told again unmoved: for a leader that may not do more. */
export function toldAgain(facts: Pick<PhaseFacts, "told" | "pools" | "seen">): SlicedRanges {
  const ranges = facts.pools.flatMap(({ phase, blocks, ...place }): SlicedRange[] =>
    phase === undefined ? [] : [{ ...place, phase, blocks: phase === "opening" ? blocks : [] }],
  );
  return after(facts, ranges);
}

/** A lost state begins anew, but the versions that daemons have seen do not. */
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

/** Where two ranges of one network overlap, one belongs to a shared pool or drains. */
export function isSharedOver(
  { namespace, network, range }: Omit<RangePlace, "pool">,
  shared: readonly Omit<RangePlace, "pool">[],
): boolean {
  return shared.some((each) => each.namespace === namespace && each.network === network && overlaps(each.range, range));
}

export function keyOf({ namespace, network, range, pool }: RangePlace): string {
  return `${namespace} ${network} ${range} ${pool}`;
}

function textOf(range: SlicedRange): string {
  const { phase, floating, blocks } = range;
  return `${keyOf(range)} ${phase} ${floating ?? ""} ${blocks.join(",")}`;
}
