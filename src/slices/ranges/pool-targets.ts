// The target of each NodeSlicePool: wishes of definitions with their pools, and pools without a wish. Pure.
import { ObjectError } from "../../api/error.ts";
import { settledDomain } from "../../api/pools/pool-domain.ts";
import { poolName } from "../../api/pools/pool-name.ts";
import { sliceUseKey } from "../../api/slices/node-lease.ts";
import { nodeSlicePoolName } from "../../api/slices/slice-name.ts";
import type { SliceObject } from "../../cluster/slice-object.ts";
import type { DefinitionObject } from "../../cni/config/definitions.ts";
import type { Domain } from "../../ipam/ledger.ts";
import { attempt } from "../../net/coded-error.ts";
import { prefixesOf } from "../../net/cover.ts";
import { IntervalSet } from "../../net/interval-set.ts";
import { intervalOf } from "../../net/interval.ts";
import type { Prefix } from "../../net/prefix.ts";
import {
  type ExistingPool,
  poolOf,
  type PoolSpec,
  type Refusal,
  type Sharing,
  type Wish,
  type Wishes,
} from "./desired-ranges.ts";

export interface PoolTarget extends PoolSpec {
  /** namespace/name of the pool. */
  readonly key: string;
  /** False: its slices drain, and then the pool goes. */
  readonly wanted: boolean;
  readonly useful: IntervalSet;
  /** No definition of the range was ever changed. */
  readonly isOriginal: boolean;
  /** Of what is shared of its range, where no object says it yet; undefined: no definition has the range. */
  readonly sharedDomain?: Domain | undefined;
  readonly refusal?: Omit<Refusal, "wish"> | undefined;
  readonly disagreement?: string | undefined;
  /** The definitions that ask for slices. */
  readonly definitions: readonly DefinitionObject[];
}

/** Lost pools whose slices are there, or in journals: they are made again under the names that those know. */
export function lostPools(
  pools: readonly ExistingPool[],
  slices: Iterable<Pick<SliceObject, "pool" | "namespace" | "network" | "block" | "range">>,
): ExistingPool[] {
  const there = new Set(pools.map(({ namespace, name }) => `${namespace}/${name}`));
  const lost = new Map<string, ExistingPool>();
  for (const { pool, namespace, network, block, range = block } of slices) {
    if (there.has(pool)) continue;
    const sliceLength = Math.min(block.length, lost.get(pool)?.sliceLength ?? block.length);
    lost.set(pool, { namespace, name: pool.slice(namespace.length + 1), network, range, sliceLength, hasSlices: true });
  }
  return [...lost.values()];
}

/** Key of the result: the target's. `pools`: also the lost ones. */
export function targetsOf(
  { accepted, refused }: Wishes,
  pools: readonly ExistingPool[],
  sharing: ReadonlyMap<string, Sharing>,
): Map<string, PoolTarget> {
  const sharedDomainOf = ({ namespace, network, range }: Pick<PoolSpec, "namespace" | "network" | "range">) => {
    const rule = sharing.get(sliceUseKey({ namespace, network, range }));
    const pool = { namespace, name: poolName({ range, network, node: "" }) };
    return rule && settledDomain({ ...rule, network, pool }, undefined);
  };
  const targets = new Map<string, PoolTarget>();
  const wishes = [...accepted, ...refused.map(({ wish }) => wish)];
  const names = poolNames(wishes, pools);
  const refusals = new Map(refused.map(({ wish, reason, why }) => [wish.key, { reason, why }]));
  for (const wish of wishes) {
    const name = names.get(wish.key);
    if (name === undefined) continue;
    const { namespace, network, range, sliceLength, floatingLength, useful, isOriginal, disagreement } = wish;
    const { uses } = wish;
    const key = `${namespace}/${name}`;
    const spec = { namespace, name, network, range, sliceLength, floatingLength };
    const sharedDomain = sharedDomainOf(wish);
    const definitions = [...new Set(uses.map(({ definition }) => definition.object))];
    const said = { refusal: refusals.get(wish.key), disagreement, definitions };
    targets.set(key, { key, ...spec, wanted: true, useful, isOriginal, sharedDomain, ...said });
  }
  for (const pool of pools) {
    const key = `${pool.namespace}/${pool.name}`;
    // A pool of whereabouts' that no definition explains is left alone: its network is not known.
    const { namespace, name, network, range, sliceLength } = pool;
    if (targets.has(key) || network === undefined) continue;
    const nothing = { wanted: false, useful: new IntervalSet(), isOriginal: false, definitions: [] };
    const sharedDomain = sharedDomainOf({ namespace, network, range });
    targets.set(key, { key, namespace, name, network, range, sliceLength, sharedDomain, ...nothing });
  }
  return targets;
}

/** Refused for its author or for the limits: no object is made for it. */
export function isUnheard({ refusal }: Pick<PoolTarget, "refusal">): boolean {
  return refusal?.reason === "NotTrusted" || refusal?.reason === "TooMany";
}

/** Blocks in the state are bounded: 1,000 of 45 characters are 45 KB, of the megabyte that a ConfigMap has. */
const mostBlocks = 1000;

/** The blocks, joined where they touch; the whole range where there are too many to say. */
export function joinedBlocks(blocks: readonly Prefix[], range: Prefix): Prefix[] {
  const joined = [...IntervalSet.of(blocks.map(intervalOf))].flatMap(prefixesOf);
  return joined.length <= mostBlocks ? joined : [range];
}

/** Key of a wish -> the name of its pool, existing or new. No two wishes get one pool. */
export function poolNames(wishes: readonly Wish[], pools: readonly ExistingPool[]): Map<string, string> {
  const names = new Map<string, string>();
  const taken = new Set(pools.map(({ namespace, name }) => `${namespace}/${name}`));
  for (const wish of wishes) {
    // A pool keeps its name for life: journals name their domain by it.
    const there = poolOf(wish, pools);
    if (there !== undefined) names.set(wish.key, there.name);
  }
  for (const wish of wishes) {
    if (names.has(wish.key)) continue;
    const name = newNames(wish).find((each) => !taken.has(`${wish.namespace}/${each}`));
    if (name === undefined) continue;
    names.set(wish.key, name);
    taken.add(`${wish.namespace}/${name}`);
  }
  return names;
}

/** In order of preference. A name that no object may have is passed over. */
function newNames({ network, range, uses }: Wish): string[] {
  const { definition, index } = uses[0]!;
  const own = attempt(ObjectError, () => nodeSlicePoolName({ network, configuration: definition.config.name, range }));
  const withRange = own && attempt(ObjectError, () => poolName({ range, network: own, node: "" }));
  // The configuration's name may be invalid for an object: then the range alone, as the fork does.
  const byRange = attempt(ObjectError, () => poolName({ range, network: "", node: "" }));
  const further = [withRange, byRange].filter((name) => name !== undefined);
  return own !== undefined && index === 0 ? [own, ...further] : further;
}
