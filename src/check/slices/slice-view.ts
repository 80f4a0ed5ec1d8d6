// A slice's IPPool, and a NodeSlicePool, as tools see them. Pure. Promised: an object that is no slice is told in a
// sentence, not dropped; an unreadable grant or word is absent, as for everyone (src/api/slices/slice-grant.ts).
import { parseObject } from "../../api/kind.ts";
import { readAllocations } from "../../api/pools/allocations.ts";
import { ipPoolKind } from "../../api/pools/ip-pool.ts";
import { parseRange } from "../../api/pools/range.ts";
import { nodeSlicePoolKind } from "../../api/slices/node-slice-pool.ts";
import { blocksOf, floatingNode, type NodeWord, type SliceGrant } from "../../api/slices/slice-grant.ts";
import type { StoredPool } from "../../cluster/resources.ts";
import { readSlice, type SliceObject } from "../../cluster/slice-object.ts";
import type { Condition } from "../../kube/conditions.ts";
import { keyOf, type KubeObject, parseKey } from "../../kube/meta.ts";
import type { Prefix } from "../../net/prefix.ts";
import type { Allocation, SlicePlan } from "../../slices/plan/facts.ts";
import type { ExistingPool } from "../../slices/ranges/desired-ranges.ts";

/** One slice, or a piece of one, of one node. */
export interface SliceView extends Pick<SliceObject, "namespace" | "node" | "network" | "block"> {
  /** namespace/name of its IPPool. */
  readonly key: string;
  readonly name: string;
  /** Name of the NodeSlicePool, in the same namespace. */
  readonly pool: string;
  readonly grant: SliceGrant | undefined;
  readonly word: NodeWord | undefined;
  /** Who confirmed that the node is off, and when, by its Lease; empty: nobody. */
  readonly fenced: string;
  /** What the mirror says is held. */
  readonly entries: ReturnType<typeof readAllocations>["entries"];
  /** Sentences: entries of the mirror that cannot be read. */
  readonly faults: readonly string[];
  readonly uid: string;
}

export interface SlicePoolView extends Pick<ExistingPool, "namespace" | "name" | "range" | "sliceLength"> {
  readonly key: string;
  /** What is assigned; the floating part is not among it. */
  readonly allocations: readonly Allocation[];
  /** The part that belongs to no node; two while it moves. */
  readonly floating: readonly Prefix[];
  /** How many slices, as the status says; empty: it does not. */
  readonly totals: Readonly<Record<keyof SlicePlan["totals"], string>>;
  readonly conditions: readonly Condition[];
}

export interface Unreadable {
  readonly object: string;
  readonly why: string;
}

export function sliceViewOf(object: StoredPool): SliceView | Unreadable {
  const named = `IPPool ${keyOf(object)}`;
  const slice = readSlice(object);
  if (slice === undefined) {
    const why = `${named} is marked as a slice, and its range, node or pool cannot be read: nobody uses it. Delete it.`;
    return { object: named, why };
  }
  try {
    const { name = "", uid = "" } = object.metadata;
    const { namespace, node, network, block, grant, word } = slice;
    const { entries, unreadable } = readAllocations(parseObject(ipPoolKind, object));
    return {
      key: keyOf(object),
      namespace,
      name,
      node,
      network,
      pool: parseKey(slice.pool).name,
      block,
      grant,
      word,
      fenced: "",
      entries,
      faults: unreadable.map(({ message }) => message),
      uid,
    };
  } catch (error) {
    return { object: named, why: (error as Error).message };
  }
}

export function slicePoolViewOf(object: KubeObject): SlicePoolView | Unreadable {
  const named = `NodeSlicePool ${keyOf(object)}`;
  try {
    const { metadata, spec, status } = parseObject(nodeSlicePoolKind, object);
    const all = (status?.allocations ?? []).flatMap(({ nodeName, sliceRange }) =>
      blocksOf([sliceRange]).map((block) => ({ node: nodeName, block })),
    );
    return {
      key: keyOf(object),
      namespace: metadata.namespace ?? "",
      name: metadata.name ?? "",
      range: parseRange(spec.range).prefix,
      sliceLength: Number(spec.sliceSize.replace("/", "")),
      // whereabouts writes free slices too, with no node.
      allocations: all.filter(({ node }) => node !== "" && node !== floatingNode),
      floating: all.filter(({ node }) => node === floatingNode).map(({ block }) => block),
      totals: {
        total: String(status?.totalSlices ?? ""),
        assigned: String(status?.assignedSlices ?? ""),
        free: String(status?.freeSlices ?? ""),
      },
      conditions: (status?.conditions ?? []) as readonly Condition[],
    };
  } catch (error) {
    return { object: named, why: (error as Error).message };
  }
}

export function isUnreadable(view: SliceView | SlicePoolView | Unreadable): view is Unreadable {
  return "why" in view;
}
