// Publishes which addresses of a pool are taken, for daemons that choose one: a hint, one ConfigMap per pool, written when it
// has changed. It belongs to the pool object, so that it goes with it.
import type { IPPool } from "../api/ip-pool.ts";
import { isApiError } from "../kube/errors.ts";
import type { KubeClient } from "../kube/rest.ts";
import { encodeFreeMap } from "../ledger/free-map.ts";
import { type ConfigMap, configMaps } from "../ledger/resources.ts";
import type { Address } from "../net/address.ts";
import { IntervalSet } from "../net/interval-set.ts";
import type { Interval } from "../net/interval.ts";
import type { Prefix } from "../net/prefix.ts";

export interface MapFacts {
  readonly pool: IPPool;
  readonly prefix: Prefix;
  /** Held, cooling, or named by an entry without a hold. */
  readonly taken: Iterable<Address>;
  readonly holders: number;
}

export class FreeMapWriter {
  readonly #client: KubeClient;
  readonly #now: () => number;
  /** namespace/name of the pool -> what was written last, in text */
  readonly #written = new Map<string, string>();

  constructor(client: KubeClient, now: () => number) {
    this.#client = client;
    this.#now = now;
  }

  /** True if it was written. */
  async write({ pool, prefix, taken, holders }: MapFacts, signal: AbortSignal): Promise<boolean> {
    const { namespace = "", name = "", uid } = pool.metadata;
    const key = `${namespace}/${name}`;
    const intervals = takenIntervals(taken);
    const text = JSON.stringify([uid, holders, intervals.map(({ first, last }) => `${first}-${last}`)]);
    if (this.#written.get(key) === text) return false;
    const map = encodeFreeMap(namespace, { pool: key, prefix, taken: intervals, writtenMs: this.#now(), holders });
    await this.#put(ownedBy(pool, map), signal);
    this.#written.set(key, text);
    return true;
  }

  /** The pool is gone; the server removes what belonged to it. */
  forget(pool: string): void {
    this.#written.delete(pool);
  }

  async #put(map: ConfigMap, signal: AbortSignal): Promise<void> {
    try {
      await this.#client.update(configMaps, map, { signal });
    } catch (error) {
      if (!isApiError(error, "not-found")) throw error;
      await this.#client.create(configMaps, map, { signal });
    }
  }
}

function ownedBy({ apiVersion, kind, metadata }: IPPool, map: ConfigMap): ConfigMap {
  const { name = "", uid = "" } = metadata;
  return { ...map, metadata: { ...map.metadata, ownerReferences: [{ apiVersion, kind, name, uid }] } };
}

export function takenIntervals(addresses: Iterable<Address>): Interval[] {
  const set = new IntervalSet();
  for (const address of addresses) set.add({ first: address, last: address });
  return [...set];
}
