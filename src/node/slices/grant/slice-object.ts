// The IPPool of one slice as a daemon reads it: whose it is, grant, word and entries. Pure. Promised: a grant of which
// any block cannot be read is no grant, so that a piece that was lent is never handed out because a hand mistyped it.
import { type PoolContents, readAllocations } from "../../../api/pools/allocations.ts";
import { formatDomain } from "../../../api/pools/domain.ts";
import type { IPPool } from "../../../api/pools/ip-pool.ts";
import { markedDomain } from "../../../api/pools/pool-domain.ts";
import { poolName } from "../../../api/pools/pool-name.ts";
import type { SliceGrant } from "../../../api/slices/slice-grant.ts";
import type { StoredPool } from "../../../cluster/resources.ts";
import { readSlice, type SliceObject as ReadSlice } from "../../../cluster/slice-object.ts";
import type { Domain, Hold } from "../../../ipam/ledger.ts";
import { keyOf, parseKey } from "../../../kube/meta.ts";
import { type Interval, parseBlock } from "../../../net/interval.ts";
import { orNone } from "../../../net/or-none.ts";
import { containsPrefix, parsePrefix, type Prefix } from "../../../net/prefix.ts";
import type { SliceReconcilerOptions } from "../reconciler.ts";

export interface ReadGrant {
  readonly grant: SliceGrant;
  readonly without: readonly Prefix[];
  readonly taken: readonly Interval[];
}

export interface SliceObject extends Pick<ReadSlice, "namespace" | "node" | "network" | "word"> {
  /** namespace/name */
  readonly key: string;
  readonly range: Prefix;
  readonly slice: Prefix;
  /** Of the journal: named by the NodeSlicePool. */
  readonly domain: Domain;
  /** Undefined: there is none, or it cannot be read. */
  readonly granted?: ReadGrant;
  readonly contents: PoolContents;
  /** The place of its addresses once they are shared. */
  readonly shared: SharedPlace;
}

export interface SharedPlace {
  readonly domain: Domain;
  /** namespace/name of the shared range's IPPool. */
  readonly pool: string;
}

/** Parts of one slice, for as long as it is with a worker. */
export interface SliceParts extends Omit<
  SliceReconcilerOptions,
  "workers" | "isLeaseHeard" | "hasSaidSo" | "doubtsNew" | "onCompared" | "onAnswer"
> {
  readonly key: string;
  readonly state: SliceState;
  readonly signal: AbortSignal;
  readonly onHeard: () => void;
  /** What the object grants is held back until the leader grants it anew. */
  readonly isDoubted: boolean;
}

/** A daemon's memory of one slice beside the journal, lost with the process and learned again from the object. */
export class SliceState {
  /** The Lease's word on the slice when the object was read; undefined: it must be read. */
  token: string | undefined;
  /** Which round of comparing the object was read in. */
  epoch = 0;
  /** The object as it was read or answered last; undefined: not known for certain. */
  present: IPPool | undefined;
  /** The grant on it, where it is this node's and can be read. */
  granted: ReadGrant | undefined;
  shared: SharedPlace | undefined;
  lastWriteMs = Number.NEGATIVE_INFINITY;
  /** Since when the object has been behind the journal. */
  dirtySinceMs: number | undefined;
  /** Somebody waits for the word. */
  isUrgent = false;
}

/** Undefined: the annotations that make an IPPool a slice are missing or invalid. */
export function readSliceObject(object: IPPool): SliceObject | undefined {
  const read = readSlice(object as StoredPool);
  if (read?.range === undefined || !containsPrefix(read.range, read.block)) return undefined;
  const { namespace, node, network, range, block, pool, grant, word } = read;
  const granted = grant && withBlocks(grant, block);
  return {
    key: keyOf(object),
    namespace,
    node,
    network,
    range,
    slice: block,
    domain: formatDomain({ scope: "slice", namespace, name: parseKey(pool).name }),
    ...(granted && { granted }),
    ...(word && { word }),
    contents: readAllocations(object),
    // As the whole range's shared pool has it; the mark is the controller's word where overlaps are not protected.
    shared: {
      domain: markedDomain(object) ?? formatDomain({ scope: "network", network }),
      pool: `${namespace}/${poolName({ range, network, node: "" })}`,
    },
  };
}

/** The entered holds. Of a key with several readings all are held: one of them is in use. */
export function holdsIn({ domain, contents }: SliceObject): Hold[] {
  return contents.entries.flatMap(({ address, others, owner }) =>
    [address, ...others].map((each) => ({ domain, address: each, owner, version: "" })),
  );
}

function withBlocks(grant: SliceGrant, slice: Prefix): ReadGrant | undefined {
  // A value that does not parse was written by a hand.
  return orNone(() => {
    const without = grant.without.map((text) => parsePrefix(text));
    const taken = grant.taken.map((text) => parseBlock(text));
    return without.every((each) => containsPrefix(slice, each)) ? { grant, without, taken } : undefined;
  });
}
