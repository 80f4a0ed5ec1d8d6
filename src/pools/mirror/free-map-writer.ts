// Publishes which addresses of a pool are taken, for daemons that choose one: a hint, one ConfigMap per pool, written
// when it has changed, and now and then anyway, since an old map reads as one without a leader. The pool object owns
// the map: both go together. An old map costs conflicts: a daemon finds its choice taken. So the map is written at once
// where an eighth of the free addresses changed hands; else with the other changes of five seconds.
import type { IPPool } from "../../api/pools/ip-pool.ts";
import { encodeFreeMap, freeMapName } from "../../cluster/free-map.ts";
import { type ConfigMap, configMaps } from "../../cluster/resources.ts";
import type { Domain } from "../../ipam/ledger.ts";
import { isApiError } from "../../kube/errors.ts";
import { parseKey } from "../../kube/meta.ts";
import type { KubeClient } from "../../kube/rest.ts";
import { unless } from "../../kube/unless.ts";
import type { Address } from "../../net/address.ts";
import { common, IntervalSet } from "../../net/interval-set.ts";
import type { Prefix } from "../../net/prefix.ts";

export interface MapFacts {
  readonly pool: IPPool;
  readonly prefix: Prefix;
  /** Of a pool that is adopted; undefined: it is not. */
  readonly domain?: Domain | undefined;
  /** Held, cooling, or named by an entry without a hold. */
  readonly taken: Iterable<Address>;
  readonly holders: number;
}

/** Daemons trust a map for a minute. A thousand pools at rest are 33 small writes a second. */
export const renewMs = 30_000;
/** What is for eyes, and hints that are right for the most part, are behind by so much: one write in place of five. */
export const lagMs = 5000;
/** How often an urgent pool is looked at, and its map read after a lost address (src/node/pools/pool-resolver.ts). */
export const urgentMs = 250;
const urgentPart = 8n;

interface Written {
  /** Of which pool, and in which domain it is handed out: never behind. */
  readonly head: string;
  readonly text: string;
  readonly taken: IntervalSet;
  readonly ms: number;
}

export class FreeMapWriter {
  readonly #client: KubeClient;
  readonly #now: () => number;
  /** namespace/name of the pool -> what was written last, and when */
  readonly #written = new Map<string, Written>();

  constructor(client: KubeClient, now: () => number) {
    this.#client = client;
    this.#now = now;
  }

  /** Whether it was written, and when it is due again if nothing changes. */
  async write(facts: MapFacts, signal: AbortSignal): Promise<{ readonly isWritten: boolean; readonly dueMs: number }> {
    const { pool, prefix, domain, holders } = facts;
    const { apiVersion, kind, metadata } = pool;
    const { namespace = "", name = "", uid = "" } = metadata;
    const key = `${namespace}/${name}`;
    const taken = IntervalSet.of(Array.from(facts.taken, (address) => ({ first: address, last: address })));
    const head = `${uid} ${domain}`;
    const text = JSON.stringify([head, holders, Array.from(taken, ({ first, last }) => `${first}-${last}`)]);
    const nowMs = this.#now();
    const next = { head, text, taken, ms: nowMs };
    const dueMs = dueAfter(this.#written.get(key), next, prefix.size);
    if (dueMs > 0) return { isWritten: false, dueMs };
    const told = { pool: key, prefix, ...(domain !== undefined && { domain }), taken: [...taken], holders };
    const map = encodeFreeMap(namespace, { ...told, writtenMs: nowMs });
    const ownerReferences = [{ apiVersion, kind, name, uid }];
    try {
      const isWritten = await this.#put({ ...map, metadata: { ...map.metadata, ownerReferences } }, signal);
      if (isWritten) this.#written.set(key, next);
      return { isWritten, dueMs: isWritten ? renewMs : 0 };
    } catch (error) {
      // Without a map, in a namespace where we may not write, daemons list; the rest of the pool is shown all the same.
      if (!isApiError(error, "forbidden")) throw error;
      this.#written.set(key, next);
      return { isWritten: false, dueMs: renewMs };
    }
  }

  /** The pool is gone. The server removes what belonged to it, but takes its time. */
  async remove(pool: string, signal: AbortSignal): Promise<void> {
    this.#written.delete(pool);
    const { namespace = "" } = parseKey(pool);
    const map = this.#client.delete(configMaps, { namespace, name: freeMapName(pool) }, { signal });
    await unless(["not-found", "forbidden"], map);
  }

  /** False: another leader created it at the same moment. */
  async #put(map: ConfigMap, signal: AbortSignal): Promise<boolean> {
    const there = await unless(["not-found"], this.#client.update(configMaps, map, { signal }));
    if (there !== undefined) return true;
    return (await unless(["already-exists"], this.#client.create(configMaps, map, { signal }))) !== undefined;
  }
}

/** Whoever goes by a map from before loses every eighth address to another, or more. */
export function isUrgent(changed: bigint, free: bigint): boolean {
  return changed > 0n && changed * urgentPart >= free;
}

/** How long the next map may wait. */
function dueAfter(last: Written | undefined, { head, text, taken, ms }: Written, size: bigint): number {
  if (last?.head !== head) return 0;
  // A wall clock that was set back makes every map due: one of the future would be believed for as long.
  const waitMs = (lag: number) => (ms < last.ms ? 0 : Math.max(0, last.ms + lag - ms));
  if (last.text === text) return waitMs(renewMs);
  const changed = taken.size + last.taken.size - 2n * common(taken, last.taken).size;
  return isUrgent(changed, size - taken.size) ? 0 : waitMs(lagMs);
}
