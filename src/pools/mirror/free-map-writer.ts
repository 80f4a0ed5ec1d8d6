// Publishes which addresses of a pool are taken, for daemons that choose one: a hint, one ConfigMap per pool, written when it
// has changed, and now and then all the same, since an old map reads as one without a leader. It belongs to the pool object, so that it goes with it.
import type { IPPool } from "../../api/pools/ip-pool.ts";
import { encodeFreeMap, freeMapName } from "../../cluster/free-map.ts";
import { type ConfigMap, configMaps } from "../../cluster/resources.ts";
import type { Domain } from "../../ipam/ledger.ts";
import { isApiError } from "../../kube/errors.ts";
import { parseKey } from "../../kube/meta.ts";
import type { KubeClient } from "../../kube/rest.ts";
import { unless } from "../../kube/unless.ts";
import type { Address } from "../../net/address.ts";
import { IntervalSet } from "../../net/interval-set.ts";
import type { Interval } from "../../net/interval.ts";
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

export class FreeMapWriter {
  readonly #client: KubeClient;
  readonly #now: () => number;
  /** namespace/name of the pool -> what was written last, in text, and when */
  readonly #written = new Map<string, { readonly text: string; readonly ms: number }>();

  constructor(client: KubeClient, now: () => number) {
    this.#client = client;
    this.#now = now;
  }

  /** True if it was written. */
  async write({ pool, prefix, domain, taken, holders }: MapFacts, signal: AbortSignal): Promise<boolean> {
    const { namespace = "", name = "", uid } = pool.metadata;
    const key = `${namespace}/${name}`;
    const intervals = takenIntervals(taken);
    const text = JSON.stringify([uid, domain, holders, intervals.map(({ first, last }) => `${first}-${last}`)]);
    const last = this.#written.get(key);
    const nowMs = this.#now();
    if (last?.text === text && nowMs - last.ms < renewMs) return false;
    const facts = { pool: key, prefix, ...(domain !== undefined && { domain }), taken: intervals, holders };
    const map = encodeFreeMap(namespace, { ...facts, writtenMs: nowMs });
    try {
      const isWritten = await this.#put(ownedBy(pool, map), signal);
      if (isWritten) this.#written.set(key, { text, ms: nowMs });
      return isWritten;
    } catch (error) {
      // In a namespace where we may not write it, there is none: daemons list, and the rest of the pool is shown all the same.
      if (!isApiError(error, "forbidden")) throw error;
      this.#written.set(key, { text, ms: nowMs });
      return false;
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

function ownedBy({ apiVersion, kind, metadata }: IPPool, map: ConfigMap): ConfigMap {
  const { name = "", uid = "" } = metadata;
  return { ...map, metadata: { ...map.metadata, ownerReferences: [{ apiVersion, kind, name, uid }] } };
}

function takenIntervals(addresses: Iterable<Address>): Interval[] {
  return [...IntervalSet.of(Array.from(addresses, (address) => ({ first: address, last: address })))];
}
