// The plan of a sliced range: from facts (status, objects, words, nodes) to what should be (docs/decisions/0013). Pure.
//
// Promised: planning again goes on from wherever a plan was left; the same facts give the same plan; an address is
// granted only where no other grant of it is left. The simulation shows that this holds if a plan is carried out thus:
//  1. delete the objects of `removals`, by name, even those that were not seen;
//  2. make the objects that are new, without a grant;
//  3. write the status, guarded by the version that the facts are from;
//  4. write the grants, each guarded by the version of its object that was read or made;
// and after a refused write read and plan again. Step 2 before 3: a leader that slept since 3 finds its object changed
// or gone, and cannot grant a block that another got. A block is free in the plan after the one that removed it.
//
// A grant is never widened, else two leaders could widen and assign at once: a returned piece is given as a piece.
import { blocksOf, floatingNode } from "../../api/slices/slice-grant.ts";
import { common, difference, IntervalSet, union } from "../../net/interval-set.ts";
import { intervalOf } from "../../net/interval.ts";
import { containsPrefix, overlaps, type Prefix } from "../../net/prefix.ts";
import { totalsOf } from "./capacity.ts";
import { compareEntries, type Entry, entriesOf, isHeard, isHollow, isTakenUp, newEntry } from "./entry.ts";
import type { Allocation, PlannedGrant, PoolFacts, SlicePlan } from "./facts.ts";
import { planFloating, wantedFloating } from "./floating.ts";
import { type GrantContext, grantOf } from "./grant.ts";
import { askLenders, isNeedy, type Lack, type Need, needsOf, surplusOf } from "./need.ts";
import { insideOf, judgeOverlaps } from "./ownership.ts";
import { FreeSpace } from "./space.ts";

export function planSlices(facts: PoolFacts): SlicePlan {
  const entries = entriesOf(facts);
  const useful = common([intervalOf(facts.range)], facts.useful);
  const conflicts = judgeOverlaps(entries, shapeOf(facts, useful));
  const floating = planFloating(facts, entries);
  const reserved = reservedOf(facts);

  drainAtOnce(facts, entries);
  const needs = needsOf(facts.nodes, entries);
  for (const each of needs) keepReturning(each);
  const kept = floating.kept.map(intervalOf);
  const space = new FreeSpace({
    sliceLength: facts.sliceLength,
    useful: kept.length === 0 ? useful : difference(useful, kept),
    reserved,
    forgotten: IntervalSet.of(facts.forgotten ?? []),
    entries,
  });
  const assignment = facts.wanted && facts.mayGrant ? assign(facts, needs, entries, space) : nothingAssigned;
  drainStrays(needs, assignment);
  if (facts.wanted) returnSurplus(facts, needs, entries);

  const staying = [...entries.filter(({ isRemoved }) => !isRemoved), ...assignment.made].sort(compareEntries);
  const useless = facts.wanted ? difference([intervalOf(facts.range)], useful) : [];
  const { grants, lastGeneration } = grantsOf(facts, staying, { reserved, closed: union(reserved, useless) });
  const allocations = [
    ...staying.filter(({ isConflict, isAssigned, hasObject }) => !isConflict || (isAssigned && !hasObject)).map(lineOf),
    ...floating.assigned.map((block) => ({ node: floatingNode, block })),
  ].sort(compareEntries);
  return {
    allocations,
    lastGeneration,
    grants,
    removals: entries.filter(({ isRemoved }) => isRemoved).map(lineOf),
    waiting: waitingOf(facts, needs, assignment),
    floating: floating.open,
    blocks: staying.map(({ block }) => block),
    totals: totalsOf(useful, facts.sliceLength, [...allocations.map(({ block }) => block), ...floating.kept]),
    exhausted: assignment.exhausted,
    conflicts,
  };
}

function lineOf({ node, block }: Allocation): Allocation {
  return { node, block };
}

/** A whole slice of today's size, inside the range, with useful addresses, outside the floating part to be. */
function shapeOf(facts: PoolFacts, useful: IntervalSet): (block: Prefix) => boolean {
  const floating = wantedFloating(facts);
  return (block) =>
    block.length === facts.sliceLength &&
    containsPrefix(facts.range, block) &&
    (floating === undefined || !overlaps(floating, block)) &&
    common([intervalOf(block)], useful).count > 0;
}

/** Addresses that were moved before a seal are reserved, even if the list of reservations was too early for them. */
function reservedOf({ reserved, slices }: PoolFacts): IntervalSet {
  const set = IntervalSet.of(reserved);
  for (const { word } of slices)
    for (const address of word?.moved ?? []) {
      const [block] = blocksOf([`${address}/${address.includes(":") ? 128 : 32}`]);
      if (block !== undefined) set.add(intervalOf(block));
    }
  return set;
}

function drainAtOnce(facts: PoolFacts, entries: readonly Entry[]): void {
  const leaving = new Set(facts.nodes.filter(({ isLeaving }) => isLeaving === true).map(({ name }) => name));
  for (const entry of entries) {
    if (!facts.wanted || entry.isConflict || leaving.has(entry.node)) entry.phase = "draining";
  }
}

/** A returning slice is kept after all if a pod got there first, or if the node needs more by now. */
function keepReturning({ entries, lack }: Need): void {
  for (const entry of entries) {
    if (entry.phase !== "returning" || isHollow(entry)) continue;
    if (lack !== undefined || (isHeard(entry) && (entry.word?.used ?? 0) > 0)) entry.phase = "active";
  }
}

