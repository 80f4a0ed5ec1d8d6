// Every hold by the pools that show it, kept up to date object by object: a change of one address costs one pool's
// work. Invariant: `of(pool)` are exactly the holds put last for which the index names that pool. A change of the pools
// themselves is rare and makes everything anew.
import { PoolIndex, type PoolRange } from "./membership.ts";
import type { PoolHold } from "./pool-hold.ts";

export class HoldsByPool {
  #index = new PoolIndex([]);
  /** The object's key -> what it says; several where its name has several meanings. */
  readonly #objects = new Map<string, readonly PoolHold[]>();
  /** namespace/name of the pool -> object's key -> holds */
  #byPool = new Map<string, Map<string, readonly PoolHold[]>>();

  get pools(): PoolIndex {
    return this.#index;
  }

  setPools(pools: Iterable<PoolRange>): void {
    this.#index = new PoolIndex(pools);
    this.#byPool = new Map();
    for (const [key, held] of this.#objects) this.#enter(key, held);
  }

  /** The pools that the object was or is in. No holds: the object is gone, or cannot be read. */
  put(key: string, held: readonly PoolHold[]): ReadonlySet<string> {
    const before = this.#poolsOf(this.#objects.get(key) ?? []);
    for (const pool of before) this.#byPool.get(pool)?.delete(key);
    if (held.length === 0) this.#objects.delete(key);
    else this.#objects.set(key, held);
    return before.union(this.#enter(key, held));
  }

  of(pool: string): PoolHold[] {
    return [...(this.#byPool.get(pool)?.values() ?? [])].flat();
  }

  /** How many objects the pool shows, about. */
  sizeOf(pool: string): number {
    return this.#byPool.get(pool)?.size ?? 0;
  }

  all(): IteratorObject<PoolHold> {
    return this.#objects.values().flatMap((held) => held);
  }

  #enter(key: string, held: readonly PoolHold[]): ReadonlySet<string> {
    const pools = this.#poolsOf(held);
    for (const pool of pools) {
      const inPool = held.filter((each) => this.#index.of(each.hold, each.namespace).some((at) => at.key === pool));
      const members = this.#byPool.get(pool) ?? new Map<string, readonly PoolHold[]>();
      this.#byPool.set(pool, members.set(key, inPool));
    }
    return pools;
  }

  #poolsOf(held: readonly PoolHold[]): ReadonlySet<string> {
    return new Set(held.flatMap((each) => this.#index.of(each.hold, each.namespace).map((pool) => pool.key)));
  }
}
