// The NodeSlicePool, read and made. Of whereabouts' own pools, entries without a node are slices that nobody has.
import { networkAnnotation } from "../../api/holds/hold-marks.ts";
import { holdfastGroup } from "../../api/kind.ts";
import type { StoredSlicePool } from "../../cluster/resources.ts";
import { prefixOf, readOnce } from "../../cluster/slice-object.ts";
import { readPhase, type SlicedPhase } from "../../cluster/sliced-ranges.ts";
import type { DeepReadonly } from "../../kube/meta.ts";
import { keyOf as allocationKey } from "../plan/entry.ts";
import type { Allocation } from "../plan/facts.ts";
import type { ExistingPool, PoolSpec } from "../ranges/desired-ranges.ts";

/** Annotation: the prefix length of the floating part, which whereabouts has no field for. */
const floatingSizeAnnotation = `${holdfastGroup}/floating-slice-size`;
/** Annotation: whether the range is sliced (src/cluster/sliced-ranges.ts). On record here before any daemon is told. */
const phaseAnnotation = `${holdfastGroup}/phase`;

export interface ReadPool extends ExistingPool {
  /** Undefined: the range is not cut, or the pool is whereabouts'. */
  readonly phase?: SlicedPhase | undefined;
  readonly object: DeepReadonly<StoredSlicePool>;
  readonly allocations: readonly Allocation[];
  readonly lastGeneration: number;
  /** `NODE BLOCK` of every allocation. */
  readonly assigned: ReadonlySet<string>;
}

/** Undefined: its range or its size cannot be read. */
export const readPool = readOnce((object: DeepReadonly<StoredSlicePool>): ReadPool | undefined => {
  const { namespace = "", name = "", annotations = {} } = object.metadata;
  const range = prefixOf(object.spec.range);
  const sliceLength = lengthOf(object.spec.sliceSize);
  if (range === undefined || sliceLength === undefined) return undefined;
  const network = annotations[networkAnnotation];
  const floatingLength = lengthOf(annotations[floatingSizeAnnotation]);
  const phase = readPhase(annotations[phaseAnnotation]);
  const allocations = (object.status?.allocations ?? []).flatMap(({ nodeName, sliceRange }): Allocation[] => {
    const block = nodeName === "" ? undefined : prefixOf(sliceRange);
    return block === undefined ? [] : [{ node: nodeName, block }];
  });
  const { lastGeneration = 0 } = object.status ?? {};
  const assigned = new Set(allocations.map(allocationKey));
  const spec = { namespace, name, network, range, sliceLength, floatingLength, phase };
  return { object, ...spec, allocations, lastGeneration, assigned, hasSlices: allocations.length > 0 };
});

function lengthOf(text: string | undefined): number | undefined {
  const [, digits] = /^\/?(\d{1,3})$/.exec(text ?? "") ?? [];
  return digits === undefined ? undefined : Number(digits);
}

export function poolObject(wanted: PoolSpec): StoredSlicePool {
  const { namespace, name, network, range, sliceLength, floatingLength } = wanted;
  const floating = floatingLength !== undefined && { [floatingSizeAnnotation]: `/${floatingLength}` };
  const metadata = { namespace, name, annotations: { [networkAnnotation]: network, ...floating } };
  return { metadata, spec: { range: `${range}`, sliceSize: `/${sliceLength}` } };
}

/** The object with the spec; undefined where it has it. */
export function withSpec(object: DeepReadonly<StoredSlicePool>, spec: PoolSpec): StoredSlicePool | undefined {
  const wanted = poolObject(spec);
  const read = readPool(object);
  const isSame =
    read?.network === spec.network &&
    read.sliceLength === spec.sliceLength &&
    read.floatingLength === spec.floatingLength &&
    `${read.range}` === `${spec.range}`;
  if (isSame) return undefined;
  const { metadata, ...rest } = object as StoredSlicePool;
  const { [floatingSizeAnnotation]: _, ...others } = metadata.annotations ?? {};
  const annotations = { ...others, ...wanted.metadata.annotations };
  return { ...rest, metadata: { ...metadata, annotations }, spec: { ...rest.spec, ...wanted.spec } };
}

/** The object with the phase on record; undefined where it has it. */
export function withPhase(object: DeepReadonly<StoredSlicePool>, phase: SlicedPhase): StoredSlicePool | undefined {
  if (object.metadata.annotations?.[phaseAnnotation] === phase) return undefined;
  const { metadata, ...rest } = object as StoredSlicePool;
  return { ...rest, metadata: { ...metadata, annotations: { ...metadata.annotations, [phaseAnnotation]: phase } } };
}
