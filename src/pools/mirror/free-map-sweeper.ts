// Deletes free maps whose pool went while no leader was there. The server's garbage collection does so too, where it
// runs.
import { freeMapName, freeMapSelector } from "../../cluster/free-map.ts";
import { readPool } from "../../cluster/pool-object.ts";
import { type ConfigMap, configMaps } from "../../cluster/resources.ts";
import { parseKey } from "../../kube/meta.ts";
import { unless } from "../../kube/unless.ts";
import { removeObject } from "../../ledger/reservation/guarded-delete.ts";
import { everyRound, type Work } from "../rounds.ts";

export interface SweeperOptions extends Omit<Work, "caches"> {
  /** Where pools are or may be. A namespace that nothing names any more is the garbage collection's alone. */
  readonly namespaces: () => Iterable<string>;
}

/** What is left over harms nobody: daemons do not go by a map of more than a minute. */
const intervalMs = 600_000;

export class FreeMapSweeper {
  readonly #options: SweeperOptions;

  constructor(options: SweeperOptions) {
    this.#options = options;
  }

  run(signal: AbortSignal): Promise<void> {
    const every = { what: "looking for free maps without a pool", ms: intervalMs };
    return everyRound(this.#options, every, signal, () => this.sweep(signal));
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
    const list = this.#options.client.list(configMaps, { namespace, labelSelector: freeMapSelector, signal });
    const { items = [] } = (await unless(["forbidden", "not-found"], list)) ?? {};
    return items.filter(({ metadata, data }) => metadata.name === freeMapName(data?.["pool"] ?? ""));
  }

  async #remove(map: ConfigMap, signal: AbortSignal): Promise<boolean> {
    const { client } = this.#options;
    const { namespace = "", name } = parseKey(map.data?.["pool"] ?? "");
    if ((await readPool(client, { namespace, name, signal })) !== undefined) return false;
    return (await removeObject(client, configMaps, map, signal)) === "removed";
  }
}
