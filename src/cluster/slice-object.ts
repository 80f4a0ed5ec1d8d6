// A slice's IPPool, read and made, for leader, nodes, commands. whereabouts gives it the same name: it is one object.
import { domainAnnotation, networkAnnotation, nodeLabel, nodeLabelName } from "../api/holds/hold-marks.ts";
import { holdfastGroup } from "../api/kind.ts";
import { poolName } from "../api/pools/pool-name.ts";
import {
  grantAnnotation,
  nodeWordAnnotation,
  type NodeWord,
  readGrant,
  readNodeWord,
  type SliceGrant,
  sliceLabelName,
  slicedRangeAnnotation,
  slicePoolAnnotation,
} from "../api/slices/slice-grant.ts";
import type { Domain } from "../ipam/ledger.ts";
import { type DeepReadonly, picked } from "../kube/meta.ts";
import { orNone } from "../net/or-none.ts";
import { parseCidr, type Prefix } from "../net/prefix.ts";
import type { StoredPool } from "./resources.ts";
import type { SlicedRange } from "./sliced-ranges.ts";

/** Annotation: the node's name in full; a label is cut at 63 characters. */
const sliceNodeAnnotation = `${holdfastGroup}/node`;

export interface SliceObject extends Pick<SlicePlace, "namespace" | "network" | "pool" | "node" | "block"> {
  readonly object: DeepReadonly<StoredPool>;
  /** namespace/name of the NodeSlicePool. */
  readonly pool: string;
  readonly range?: Prefix | undefined;
  readonly grant?: SliceGrant | undefined;
  readonly word?: NodeWord | undefined;
}

/** Each object is read once: a large cluster has 50,000 slices, and most do not change between two looks. */
export function readOnce<T extends object, R>(read: (object: T) => R): (object: T) => R {
  const readings = new WeakMap<T, R>();
  return (object) => {
    if (!readings.has(object)) readings.set(object, read(object));
    return readings.get(object) as R;
  };
}

/** Undefined: its range, its node or its pool cannot be read. */
export const readSlice = readOnce((object: DeepReadonly<StoredPool>): SliceObject | undefined => {
  const { namespace = "", annotations = {} } = object.metadata;
  const { [sliceNodeAnnotation]: node = "", [slicePoolAnnotation]: pool = "" } = annotations;
  const { [networkAnnotation]: network = "" } = annotations;
  const block = prefixOf(object.spec.range);
  if (block === undefined || node === "" || pool === "") return undefined;
  const range = prefixOf(annotations[slicedRangeAnnotation]);
  const [grant, word] = [readGrant({ annotations }), readNodeWord({ annotations })];
  return { object, namespace, node, block, pool: `${namespace}/${pool}`, network, range, grant, word };
});

export function prefixOf(text: string | undefined): Prefix | undefined {
  return orNone(() => parseCidr(text ?? "").prefix);
}

/** Entries are the node's mirror and some 150 bytes for each pod: nobody here reads them. */
export function trimSlice({ metadata, spec, ...object }: StoredPool): StoredPool {
  const kept = picked(metadata, "name", "namespace", "uid", "resourceVersion", "deletionTimestamp", "labels");
  const annotations = picked(metadata.annotations, ...keptAnnotations);
  const plain = { range: spec.range, allocations: {} };
  return { ...picked(object, "apiVersion", "kind"), metadata: { ...kept, annotations }, spec: plain };
}

const ofPlace = [sliceNodeAnnotation, networkAnnotation, slicePoolAnnotation, slicedRangeAnnotation];
const keptAnnotations = [...ofPlace, grantAnnotation, nodeWordAnnotation];

export interface SlicePlace extends Pick<SlicedRange, "namespace" | "network" | "pool" | "range"> {
  readonly node: string;
  readonly block: Prefix;
  /** Where a node that drains records what it holds. */
  readonly sharedDomain?: Domain | undefined;
}

export function sliceName({ block, network, node }: Pick<SlicePlace, "block" | "network" | "node">): string {
  return poolName({ range: block, network, node });
}

/** Labels and annotations that make an IPPool a slice. It is handed out of when it has a grant too. */
export function sliceMarks({ network, pool, range, node, sharedDomain }: SlicePlace) {
  return {
    labels: { [sliceLabelName]: "true", [nodeLabelName]: nodeLabel(node) },
    annotations: {
      [sliceNodeAnnotation]: node,
      [networkAnnotation]: network,
      [slicePoolAnnotation]: pool,
      [slicedRangeAnnotation]: `${range}`,
      ...(sharedDomain !== undefined && { [domainAnnotation]: sharedDomain }),
    },
  };
}
