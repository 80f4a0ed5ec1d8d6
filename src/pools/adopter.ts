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
function domainsOf(pool: IPPool, uses: readonly NetworkUse[]): readonly Domain[] {
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
}

/** True if the pool is adopted now. Only for who knows that whereabouts is silent: the pool is marked. */
export async function adopt(
  { client, now, log }: AdopterOptions,
  pool: IPPool,
  uses: readonly NetworkUse[],
  signal: AbortSignal,
): Promise<boolean> {
  const about = { pool: `${pool.metadata.namespace}/${pool.metadata.name}` };
  const domains = domainsOf(pool, uses);
  for (const domain of domains) {
    const {
      warnings,
      blocking,
      created,
      pool: after,
    } = await adoptPool(client, { pool: poolObject(pool), domain, now, signal });
    for (const why of warnings) log.warn("found while adopting", { ...about, why });
    for (const why of blocking) log.warn("not adopted yet", { ...about, why });
    if (created > 0) log.info("made holds for entries", { ...about, domain, count: created });
    if (!after.adopted) return false;
  }
  return true;
}
