// What each NodeSlicePool should be: the wishes of the definitions with their pools, and pools that nobody wishes any more. Pure.
import { domainOfPool } from "../../api/pools/domain.ts";
import { poolName } from "../../api/pools/pool-name.ts";
import type { SliceObject } from "../../cluster/slice-object.ts";
import type { DefinitionObject } from "../../cni/config/definitions.ts";
import type { Domain } from "../../ipam/ledger.ts";
import { prefixesOf } from "../../net/cover.ts";
import { IntervalSet } from "../../net/interval-set.ts";
import { intervalOf } from "../../net/interval.ts";
import type { Prefix } from "../../net/prefix.ts";
import type { ExistingPool, PoolSpec, Refusal, Wish, Wishes } from "./desired-ranges.ts";
import { poolNames } from "./pool-names.ts";

export interface PoolTarget extends PoolSpec {
  /** namespace/name of the pool. */
  readonly key: string;
  /** False: everything drains, and then the pool goes. */
  readonly wanted: boolean;
  readonly useful: IntervalSet;
  /** No definition of the range was ever changed. */
  readonly isOriginal: boolean;
  /** In which its addresses are once they are shared; undefined: its slices say it. */
  readonly sharedDomain?: Domain;
  readonly refusal?: Omit<Refusal, "wish">;
  readonly disagreement?: string;
  /** Those that ask for slices. */
  readonly definitions: readonly DefinitionObject[];
}

/** Pools that are gone while slices of them are there, or in journals: they are made again under the names that those know. */
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

/** Key of the result: that of the target. `pools`: also those that were lost. */
export function targetsOf({ accepted, refused }: Wishes, pools: readonly ExistingPool[]): Map<string, PoolTarget> {
  const targets = new Map<string, PoolTarget>();
  const wishes = [...accepted, ...refused.map(({ wish }) => wish)];
  const names = poolNames(wishes, pools);
  const refusals = new Map(refused.map(({ wish, reason, why }) => [wish.key, { reason, why }]));
  for (const wish of wishes) {
    const name = names.get(wish.key);
    if (name === undefined) continue;
    const target = wishedTarget(wish, name, refusals.get(wish.key));
    targets.set(target.key, target);
  }
  for (const pool of pools) {
    const key = `${pool.namespace}/${pool.name}`;
    // One of whereabouts' that no definition explains is left alone: what network it is of is not known.
    if (!targets.has(key) && pool.network !== undefined)
      targets.set(key, unwishedTarget(key, { ...pool, network: pool.network }));
  }
  return targets;
}

/** Refused on grounds of who asks: no object is made for it. */
export function isUnheard({ refusal }: Pick<PoolTarget, "refusal">): boolean {
  return refusal?.reason === "NotTrusted" || refusal?.reason === "TooMany";
}

function wishedTarget(wish: Wish, name: string, refusal: Omit<Refusal, "wish"> | undefined): PoolTarget {
  const { namespace, network, range, sliceLength, floatingLength, useful, isOriginal, disagreement } = wish;
  const { protectsOverlaps, uses } = wish;
  const sharedPool = { namespace, name: poolName({ range, network, node: "" }) };
  return {
    key: `${namespace}/${name}`,
    namespace,
    name,
    network,
    range,
    sliceLength,
    ...(floatingLength !== undefined && { floatingLength }),
    wanted: true,
    useful,
    isOriginal,
    sharedDomain: domainOfPool({ network, protectsOverlaps, pool: sharedPool }),
    ...(refusal && { refusal }),
    ...(disagreement !== undefined && { disagreement }),
    definitions: [...new Set(uses.map(({ definition }) => definition.object))],
  };
}

function unwishedTarget(key: string, pool: Omit<PoolSpec, "floatingLength">): PoolTarget {
  const { namespace, name, network, range, sliceLength } = pool;
  const nothing = { wanted: false, useful: new IntervalSet(), isOriginal: false, definitions: [] };
  return { key, namespace, name, network, range, sliceLength, ...nothing };
}

/** What the state says of blocks is bounded: 1,000 of 45 characters are 45 KB, of the megabyte that a ConfigMap has. */
const mostBlocks = 1000;

/** The blocks, joined where they touch; the whole range where there are too many to say. */
export function joinedBlocks(blocks: readonly Prefix[], range: Prefix): Prefix[] {
  const joined = [...IntervalSet.of(blocks.map(intervalOf))].flatMap(prefixesOf);
  return joined.length <= mostBlocks ? joined : [range];
}
