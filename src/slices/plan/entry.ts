// One slice or piece while a plan is made: the line of the status, the object, the word on it, and what becomes of it. Pure.
import { blocksOf, covers, floatingNode } from "../../api/slices/slice-grant.ts";
import type { GrantPhase, NodeWord, SliceGrant } from "../../api/slices/slice-grant.ts";
import { comparePrefixes, containsPrefix, type Prefix } from "../../net/prefix.ts";
import type { Allocation, PoolFacts, SliceFacts } from "./facts.ts";

export interface Entry extends Allocation {
  /** In the status. */
  readonly isAssigned: boolean;
  readonly hasObject: boolean;
  /** As it stands on the object. */
  readonly grant: SliceGrant | undefined;
  /** The node's word, if it is on this grant: one of an earlier generation says nothing about it. */
  readonly word: NodeWord | undefined;
  /** It has a grant, or its node speaks of one that a hand took off the object: some journal may hand out of it. */
  readonly isInUse: boolean;
  /** The journal has seen a later generation than the object shows: etcd was restored. It will not work by an older grant. */
  readonly isOutdated: boolean;
  /** The same of serials: it takes only what is numbered after its own. */
  readonly isBehind: boolean;
  /** Why it goes: sealed, fenced, or never granted. */
  readonly isRemoved: boolean;
  /** `without` of the grant as it stands; where there is none yet, what is another's inside the block. */
  lentBefore: readonly Prefix[];
  /** And with what the node gave up since. */
  lent: readonly Prefix[];
  phase: GrantPhase;
  /** Overlaps what is another's. */
  isConflict: boolean;
  /** Not of the shape that slices have now: to be drained as soon as its node has another. */
  isStray: boolean;
  lend: SliceGrant["lend"];
  exhausted: string | undefined;
}

export function keyOf({ node, block }: Allocation): string {
  return `${node} ${block}`;
}

/** By address, the larger block first, then by the node's name. */
export function compareEntries(a: Allocation, b: Allocation): number {
  return comparePrefixes(a.block, b.block) || (a.node < b.node ? -1 : a.node > b.node ? 1 : 0);
}

/** Everything that is in the status or has an object, each once, in order; the floating part aside. */
export function entriesOf(facts: PoolFacts): Entry[] {
  const objects = new Map(facts.slices.map((each) => [keyOf(each), each]));
  const fenced = new Set(facts.nodes.filter((each) => each.fenced !== undefined).map(({ name }) => name));
  const ofNodes = facts.allocations.filter(({ node }) => node !== floatingNode);
  const assigned = new Map(ofNodes.map((each) => [keyOf(each), each]));
  const entries = Array.from(assigned, ([key, each]) => entryOf(each, objects.get(key), true, fenced));
  for (const [key, each] of objects) if (!assigned.has(key)) entries.push(entryOf(each, each, false, fenced));
  return entries.sort(compareEntries);
}

export function newEntry({ node, block }: Allocation, lent: readonly Prefix[]): Entry {
  return { ...entryOf({ node, block }, undefined, true, new Set()), lentBefore: lent, lent };
}

function entryOf(
  { node, block }: Allocation,
  object: SliceFacts | undefined,
  isAssigned: boolean,
  fencedNodes: ReadonlySet<string>,
): Entry {
  const { grant, word } = object ?? {};
  const current = word !== undefined && word.generation === grant?.generation ? word : undefined;
  const isSealed = current?.sealed === true || (grant === undefined && word?.sealed === true);
  const isLeftOver = !isAssigned && grant === undefined && word === undefined;
  const lentBefore = blocksOf(grant?.without ?? []).filter((each) => containsPrefix(block, each));
  // What the node gave up, whatever it was asked for since: it is out of its journal, and comes back only as a grant of its own.
  const gives = current?.gives === undefined ? [] : blocksOf([current.gives.block]);
  const given = gives.filter((each) => containsPrefix(block, each) && !covers(lentBefore, each));
  return {
    node,
    block,
    isAssigned,
    hasObject: object !== undefined,
    grant,
    word: current,
    isInUse: grant !== undefined || word !== undefined,
    isOutdated: word !== undefined && word.generation > (grant?.generation ?? word.generation),
    isBehind: current !== undefined && current.serial > grant!.serial,
    isRemoved: fencedNodes.has(node) || isSealed || isLeftOver,
    lentBefore,
    lent: [...lentBefore, ...given],
    phase: grant?.phase ?? "active",
    isConflict: false,
    isStray: false,
    lend: given.length > 0 ? undefined : grant?.lend,
    exhausted: undefined,
  };
}

export function isTakenUp(entry: Entry): boolean {
  return entry.word !== undefined;
}

/** The journal works by what the grant says now. */
export function isHeard({ word, grant }: Entry): boolean {
  return word !== undefined && grant !== undefined && word.serial >= grant.serial;
}

/** All of it is lent: nothing can be handed out of it, and the same block can come back to the node only when this is gone. */
export function isHollow({ block, lentBefore }: Entry): boolean {
  return covers(lentBefore, block);
}
