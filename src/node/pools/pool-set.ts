// The pools of one domain: one for each definition, and all of them hear of the same addresses.
import type { Cooling } from "../../ipam/cooling.ts";
import type { PoolDefinition } from "../../ipam/definition.ts";
import type { Hold } from "../../ipam/ledger.ts";
import { type Owner, sameOwner } from "../../ipam/owner.ts";
import type { Pool } from "../../ipam/pool.ts";
import type { Address } from "../../net/address.ts";
import type { Interval } from "../../net/interval.ts";
import { contains } from "../../net/prefix.ts";

/** The key of a pool. Every address and prefix prints itself; interval sets and reservations are plain. */
export function definitionText(definition: PoolDefinition): string {
  const { prefix, start, end, outside, excludes = [], reservations = [], gateway, l3, cooldownMs } = definition;
  const run = ({ first, last }: Interval) => `${first}-${last}`;
  const ends = [prefix, start, end, gateway].map((each) => (each === undefined ? "" : each.toString()));
  const withheld = [...excludes.map(run), ...reservations.map(({ interval, reason }) => `${run(interval)} ${reason}`)];
  return JSON.stringify([ends, withheld, excludes.length, outside, l3, cooldownMs]);
}

export function learnIn(pool: Pool, address: Address, owner: Owner): void {
  if (contains(pool.definition.prefix, address)) pool.learn(address, owner);
}

/** One of the pools took it: the others learn it. */
export function tookIn(pools: Iterable<Pool>, { address, owner }: Hold): void {
  for (const pool of pools) {
    const there = pool.ownerAt(address);
    if (there === undefined || !sameOwner(there, owner)) learnIn(pool, address, owner);
  }
}

/** The owner gave it back, and it cools. */
export function releasedIn(pools: Iterable<Pool>, owner: Owner, cooling: Cooling): void {
  const { address } = cooling;
  for (const pool of pools) {
    const there = pool.ownerAt(address);
    if (there !== undefined && !sameOwner(there, owner)) continue;
    pool.forget(address);
    if (contains(pool.definition.prefix, address)) pool.cool(cooling);
  }
}
