// The facts that a sliced range's plan is made from, and the plan (docs/decisions/0013). Values only.
import type { SliceGrant, NodeWord } from "../../api/slices/slice-grant.ts";
import type { IntervalSet } from "../../net/interval-set.ts";
import type { Interval } from "../../net/interval.ts";
import type { Prefix } from "../../net/prefix.ts";

/** One line of the NodeSlicePool's status. `floatingNode` stands for the part that is no node's. */
export interface Allocation {
  readonly node: string;
  readonly block: Prefix;
}

/** The IPPool object of a slice or of a piece. Nobody hands out of it without a readable grant. */
export interface SliceFacts extends Allocation {
  readonly grant?: SliceGrant | undefined;
  readonly word?: NodeWord | undefined;
}

export interface NodeFacts {
  readonly name: string;
  readonly isPresent: boolean;
  /** Why its slices are not its own any more (src/cluster/fencing.ts). */
  readonly fenced?: string | undefined;
  /** It has been fenced for so long that nobody asks any more. */
  readonly isOver?: boolean;
  /** Its Node object is gone and its Lease still fresh: it drains what it has. */
  readonly isLeaving?: boolean;
  /** Its Lease is not renewed: nobody asks it to lend, and nobody waits for its answer. */
  readonly isSilent?: boolean;
}

/** Read in this order: status, objects, reservations. A reservation that a word says was made must not be missing. */
export interface PoolFacts {
  readonly range: Prefix;
  readonly sliceLength: number;
  readonly floatingLength?: number | undefined;
  /** Addresses that any definition hands out: slices without any of them are left out. */
  readonly useful: IntervalSet;
  /** False: no definition wants slices: everything drains. */
  readonly wanted: boolean;
  /** False (closing, the leader rests): nothing new is assigned or granted. */
  readonly mayGrant: boolean;
  /** Not all daemons have said what they have: no grant is widened. */
  readonly isWaiting?: boolean;
  /** In a sentence why not; absent: the range is being changed over. */
  readonly obstacle?: string | undefined;
  /** Blocks that a daemon may still take from as the floating part. Absent: not known, so an assigned one stays. */
  readonly floatingInUse?: readonly Prefix[] | undefined;
  readonly allocations: readonly Allocation[];
  readonly lastGeneration: number;
  /** Wall clock, 0: not known. A new generation is no less: so it is later than all that a restore has forgotten. */
  readonly nowMs?: number;
  readonly slices: readonly SliceFacts[];
  readonly nodes: readonly NodeFacts[];
  /** Addresses that the reservation ledger holds inside the range. */
  readonly reserved: readonly Interval[];
  /** Slices that only some node's journal has: no slice is laid around one, and no floating part. */
  readonly forgotten?: readonly Interval[];
}

export interface PlannedGrant extends Allocation {
  readonly grant: SliceGrant;
}

export interface SlicePlan {
  /** By address. */
  readonly allocations: readonly Allocation[];
  readonly lastGeneration: number;
  /** Every object that should be, with its grant: the very value of the facts where nothing changes. */
  readonly grants: readonly PlannedGrant[];
  /** Objects to delete, and allocations to forget; an allocation's object may never have been made. */
  readonly removals: readonly Allocation[];
  /** node -> in a sentence why it has nothing */
  readonly waiting: ReadonlyMap<string, string>;
  /** The floating part, once it is assigned, and only where it may be taken from. */
  readonly floating?: Prefix | undefined;
  /** Every block that still is some node's slice. */
  readonly blocks: readonly Prefix[];
  /** In slices; total = assigned + free. */
  readonly totals: { readonly total: bigint; readonly assigned: bigint; readonly free: bigint };
  /** In a sentence: some node needs addresses and there are none. */
  readonly exhausted?: string | undefined;
  readonly conflicts: readonly string[];
}
