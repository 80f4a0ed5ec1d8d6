// Adopts pools: a hold for every entry that has none, in every domain in which the pool's addresses are handed out.
import { formatDomain } from "../api/domain.ts";
import type { IPPool } from "../api/ip-pool.ts";
import type { Domain } from "../ipam/ledger.ts";
import type { KubeClient } from "../kube/rest.ts";
import { adoptPool } from "../ledger/adoption.ts";
import { poolObject } from "../ledger/pool-object.ts";
import type { Log } from "../log/log.ts";
import { networkOf, poolRangeOf } from "./membership.ts";
import { domainOfUse, type NetworkUse } from "./networks.ts";

/**
 * Where the pool's addresses are unique. By the definitions that use it; without any, by its own name, as whereabouts would:
 * overlaps protected. Two definitions that disagree make two domains, and an entry counts in both.
 */
export function domainsOf(pool: IPPool, uses: readonly NetworkUse[]): readonly Domain[] {
  const { namespace = "", name = "" } = pool.metadata;
  const own = uses.filter((use) => use.namespace === namespace && use.names.includes(name));
  if (own.length > 0) return [...new Set(own.map((use) => domainOfUse(use, name)))];
  const range = poolRangeOf(pool);
  return [formatDomain({ scope: "network", network: range === undefined ? "" : networkOf(range) })];
}

export interface AdopterOptions {
  readonly client: KubeClient;
  readonly now: () => number;
  readonly log: Log;
  /** Mark the pool when all is done. Only who knows that whereabouts is silent may. */
  readonly mark: boolean;
}

/** True if the pool is adopted now. */
export async function adopt(
  { client, now, log, mark }: AdopterOptions,
  pool: IPPool,
  uses: readonly NetworkUse[],
  signal: AbortSignal,
): Promise<boolean> {
  const about = { pool: `${pool.metadata.namespace}/${pool.metadata.name}` };
  const domains = domainsOf(pool, uses);
  let isAdopted = true;
  for (const [index, domain] of domains.entries()) {
    // Marked with the last one only: until then some entry may have no hold in one of the domains.
    const coexistence = !mark || index < domains.length - 1;
    const result = await adoptPool(client, { pool: poolObject(pool), domain, now, coexistence, signal });
    for (const why of result.warnings) log.warn("found while adopting", { ...about, why });
    for (const why of result.blocking) log.warn("not adopted yet", { ...about, why });
    if (result.created > 0) log.info("made holds for entries", { ...about, domain, count: result.created });
    isAdopted &&= result.blocking.length === 0;
    if (!isAdopted) return false;
  }
  return isAdopted;
}
