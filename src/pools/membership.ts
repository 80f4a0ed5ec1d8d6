// Which pools an address shows in: the one that its hold names, else every pool of its domain whose range has it. Pure.
// An address may be in several pools where ranges overlap; it is taken in all of them. Not promised: that every hold
// has a pool. A hold whose pool was deleted counts all the same, for those who free and for those who check.
import { ObjectError } from "../api/error.ts";
import { holdfastGroup } from "../api/kind.ts";
import { parseDomain } from "../api/pools/domain.ts";
import type { IPPool } from "../api/pools/ip-pool.ts";
import { poolNamesToRead, readPoolName } from "../api/pools/pool-name.ts";
import { parseRange } from "../api/pools/range.ts";
import type { Hold } from "../ipam/ledger.ts";
import { attempt } from "../net/coded-error.ts";
import { contains, type Cidr } from "../net/prefix.ts";
import type { PoolHold } from "./pool-hold.ts";

export interface PoolRange {
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  readonly range: Cidr;
  /** What its annotation says; undefined: whereabouts made it, and only its name tells. */
  readonly network: string | undefined;
  readonly node: string;
}

/** Undefined where the range is none: such a pool has no addresses. */
export function poolRangeOf(pool: IPPool): PoolRange | undefined {
  const { namespace = "", name = "", annotations } = pool.metadata;
  const range = attempt(ObjectError, () => parseRange(pool.spec.range));
  if (range === undefined) return undefined;
  const network = annotations?.[`${holdfastGroup}/network-name`];
  const node = annotations?.[`${holdfastGroup}/node`] ?? "";
  return { key: `${namespace}/${name}`, namespace, name, range, network, node };
}

/** Empty: the network without a name. A node's slice is not found by its name, which may mean several things. */
function isOfNetwork(pool: PoolRange, network: string): boolean {
  if (pool.network !== undefined) return pool.network === network;
  const identity = { range: pool.range.prefix, network, node: "" };
  return poolNamesToRead(identity, "whereabouts", pool.range).includes(pool.name);
}

/** The network of a pool: what its annotation says, else what stands before the range in its name. Empty: none. */
export function networkOf(pool: PoolRange): string {
  if (pool.network !== undefined) return pool.network;
  return readPoolName(pool.name).find(({ before }) => isOfNetwork(pool, before))?.before ?? "";
}

/** Pools by what a hold can be asked for: made once per pass, read for every hold. */
export class PoolIndex {
  /** namespace/name -> pool */
  readonly #byKey: ReadonlyMap<string, PoolRange>;
  /** namespace -> its pools */
  readonly #byNamespace: ReadonlyMap<string, readonly PoolRange[]>;
  /** namespace, network -> the pools of that network */
  readonly #byNetwork = new Map<string, readonly PoolRange[]>();

  constructor(pools: Iterable<PoolRange>) {
    const all = [...pools];
    this.#byKey = new Map(all.map((pool) => [pool.key, pool]));
    this.#byNamespace = Map.groupBy(all, ({ namespace }) => namespace);
  }

  get(key: string): PoolRange | undefined {
    return this.#byKey.get(key);
  }

  values(): IterableIterator<PoolRange> {
    return this.#byKey.values();
  }

  /** The pools of a hold whose object is in this namespace. */
  of(hold: Hold, namespace: string): readonly PoolRange[] {
    const domain = parseDomain(hold.domain);
    // Pools of VM networks are of another kind, and may have the names of these.
    if (domain.scope === "vm-network") return [];
    const named = this.#byKey.get(hold.note?.pool ?? "");
    if (named !== undefined && contains(named.range.prefix, hold.address)) return [named];
    if (domain.scope !== "network") {
      const own = this.#byKey.get(`${domain.namespace}/${domain.name}`);
      return own !== undefined && contains(own.range.prefix, hold.address) ? [own] : [];
    }
    const { network } = domain;
    const key = `${namespace}\0${network}`;
    const found =
      this.#byNetwork.get(key) ?? this.#byNamespace.get(namespace)?.filter((pool) => isOfNetwork(pool, network)) ?? [];
    this.#byNetwork.set(key, found);
    return found.filter(({ range }) => contains(range.prefix, hold.address));
  }
}

export interface PoolsOfHolds {
  of(hold: Hold, namespace: string): readonly Pick<PoolRange, "key">[];
}

/** namespace/name of the pool, or what `keyOf` makes of it -> what is held of it; what cools down is nobody's. */
export function membersOf(
  all: Iterable<PoolHold>,
  index: PoolsOfHolds,
  keyOf: (held: PoolHold, pool: string) => string = (_, pool) => pool,
): Map<string, PoolHold[]> {
  const members = new Map<string, PoolHold[]>();
  for (const held of all) {
    if (held.cooling !== undefined) continue;
    for (const pool of index.of(held.hold, held.namespace)) {
      const key = keyOf(held, pool.key);
      const others = members.get(key);
      if (others === undefined) members.set(key, [held]);
      else others.push(held);
    }
  }
  return members;
}
