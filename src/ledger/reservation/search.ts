// Reading objects of one domain: one by name, or holds by selector. One under two names counts once, by today's name.
import type { Hold } from "../../ipam/ledger.ts";
import { lookUp } from "../../kube/look-up.ts";
import type { KubeClient } from "../../kube/rest.ts";
import type { Signal } from "../../kube/unless.ts";
import type { HeldObject } from "./list-holds.ts";
import { holdsIn, type Records } from "./records.ts";

export async function searchHolds(
  client: KubeClient,
  records: Records,
  labelSelector: string,
  signal: Signal,
  mayBeOld = false,
): Promise<Hold[]> {
  /** address -> its hold */
  const found = new Map<string, Hold>();
  const item = (object: HeldObject) => {
    for (const hold of holdsIn(records, object)) {
      const key = hold.address.toString();
      if (!found.has(key) || object.metadata.name === records.nameOf(hold.address)) found.set(key, hold);
    }
  };
  const options = { namespace: records.namespace, labelSelector, signal, ...(mayBeOld && { resourceVersion: "0" }) };
  await client.listEach(records.resource, options, { item, restart: () => found.clear() });
  return [...found.values()];
}

export function readObject(client: KubeClient, { resource, namespace }: Records, name: string, signal: Signal) {
  return lookUp(client, resource, { namespace, name }, { signal });
}
