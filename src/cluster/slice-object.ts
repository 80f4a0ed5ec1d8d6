// The IPPool of a slice, read and made, for the leader, the nodes and the commands. Its name is the one that whereabouts gives it, so that one that whereabouts made is the same object.
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
import { parseCidr, type Prefix } from "../net/prefix.ts";
import type { StoredPool } from "./resources.ts";

/** Annotation: the node's name in full; a label is cut at 63 characters. */
const sliceNodeAnnotation = `${holdfastGroup}/node`;

export interface SliceObject {
  readonly object: DeepReadonly<StoredPool>;
  readonly namespace: string;
  readonly node: string;
  readonly block: Prefix;
  /** namespace/name of the NodeSlicePool. */
  readonly pool: string;
  readonly network: string;
  readonly range?: Prefix;
  readonly grant?: SliceGrant;
  readonly word?: NodeWord;
}

/** A large cluster has 50,000, and most do not change between two looks: each version of an object is read once. */
const readings = new WeakMap<object, SliceObject | undefined>();

/** Undefined: its range, its node or its pool cannot be read. */
export function readSlice(object: DeepReadonly<StoredPool>): SliceObject | undefined {
  if (readings.has(object)) return readings.get(object);
  const slice = reading(object);
  readings.set(object, slice);
  return slice;
}

function reading(object: DeepReadonly<StoredPool>): SliceObject | undefined {
  const { namespace = "", annotations = {} } = object.metadata;
  const { [sliceNodeAnnotation]: node = "", [slicePoolAnnotation]: pool = "" } = annotations;
  const block = prefixOf(object.spec.range);
  if (block === undefined || node === "" || pool === "") return undefined;
  const range = prefixOf(annotations[slicedRangeAnnotation]);
  const grant = readGrant({ annotations });
  const word = readNodeWord({ annotations });
  return {
    object,
    namespace,
    node,
    block,
    pool: `${namespace}/${pool}`,
    network: annotations[networkAnnotation] ?? "",
    ...(range && { range }),
    ...(grant && { grant }),
    ...(word && { word }),
  };
}

export function prefixOf(text: string | undefined): Prefix | undefined {
  try {
    return parseCidr(text ?? "").prefix;
  } catch {
    return undefined;
  }
}

/** Entries are the node's mirror and some 150 bytes for each pod: nobody here reads them. */
export function trimSlice({ metadata, spec, ...object }: StoredPool): StoredPool {
  return {
    ...picked(object, "apiVersion", "kind"),
    metadata: {
      ...picked(metadata, "name", "namespace", "uid", "resourceVersion", "deletionTimestamp", "labels"),
      annotations: picked(metadata.annotations, ...keptAnnotations),
    },
    spec: { range: spec.range, allocations: {} },
  };
}

const keptAnnotations = [
  sliceNodeAnnotation,
  networkAnnotation,
  slicePoolAnnotation,
  slicedRangeAnnotation,
  grantAnnotation,
  nodeWordAnnotation,
];

export interface SlicePlace {
  readonly namespace: string;
  readonly network: string;
  /** The NodeSlicePool's name. */
  readonly pool: string;
  readonly range: Prefix;
  readonly node: string;
  readonly block: Prefix;
  /** Where a node that drains records what it holds. */
  readonly sharedDomain?: Domain;
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
