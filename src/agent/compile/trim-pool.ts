// A managed pool without what no agent reads: its status has a line for each of its addresses.
import type { StoredManagedPool } from "../../cluster/resources.ts";
import { picked } from "../../kube/meta.ts";

export function trimManagedPool(pool: StoredManagedPool): StoredManagedPool {
  return {
    ...picked(pool, "apiVersion", "kind"),
    metadata: picked(pool.metadata, "name", "namespace", "uid", "resourceVersion", "creationTimestamp"),
    spec: pool.spec,
  };
}
