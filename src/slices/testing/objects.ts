// Objects for tests, as controller, daemons and whereabouts write them (docs/decisions/0013): for servers or readers.
import { networkAnnotation, nodeLabel, nodeLabelName } from "../../api/holds/hold-marks.ts";
import type { PoolAllocation } from "../../api/pools/ip-pool.ts";
import { poolName } from "../../api/pools/pool-name.ts";
import {
  leaseNodeAnnotation,
  nodeLeaseName,
  type NodeSlices,
  slicesAnnotation,
  writeNodeSlices,
} from "../../api/slices/node-lease.ts";
import {
  grantAnnotation,
  type NodeWord,
  nodeWordAnnotation,
  type SliceGrant,
  sliceLabelName,
  slicedRangeAnnotation,
  slicePoolAnnotation,
  writeGrant,
  writeNodeWord,
} from "../../api/slices/slice-grant.ts";
import { noteOn, offAnnotation } from "../../cluster/fencing.ts";
import type { ConfigMap, Node, StoredSlicePool, StoredPool } from "../../cluster/resources.ts";
import { type SlicedRange, slicedKey, writeSlicedRanges } from "../../cluster/sliced-ranges.ts";
import { stateObject } from "../../cluster/testing/state.ts";
import type { Lease } from "../../kube/lease.ts";
import { parsePrefix } from "../../net/prefix.ts";

export const system = "kube-system";
const apiVersion = "whereabouts.cni.cncf.io/v1alpha1";

export interface SliceParts {
  readonly node?: string;
  readonly block?: string;
  readonly pool?: string;
  readonly network?: string;
  readonly range?: string;
  /** null: there is none. */
  readonly grant?: Partial<SliceGrant> | null;
  /** Absent: in accord with the grant and the entries. null: the node has not spoken. */
  readonly word?: Partial<NodeWord> | null;
  /** Offset -> entry. */
  readonly entries?: Readonly<Record<string, PoolAllocation>>;
}

export function sliceObject(parts: SliceParts = {}): StoredPool {
  const {
    node = "n1",
    block = "10.0.0.0/24",
    pool = "blue",
    network = "blue",
    range = "10.0.0.0/16",
    entries = {},
  } = parts;
  const grant: SliceGrant = { generation: 1, serial: 1, phase: "active", without: [], taken: [], ...parts.grant };
  const { generation, serial } = grant;
  const used = Object.keys(entries).length;
  const word: NodeWord = {
    journal: journalOf(node),
    generation,
    serial,
    sealed: false,
    moved: [],
    used,
    free: 256 - used,
    short: 0,
    ...parts.word,
  };
  return {
    apiVersion,
    kind: "IPPool",
    metadata: {
      namespace: system,
      name: poolName({ range: parsePrefix(block), network, node }),
      labels: { [sliceLabelName]: "true", [nodeLabelName]: nodeLabel(node) },
      annotations: {
        [nodeLabelName]: node,
        [networkAnnotation]: network,
        [slicePoolAnnotation]: pool,
        [slicedRangeAnnotation]: range,
        ...(parts.grant !== null && { [grantAnnotation]: writeGrant(grant) }),
        ...(parts.word !== null && { [nodeWordAnnotation]: writeNodeWord(word) }),
      },
    },
    spec: { range: block, allocations: { ...entries } },
  };
}

const journalOf = (node: string) => `journal-of-${node}`;

export function entry(pod: string, uid = ""): PoolAllocation {
  return { id: "c", podref: `shop/${pod}`, ifname: "net1", ...(uid !== "" && { uid }) };
}

export interface SlicePoolParts {
  readonly name?: string;
  readonly range?: string;
  readonly sliceSize?: string;
  /** `node block` */
  readonly allocations?: readonly string[];
  readonly status?: Partial<StoredSlicePool["status"]>;
}

export function slicePoolObject(parts: SlicePoolParts = {}): StoredSlicePool {
  const { name = "blue", range = "10.0.0.0/16", sliceSize = "/24", allocations = ["n1 10.0.0.0/24"] } = parts;
  return {
    apiVersion,
    kind: "NodeSlicePool",
    metadata: { namespace: system, name },
    spec: { range, sliceSize },
    status: {
      allocations: allocations.map((text) => {
        const [nodeName = "", sliceRange = ""] = text.split(" ");
        return { nodeName, sliceRange };
      }),
      totalSlices: 256,
      assignedSlices: allocations.length,
      freeSlices: 256 - allocations.length,
      ...parts.status,
    },
  };
}

export function leaseObject(node: string, renewedMs: number | undefined, slices: Partial<NodeSlices> = {}): Lease {
  return {
    metadata: {
      namespace: system,
      name: nodeLeaseName(node),
      annotations: {
        [leaseNodeAnnotation]: node,
        [slicesAnnotation]: writeNodeSlices({ grants: {}, waiting: {}, ...slices }),
      },
    },
    spec: {
      holderIdentity: journalOf(node),
      leaseDurationSeconds: 43_200,
      ...(renewedMs !== undefined && { renewTime: new Date(renewedMs).toISOString().replace("Z", "000Z") }),
    },
  };
}

/** A Lease whose node was declared off. */
export function offLease(node: string, by: string, renewedMs?: number): Lease {
  const lease = leaseObject(node, renewedMs);
  const annotations = { ...lease.metadata.annotations, [offAnnotation]: noteOn(lease, by) };
  return { ...lease, metadata: { ...lease.metadata, annotations } };
}

export function nodeObject(name: string, ready: "True" | "False" | "Unknown" = "True"): Node {
  return { metadata: { name }, status: { conditions: [{ type: "Ready", status: ready }] } };
}

export function slicedState(...ranges: readonly Partial<SlicedRange>[]): ConfigMap {
  const all = ranges.map((each): SlicedRange => ({
    namespace: system,
    network: "blue",
    range: parsePrefix("10.0.0.0/16"),
    pool: "blue",
    phase: "open",
    blocks: [],
    ...each,
  }));
  const object = stateObject(system, { coexistence: false, why: "", paused: "" });
  return { ...object, data: { ...object.data, [slicedKey]: writeSlicedRanges({ version: 1, ranges: all }) } };
}
