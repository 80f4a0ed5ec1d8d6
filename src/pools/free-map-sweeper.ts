import { type Clock, sleep } from "../kube/clock.ts";
// Deletes free maps whose pool is gone: those that were missed, because no leader was there when the pool went. The server's own
// garbage collection does so too, where it runs.
import { isApiError } from "../kube/errors.ts";
import { parseKey } from "../kube/meta.ts";
import type { KubeClient } from "../kube/rest.ts";
import { freeMapName, freeMapSelector } from "../ledger/free-map.ts";
import { readPool } from "../ledger/pool-object.ts";
import { removeObject } from "../ledger/removal.ts";
import { type ConfigMap, configMaps } from "../ledger/resources.ts";
import type { Log } from "../log/log.ts";

export interface SweeperOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Log;
  /** Where pools are or may be. A namespace that nothing names any more is the garbage collection's alone. */
  readonly namespaces: () => Iterable<string>;
  /** Handing out is paused: nothing is deleted. Default: never. */
  readonly isPaused?: (signal: AbortSignal) => Promise<boolean>;
}

/** What is left over harms nobody: daemons do not go by a map of more than a minute. */
const intervalMs = 600_000;

export class FreeMapSweeper {
  readonly #options: SweeperOptions;

  constructor(options: SweeperOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    while (!signal.aborted) {
      try {
        await this.sweep(signal);
      } catch (error) {
        if (!signal.aborted) log.warn("free maps could not be looked at; it is tried again", { error });
      }
      await sleep(clock, intervalMs, signal);
    }
  }

  /** How many were deleted. */
  async sweep(signal: AbortSignal): Promise<number> {
    let deleted = 0;
    for (const namespace of new Set(this.#options.namespaces())) {
      for (const map of await this.#maps(namespace, signal)) {
        if ((await this.#options.isPaused?.(signal)) === true) return deleted;
        if (await this.#remove(map, signal)) deleted += 1;
      }
    }
    return deleted;
  }

  /** Where we may not look there are none. */
  async #maps(namespace: string, signal: AbortSignal): Promise<ConfigMap[]> {
    try {
      const { items } = await this.#options.client.list(configMaps, {
        namespace,
        labelSelector: freeMapSelector,
        signal,
      });
      return items.filter(({ metadata, data }) => metadata.name === freeMapName(data?.["pool"] ?? ""));
    } catch (error) {
      if (isApiError(error, "forbidden", "not-found")) return [];
      throw error;
    }
  }

  async #remove(map: ConfigMap, signal: AbortSignal): Promise<boolean> {
    const { client } = this.#options;
    const { namespace = "", name } = parseKey(map.data?.["pool"] ?? "");
    if ((await readPool(client, { namespace, name, signal })) !== undefined) return false;
    return (await removeObject(client, configMaps, map, signal)) === "removed";
  }
}
