// All slices of a cluster, listed once, for `holdfast slices` and `check`. Not promised: one moment. Slices are read
// before the pools that assign them: one assigned in between shows as an allocation without its object: harmless.
import { nodeLabel, nodeLabelName } from "../../api/holds/hold-marks.ts";
import { nodeLeaseName, readNodeSlices, slicesAnnotation } from "../../api/slices/node-lease.ts";
import { floatingNode, sliceLabelName } from "../../api/slices/slice-grant.ts";
import { nodeOfLease, offBy } from "../../cluster/fencing.ts";
import * as kinds from "../../cluster/resources.ts";
import { readSlicedRanges, type SlicedRange, type SlicedRanges } from "../../cluster/sliced-ranges.ts";
import { type ClusterAccess, fetchState } from "../../cluster/state.ts";
import type { Lease } from "../../kube/lease.ts";
import type { KubeObject } from "../../kube/meta.ts";
import type { Resource } from "../../kube/resource.ts";
import { readPool } from "../../slices/writers/pool-object.ts";
import * as views from "./slice-view.ts";

type NodeLeaseView = NonNullable<ReturnType<typeof leaseViewOf>>;

export interface SlicesSnapshot {
  readonly nowMs: number;
  /** What the leader tells the daemons. */
  readonly sliced: SlicedRanges;
  readonly pools: readonly views.SlicePoolView[];
  readonly slices: readonly views.SliceView[];
  /** Key: the node's name. */
  readonly leases: ReadonlyMap<string, NodeLeaseView>;
  /** Key: the node's name. */
  readonly nodes: ReadonlyMap<string, kinds.Node>;
  readonly unreadable: readonly views.Unreadable[];
}

export interface SlicesOptions extends ClusterAccess {
  /** Of this node only; all otherwise. */
  readonly node?: string;
  readonly now: () => number;
}

/** Selects the IPPools that are slices; with a `!` before it, those that are shared. */
export const sliceSelector = sliceLabelName;

export async function readSlices(options: SlicesOptions): Promise<SlicesSnapshot> {
  const { client, systemNamespace: namespace, node, now, signal } = options;
  const slices = await readSliceObjects(options);
  const pools = await client.listAll(kinds.nodeSlicePools, { signal });
  const own = node === undefined ? undefined : nodeLeaseName(node);
  const leases = await listOrOne(options, kinds.leases, own, namespace);
  const nodes = await listOrOne(options, kinds.nodes, node);
  const state = await fetchState(client, { namespace, signal });
  return slicesFrom({ slices, pools, leases, nodes, state }, now());
}

export interface SliceObjects {
  readonly slices: readonly kinds.StoredPool[];
  readonly pools: readonly kinds.StoredSlicePool[];
  readonly leases: readonly Lease[];
  readonly nodes: readonly kinds.Node[];
  readonly state: kinds.ConfigMap | undefined;
}

/** Pure. */
export function slicesFrom(objects: SliceObjects, nowMs: number): SlicesSnapshot {
  const slices = objects.slices.map(views.sliceViewOf);
  const pools = objects.pools.map(views.slicePoolViewOf);
  const leases = new Map(objects.leases.flatMap((each) => leaseViewOf(each) ?? []).map((each) => [each.node, each]));
  const withWord = (slice: views.SliceView) => ({ ...slice, fenced: offBy(leases.get(slice.node)?.object) ?? "" });
  return {
    nowMs,
    sliced: readSlicedRanges(objects.state) ?? onRecord(objects.pools),
    pools: pools.flatMap((each) => (views.isUnreadable(each) ? [] : [each])),
    slices: slices.flatMap((each) => (views.isUnreadable(each) ? [] : [withWord(each)])),
    leases,
    nodes: new Map(objects.nodes.map((node) => [node.metadata.name ?? "", node])),
    unreadable: [...slices, ...pools].filter(views.isUnreadable),
  };
}

/** The pools' record, which daemons will be told again. */
function onRecord(pools: readonly kinds.StoredSlicePool[]): SlicedRanges {
  const ranges = pools.flatMap((object): SlicedRange[] => {
    const pool = readPool(object);
    if (pool?.network === undefined) return [];
    const { namespace, network, range, name, phase = "open", allocations } = pool;
    const floating = allocations.find(({ node }) => node === floatingNode)?.block;
    return [{ namespace, network, range, pool: name, phase, ...(floating && { floating }), blocks: [] }];
  });
  return { version: 0, ranges };
}

async function readSliceObjects({ client, node, signal }: SlicesOptions): Promise<kinds.StoredPool[]> {
  const selectors = [sliceSelector, ...(node === undefined ? [] : [`${nodeLabelName}=${nodeLabel(node)}`])];
  const found = await client.listAll(kinds.ipPools, { labelSelector: selectors.join(","), signal });
  // A label may be a name that was cut.
  return found.filter(({ metadata }) => node === undefined || metadata.annotations?.[nodeLabelName] === node);
}

/** The one of this name; without one, all. */
async function listOrOne<T extends KubeObject>(
  { client, signal }: SlicesOptions,
  resource: Resource<T>,
  name: string | undefined,
  namespace?: string,
): Promise<T[]> {
  if (name === undefined) return await client.listAll(resource, { namespace, signal });
  const found = await client.lookUp(resource, namespace === undefined ? { name } : { namespace, name }, { signal });
  return found === undefined ? [] : [found];
}

/** Undefined: it is no node's Lease of ours. */
function leaseViewOf(lease: Lease) {
  const node = nodeOfLease(lease);
  if (node === undefined) return undefined;
  const { metadata, spec } = lease;
  const renewedMs = Date.parse(spec?.renewTime ?? "");
  return {
    node,
    /** The id of the journal that renews it; empty: none. */
    journal: spec?.holderIdentity ?? "",
    /** By the node's clock; undefined: never. */
    renewedMs: Number.isNaN(renewedMs) ? undefined : renewedMs,
    /** How long the node hands out by its journal alone. */
    authorityMs: (spec?.leaseDurationSeconds ?? 0) * 1000,
    slices: readNodeSlices(metadata.annotations?.[slicesAnnotation]),
    object: lease,
  };
}

/** How long ago by our clock; a node whose clock is ahead was heard just now. Undefined: never. */
export function leaseAgeMs(lease: NodeLeaseView | undefined, nowMs: number): number | undefined {
  return lease?.renewedMs === undefined ? undefined : Math.max(0, nowMs - lease.renewedMs);
}
