// (body follows)
import type { Domain } from "../ipam/ledger.ts";
import type { KubeClient } from "../kube/rest.ts";
import type { PoolObject } from "./pool-object.ts";

export interface AdoptionOptions {
  readonly pool: PoolObject;
  /** Where the pool's addresses are unique: decides which kind of object a hold is. */
  readonly domain: Domain;
  readonly now: () => number;
  /** Upstream is active: holds are made, but nothing is marked. */
  readonly coexistence?: boolean;
  readonly signal?: AbortSignal;
}

export interface Adoption {
  /** As it is now: `adopted`, unless upstream is active or something could not be read. */
  readonly pool: PoolObject;
  /** Holds that were made. */
  readonly created: number;
  /** Sentences: entries that keep the pool from being adopted. Empty: it is adopted. */
  readonly blocking: readonly string[];
  /** Sentences: what was found and means no address, or two owners of one address. */
  readonly warnings: readonly string[];
}

export async function adoptPool(_client: KubeClient, _options: AdoptionOptions): Promise<Adoption> {
  throw new Error("not built yet");
}
