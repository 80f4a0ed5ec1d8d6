// The IPPool of one slice as a daemon reads it: whose it is, the grant, the word that stands on it, and who is entered in it. Pure.
//
// Promised: a grant of which any block cannot be read is no grant. A piece that was lent must never be handed out because a hand
// mistyped it.
import { type PoolContents, readAllocations } from "../../api/allocations.ts";
import { formatDomain } from "../../api/domain.ts";
import { networkAnnotation } from "../../api/hold-marks.ts";
import type { IPPool } from "../../api/ip-pool.ts";
import { holdfastGroup } from "../../api/kind.ts";
import { markedDomain } from "../../api/pool-domain.ts";
import { poolName } from "../../api/pool-name.ts";
import { parseRange } from "../../api/range.ts";
import {
  grantAnnotation,
  type NodeWord,
  readGrant,
  readNodeWord,
  type SliceGrant,
  slicedRangeAnnotation,
  slicePoolAnnotation,
} from "../../api/slice-grant.ts";
import type { Domain, Hold } from "../../ipam/ledger.ts";
import { type Interval, parseBlock } from "../../net/interval.ts";
import { containsPrefix, parsePrefix, type Prefix } from "../../net/prefix.ts";

export const nodeAnnotation = `${holdfastGroup}/node`;

/** A grant with its blocks read. */
export interface ReadGrant {
  readonly grant: SliceGrant;
  readonly without: readonly Prefix[];
  readonly taken: readonly Interval[];
}

export interface SliceObject {
  /** namespace/name */
  readonly key: string;
  readonly namespace: string;
  readonly node: string;
  readonly network: string;
  readonly range: Prefix;
  readonly slice: Prefix;
  /** Of the journal: named by the NodeSlicePool. */
  readonly domain: Domain;
  /** Undefined: there is none, or it cannot be read. */
  readonly granted?: ReadGrant;
  readonly word?: NodeWord;
  readonly contents: PoolContents;
  /** Where its addresses are recorded once they are shared. */
  readonly shared: SharedPlace;
}

export interface SharedPlace {
  readonly domain: Domain;
  /** namespace/name of the shared range's IPPool. */
  readonly pool: string;
}

/** Undefined: the annotations that make an IPPool a slice are not all there, or say what cannot be. */
export function readSliceObject(object: IPPool): SliceObject | undefined {
  const { namespace = "", name = "", annotations = {} } = object.metadata;
  const { [nodeAnnotation]: node, [slicePoolAnnotation]: pool } = annotations;
  const range = prefixOf(annotations[slicedRangeAnnotation]);
  const slice = parseRange(object.spec.range).prefix;
  if (!node || !pool || range === undefined || !isWithin(range, slice)) return undefined;
  const network = annotations[networkAnnotation] ?? "";
  const granted = grantOf(annotations, slice);
  const word = readNodeWord(object.metadata);
  return {
    key: `${namespace}/${name}`,
    namespace,
    node,
    network,
    range,
    slice,
    domain: formatDomain({ scope: "slice", namespace, name: pool }),
    ...(granted && { granted }),
    ...(word && { word }),
    contents: readAllocations(object),
    shared: sharedPlaceOf(object, { namespace, network, range }),
  };
}

/** Who is entered. Of a key with several meanings all are held: one of them is in use. */
export function holdsIn({ domain, contents }: SliceObject): Hold[] {
  return contents.entries.flatMap(({ address, others, owner }) =>
    [address, ...others].map((each) => ({ domain, address: each, owner, version: "" })),
  );
}

/** As the shared pool of the whole range has it; the mark is the controller's word for ranges whose overlaps are not protected. */
function sharedPlaceOf(
  object: IPPool,
  { namespace, network, range }: { readonly namespace: string; readonly network: string; readonly range: Prefix },
): SharedPlace {
  const domain = markedDomain(object) ?? formatDomain({ scope: "network", network });
  return { domain, pool: `${namespace}/${poolName({ range, network, node: "" })}` };
}

function grantOf(annotations: Readonly<Record<string, string>>, slice: Prefix): ReadGrant | undefined {
  const grant = annotations[grantAnnotation] === undefined ? undefined : readGrant({ annotations });
  if (grant === undefined) return undefined;
  const without = grant.without.map(prefixOf);
  const taken = grant.taken.map(intervalOf);
  if (!without.every((each) => each !== undefined && isWithin(slice, each))) return undefined;
  if (!taken.every((each) => each !== undefined)) return undefined;
  return { grant, without: without as Prefix[], taken };
}

function isWithin(outer: Prefix, inner: Prefix): boolean {
  return outer.family === inner.family && containsPrefix(outer, inner);
}

function prefixOf(text: string | undefined): Prefix | undefined {
  return attempt(() => parsePrefix(text ?? ""));
}

function intervalOf(text: string): Interval | undefined {
  return attempt(() => parseBlock(text));
}

/** What does not parse was written by a hand. */
function attempt<T>(parse: () => T): T | undefined {
  try {
    return parse();
  } catch {
    return undefined;
  }
}
