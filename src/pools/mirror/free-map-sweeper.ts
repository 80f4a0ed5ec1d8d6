// Deletes free maps whose pool went while no leader was there. The server's garbage collection does so too, where it
// runs.
import { freeMapName, freeMapSelector } from "../../cluster/free-map.ts";
import { readPool } from "../../cluster/pool-object.ts";
import { configMaps } from "../../cluster/resources.ts";
import { parseKey } from "../../kube/meta.ts";
import { unless } from "../../kube/unless.ts";
import { removeObject } from "../../ledger/reservation/guarded-delete.ts";
import { everyRound, type Work } from "../rounds.ts";

/** What is left over harms nobody: daemons do not go by a map of more than a minute. */
const every = { what: "looking for free maps without a pool", ms: 600_000 };

/** `namespaces`: where pools are or may be. One that nothing names any more is the garbage collection's alone. */
export function sweepFreeMaps(work: Sweep, namespaces: () => Iterable<string>, signal: AbortSignal): Promise<void> {
  return everyRound(work, every, signal, () => sweepOnce(work, namespaces(), signal));
}

type Sweep = Pick<Work, "client" | "clock" | "log" | "isPaused">;

/** How many were deleted. */
export async function sweepOnce(
  { client, isPaused }: Pick<Sweep, "client" | "isPaused">,
  namespaces: Iterable<string>,
  signal: AbortSignal,
): Promise<number> {
  let deleted = 0;
  for (const namespace of new Set(namespaces)) {
    const list = client.list(configMaps, { namespace, labelSelector: freeMapSelector, signal });
    // Where we may not look there are none.
    const { items = [] } = (await unless(["forbidden", "not-found"], list)) ?? {};
    for (const map of items) {
      const key = map.data?.["pool"] ?? "";
      if (map.metadata.name !== freeMapName(key)) continue;
      if ((await isPaused?.(signal)) === true) return deleted;
      const pool = parseKey(key);
      if ((await readPool(client, { namespace: pool.namespace ?? "", name: pool.name, signal })) !== undefined)
        continue;
      if ((await removeObject(client, configMaps, map, signal)) === "removed") deleted += 1;
    }
  }
  return deleted;
}
