// What the API server has about sliced ranges, read once: the slices with their mirrors, who they are assigned to, and
// what the reservation ledger holds beside them. Values for audit.ts.
import { networkAnnotation } from "../../src/api/holds/hold-marks.ts";
import { parseObject } from "../../src/api/kind.ts";
import { readAllocations } from "../../src/api/pools/allocations.ts";
import { ipPoolKind } from "../../src/api/pools/ip-pool.ts";
import { leaseNodeAnnotation } from "../../src/api/slices/node-lease.ts";
import {
  type NodeWord,
  readGrant,
  readNodeWord,
  type SliceGrant,
  sliceLabelName,
  slicePoolAnnotation,
} from "../../src/api/slices/slice-grant.ts";
import { ipPools, nodeSlicePools, type StoredPool, type StoredSlicePool } from "../../src/cluster/resources.ts";
import type { Owner } from "../../src/ipam/owner.ts";
import type { KubeClient } from "../../src/kube/rest.ts";
import { listHolds } from "../../src/ledger/reservation/list-holds.ts";
import type { Address } from "../../src/net/address.ts";
import { parsePrefix, type Prefix } from "../../src/net/prefix.ts";

/** An address that somebody has on record. */
export interface Entry {
  readonly address: Address;
  /** `namespace/name interface` of the pod. */
  readonly who: string;
  readonly container: string;
}

/** The IPPool of a slice or of a piece of one. */
export interface SliceBook {
  readonly name: string;
  readonly namespace: string;
  /** network_name; empty: none. */
  readonly network: string;
  readonly node: string;
  /** Of the NodeSlicePool. */
  readonly pool: string;
  readonly slice: Prefix;
  readonly grant: SliceGrant | undefined;
  readonly word: NodeWord | undefined;
  readonly entries: readonly Entry[];
}

export interface PoolBook {
  readonly name: string;
  readonly namespace: string;
  readonly range: Prefix;
  readonly sliceLength: number;
  readonly assigned: readonly { readonly node: string; readonly block: Prefix }[];
  /** type -> status, and the sentence */
  readonly conditions: ReadonlyMap<string, { readonly status: string; readonly message: string }>;
}

/** Held through the reservation ledger: an object per address. */
export interface SharedEntry extends Entry {
  readonly namespace: string;
  readonly domain: string;
}

export interface Books {
  readonly slices: readonly SliceBook[];
  readonly pools: readonly PoolBook[];
  readonly shared: readonly SharedEntry[];
}

/** Not a snapshot: the kinds are listed one after the other, slices first. */
export async function readBooks(client: KubeClient): Promise<Books> {
  const slices = (await client.list(ipPools, { labelSelector: sliceLabelName })).items.map(sliceOf);
  const shared: SharedEntry[] = [];
  for await (const each of listHolds(client)) {
    if (each.unreadable !== undefined) throw new Error(each.unreadable);
    const { hold, namespace } = each;
    shared.push({ namespace, domain: hold.domain, ...entryOf(hold.address, hold.owner) });
  }
  const pools = (await client.list(nodeSlicePools)).items.map(poolOf);
  return { slices, pools, shared };
}

function sliceOf(object: StoredPool): SliceBook {
  const { metadata } = object;
  const annotations = metadata.annotations ?? {};
  const { entries, unreadable } = readAllocations(parseObject(ipPoolKind, object));
  if (unreadable.length > 0) throw new Error(unreadable[0]!.message);
  return {
    name: metadata.name ?? "",
    namespace: metadata.namespace ?? "",
    network: annotations[networkAnnotation] ?? "",
    node: annotations[leaseNodeAnnotation] ?? "",
    pool: annotations[slicePoolAnnotation] ?? "",
    slice: parsePrefix(object.spec.range),
    grant: readGrant(metadata),
    word: readNodeWord(metadata),
    entries: entries.map(({ address, owner }) => entryOf(address, owner)),
  };
}

function entryOf(address: Address, owner: Owner): Entry {
  const port = owner.kind === "pod" ? owner.interface : owner.kind;
  const container = owner.kind === "pod" ? (owner.containerId ?? "") : "";
  return { address, who: `${owner.namespace}/${owner.name} ${port}`, container };
}

function poolOf({ metadata, spec, status }: StoredSlicePool): PoolBook {
  const conditions = (status?.conditions ?? []).map((each) => {
    return [each.type, { status: each.status, message: each.message ?? "" }] as const;
  });
  return {
    name: metadata.name ?? "",
    namespace: metadata.namespace ?? "",
    range: parsePrefix(spec.range),
    sliceLength: Number(spec.sliceSize.replace("/", "")),
    // Whoever whereabouts left blank has nothing.
    assigned: (status?.allocations ?? [])
      .filter(({ nodeName }) => nodeName !== "")
      .map(({ nodeName, sliceRange }) => ({ node: nodeName, block: parsePrefix(sliceRange) })),
    conditions: new Map(conditions),
  };
}
