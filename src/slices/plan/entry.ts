// One slice or piece while a plan is made: line of the status, object, word of the node, what becomes of it. Pure.
import { blocksOf, covers, floatingNode } from "../../api/slices/slice-grant.ts";
import type { GrantPhase, NodeWord, SliceGrant } from "../../api/slices/slice-grant.ts";
import { comparePrefixes, containsPrefix, type Prefix } from "../../net/prefix.ts";
import type { Allocation, PoolFacts, SliceFacts } from "./facts.ts";

export interface Entry extends Allocation {
  /** In the status. */
  readonly isAssigned: boolean;
  readonly hasObject: boolean;
  /** As the object has it. */
  readonly grant: SliceGrant | undefined;
  /** The node's word on this grant: a word on an earlier generation says nothing about it. */
  readonly word: NodeWord | undefined;
  /** It has a grant, or its node speaks of a grant that a hand took off the object: some journal may hand out of it. */
  readonly isInUse: boolean;
  /** The journal has seen a later generation than the object's: etcd was restored. It rejects an older grant. */
  readonly isOutdated: boolean;
  /** The same for serials: the journal takes only a serial after its own. */
  readonly isBehind: boolean;
  /** The entry goes: it is sealed, fenced, or was never granted. */
  readonly isRemoved: boolean;
  /** `without` of the grant; where there is no grant yet, the blocks of other nodes inside the block. */
  lentBefore: readonly Prefix[];
  /** `lentBefore`, and the pieces that the node gave up since. */
  lent: readonly Prefix[];
  phase: GrantPhase;
  /** Overlaps the block of another node. */
  isConflict: boolean;
  /** Not of today's shape: drained as soon as its node has another slice. */
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

/** Every entry of the status and every object, each once, in order; without the floating part. */
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
  // Pieces that the node gave up stay given up: they are out of its journal, and come back only as grants of their own.
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

/** The journal works by the grant as it is now. */
export function isHeard({ word, grant }: Entry): boolean {
  return word !== undefined && grant !== undefined && word.serial >= grant.serial;
}

/** All of it is lent: nothing is handed out of it, and the block can come back only when this entry is gone. */
export function isHollow({ block, lentBefore }: Entry): boolean {
  return covers(lentBefore, block);
}
