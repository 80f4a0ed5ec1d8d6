// What an agent follows at the API server: managed pools, and the Holds of one network. Trimmed to what is read.
import { heldSelector, poolAnnotation } from "../api/holds/hold-marks.ts";
import { hashLabel } from "../api/holds/owner-record.ts";
import { vmNetworkLabelName } from "../api/vmnet/marks.ts";
import { holds, managedPools, type StoredHold, type StoredManagedPool } from "../cluster/resources.ts";
import type { Domain } from "../ipam/ledger.ts";
import { Informer } from "../kube/cache/informer.ts";
import type { Clock } from "../kube/clock.ts";
import { type ObjectKey, parseKey } from "../kube/meta.ts";
import type { KubeClient } from "../kube/rest.ts";
import { trimHold } from "./compile/hold.ts";
import { trimManagedPool } from "./compile/trim-pool.ts";

export interface FollowOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: () => number;
  readonly onError: (error: Error) => void;
}

/** All of them: a pool of any namespace may name a network. */
export function followPools(options: FollowOptions): Informer<StoredManagedPool> {
  return new Informer({ ...options, resource: managedPools, transform: trimManagedPool });
}

export function followPool(options: FollowOptions, key: ObjectKey): Informer<StoredManagedPool> {
  const { namespace, name } = parseKey(key);
  const scope = { namespace, fieldSelector: `metadata.name=${name}` };
  return new Informer({ ...options, resource: managedPools, transform: trimManagedPool, scope });
}

/** What cools is not listed: its owner has it no more. */
export function followHolds(options: FollowOptions, domain: Domain, systemNamespace: string): Informer<StoredHold> {
  const labelSelector = `${vmNetworkLabelName}=${hashLabel(domain)},${heldSelector}`;
  const scope = { namespace: systemNamespace, labelSelector };
  return new Informer({ ...options, resource: holds, transform: trimHold, scope, packed: { repeats } });
}

/** Of Holds, on any level: their texts are the same in very many of them. */
const repeats = ["namespace", "domain", "kind", "creationTimestamp", poolAnnotation] as const;