interface Assignment {
  readonly made: readonly Entry[];
  readonly given: ReadonlySet<string>;
  /** Nodes that should get a whole slice while none was free. */
  readonly unmet: ReadonlySet<string>;
  readonly exhausted?: string | undefined;
}

const nothingAssigned: Assignment = { made: [], given: new Set(), unmet: new Set() };

function assign(facts: PoolFacts, needs: readonly Need[], entries: readonly Entry[], space: FreeSpace): Assignment {
  const made: Entry[] = [];
  const unmet = new Set<string>();
  for (const need of inTurn(needs)) {
    const slice = space.takeSlice();
    if (slice === undefined) unmet.add(need.node.name);
    else made.push(newEntry({ node: need.node.name, block: slice.block }, slice.lent));
  }
  const needy = needs.filter((each) => unmet.has(each.node.name) && isNeedy(each));
  const left: Need[] = [];
  for (const need of needy) {
    const own = new Set(need.entries.map(({ block }) => String(block)));
    const block = space.takePiece((piece) => !own.has(String(piece)));
    if (block === undefined) left.push(need);
    else made.push(newEntry({ node: need.node.name, block }, []));
  }
  // An object is never granted anew in place: first it goes, then its block can come back.
  for (const each of left) for (const entry of each.good) if (isHollow(entry)) entry.phase = "returning";
  const sliceSize = sizeOfSlice(facts);
  const coming = entries.filter(({ isRemoved }) => isRemoved).length;
  const supply = askLenders(needs, new Set(left.map(({ node }) => node.name)), sliceSize, coming);
  const given = new Set(made.map(({ node }) => node));
  // A node that has just got a slice has not yet said what is free: a cluster that starts is not exhausted.
  const isAwaited = needs.some(({ node, good }) => node.isSilent !== true && good.some((each) => !isTakenUp(each)));
  if (left.length === 0 || supply > 0 || made.length > 0 || isAwaited) return { made, given, unmet };
  const what = `All of ${facts.range} is assigned in slices of /${facts.sliceLength} and no node has a free address to lend`;
  const exhausted = `${what}: delete pods that are not needed, or give the network a larger range.`;
  for (const { good } of left) for (const entry of good) entry.exhausted = exhausted;
  return { made, given, unmet, exhausted };
}

/** Nodes with nothing first, then the short, then the low; by name. A node takes its returning slice back instead. */
function inTurn(needs: readonly Need[]): Need[] {
  const turns: Readonly<Record<Lack, number>> = { nothing: 0, short: 1, low: 2 };
  const isKeptAfterAll = ({ phase, grant }: Entry) => phase === "active" && grant?.phase === "returning";
  return needs
    .filter(({ lack, entries }) => lack !== undefined && !entries.some(isKeptAfterAll))
    .sort((a, b) => turns[a.lack!] - turns[b.lack!]);
}

/** A slice of another shape goes when its node works by one of today's, or when none can be had before it goes. */
function drainStrays(needs: readonly Need[], { unmet }: Assignment): void {
  for (const { node, entries, good } of needs) {
    if (!good.some(isTakenUp) && !unmet.has(node.name)) continue;
    for (const entry of entries) if (entry.isStray) entry.phase = "draining";
  }
}

function returnSurplus(facts: PoolFacts, needs: readonly Need[], entries: readonly Entry[]): void {
  for (const need of needs) {
    const surplus = surplusOf(need, sizeOfSlice(facts), (entry) => insideOf(entries, entry.block).length > 0);
    if (surplus !== undefined && surplus.phase === "active") surplus.phase = "returning";
  }
}

function sizeOfSlice({ range, sliceLength }: PoolFacts): bigint {
  return 1n << BigInt(range.hostBits + range.length - sliceLength);
}

function grantsOf(facts: PoolFacts, entries: readonly Entry[], kept: Pick<GrantContext, "reserved" | "closed">) {
  let last = facts.lastGeneration;
  for (const { grant, word } of facts.slices) last = Math.max(last, grant?.generation ?? 0, word?.generation ?? 0);
  const { mayGrant, isWaiting = false, nowMs = 0 } = facts;
  const context = { ...kept, isWaiting, nextGeneration: () => (last = Math.max(last + 1, Math.floor(nowMs))) };
  // While nothing may be granted, an entry without a grant waits. An unwanted range's assigned slice whose object was
  // lost (a leader died between deletion and status) is granted again: only its node's word frees it.
  const due = entries.filter(({ grant }) => grant !== undefined || mayGrant || !facts.wanted);
  const grants: PlannedGrant[] = due.map((entry) => ({ ...lineOf(entry), grant: grantOf(entry, context) }));
  return { grants, lastGeneration: last };
}

function waitingOf(facts: PoolFacts, needs: readonly Need[], { given, exhausted }: Assignment): Map<string, string> {
  const waiting = needs.filter(({ node, lack, entries }) => {
    const hasAny = given.has(node.name) || entries.some(({ phase }) => phase === "active");
    return lack === "nothing" && !hasAny;
  });
  const { range, sliceLength, obstacle } = facts;
  const unwanted = `No network asks for slices of ${range} any more: its addresses are shared again.`;
  const closed = obstacle ?? `Slices of ${range} are not handed out yet: the range is being changed over.`;
  const full =
    exhausted ?? `No slice of /${sliceLength} in ${range} is free; other nodes are asked for a part of theirs.`;
  const why = !facts.wanted ? unwanted : facts.mayGrant ? full : closed;
  return new Map(waiting.map(({ node }) => [node.name, why]));
}
