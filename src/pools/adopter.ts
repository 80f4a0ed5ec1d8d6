// Adopts pools: a hold for every entry that has none, in the domain in which the pool's addresses are handed out.
import { formatDomain } from "../api/pools/domain.ts";
import type { IPPool } from "../api/pools/ip-pool.ts";
import { markedDomain } from "../api/pools/pool-domain.ts";
import { poolObject } from "../cluster/pool-object.ts";
import type { Domain } from "../ipam/ledger.ts";
import { adoptPool } from "../ledger/adoption/adoption.ts";
import { networkOf, type PoolIndex, poolRangeOf } from "./membership.ts";
import { domainOfUse, type NetworkUse, usesOfPool } from "./networks.ts";
import type { Work } from "./rounds.ts";

/** The pool's own mark; else the strictest definition that uses it; else its name, with overlaps protected. */
function domainOf(pool: IPPool, uses: readonly NetworkUse[], pools: PoolIndex): Domain {
  const marked = markedDomain(pool);
  if (marked !== undefined) return marked;
  const { namespace = "", name = "" } = pool.metadata;
  const own = usesOfPool(uses, { namespace, name });
  const strictest = own.find(({ config }) => config.overlappingRanges) ?? own[0];
  const range = poolRangeOf(pool);
  // Under several names, as earlier schemes left it, it is one pool: daemons call it by the first that is there.
  const called = strictest?.names.find((each) => {
    const prefix = pools.get(`${namespace}/${each}`)?.range.prefix;
    return prefix !== undefined && String(prefix) === String(range?.range.prefix);
  });
  const domain = strictest && domainOfUse(strictest, called ?? name);
  if (domain !== undefined) return domain;
  return formatDomain({ scope: "network", network: range === undefined ? "" : networkOf(range) });
}

export interface AdopterOptions extends Pick<Work, "client" | "log"> {
  readonly now: () => number;
  readonly pools: PoolIndex;
  /** The mirror may be behind a release: what it shows and nothing holds is left for the next look. Default: no. */
  readonly patient?: boolean;
}

/** Whether the pool is adopted now, or waits for the mirror. Only while whereabouts is silent: the pool is marked. */
export async function adopt(
  { client, now, log, pools, patient = false }: AdopterOptions,
  pool: IPPool,
  uses: readonly NetworkUse[],
  signal: AbortSignal,
): Promise<{ readonly isDone: boolean; readonly waits: boolean }> {
  const about = { pool: `${pool.metadata.namespace}/${pool.metadata.name}` };
  const domain = domainOf(pool, uses, pools);
  const adoption = await adoptPool(client, { pool: poolObject(pool), domain, now, patient, signal });
  const { warnings, blocking, created, waitsFor = 0 } = adoption;
  for (const why of warnings) log.warn("found while adopting", { ...about, why });
  for (const why of blocking) log.warn("not adopted yet", { ...about, why });
  if (waitsFor > 0) log.debug("entries of our own have no hold yet", { ...about, count: waitsFor });
  if (created > 0) log.info("made holds for entries", { ...about, domain, count: created });
  // Whoever was faster with another domain has adopted it for that one, or the next look does.
  return { isDone: adoption.pool.adopted, waits: waitsFor > 0 };
}
