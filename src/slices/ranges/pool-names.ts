// Which NodeSlicePool a wish has: the one that is there, or a new name (docs/decisions/0013). Pure. Promised: no two wishes get one pool;
// a pool keeps its name as long as it is, since journals name their domain by it.
import { ObjectError } from "../../api/error.ts";
import { poolName } from "../../api/pools/pool-name.ts";
import { nodeSlicePoolName } from "../../api/slices/slice-name.ts";
import { type ExistingPool, poolOf, type Wish } from "./desired-ranges.ts";

/** Key of the result: that of the wish. Value: the pool's name, in the wish's namespace. */
export function poolNames(wishes: readonly Wish[], pools: readonly ExistingPool[]): Map<string, string> {
  const names = new Map<string, string>();
  const taken = new Set(pools.map(({ namespace, name }) => `${namespace}/${name}`));
  for (const wish of wishes) {
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

/** The one to take first. */
function newNames({ network, range, uses }: Wish): string[] {
  const { definition, index } = uses[0]!;
  const own = attempt(() => nodeSlicePoolName({ network, configuration: definition.config.name, range }));
  const withRange = own && attempt(() => poolName({ range, network: own, node: "" }));
  // The configuration's name may be none that an object may have: then the range alone, as the fork does.
  const byRange = attempt(() => poolName({ range, network: "", node: "" }));
  const further = [withRange, byRange].filter((name) => name !== undefined);
  return own !== undefined && index === 0 ? [own, ...further] : further;
}

/** Undefined: no object may have such a name. */
export function attempt(make: () => string): string | undefined {
  try {
    return make();
  } catch (error) {
    if (error instanceof ObjectError) return undefined;
    throw error;
  }
}
