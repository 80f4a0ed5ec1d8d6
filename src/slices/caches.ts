// Slice objects, NodeSlicePools and Leases of nodes, as the leader follows and writes them. Promised: once `ready`,
// nothing that an earlier leader wrote is missing, since the list is made after this one leads.
import { sliceLabelName } from "../api/slices/slice-grant.ts";
import { nodeOfLease, trimLease } from "../cluster/fencing.ts";
import type { ReconcilerOptions } from "../cluster/reconciler-options.ts";
import * as kinds from "../cluster/resources.ts";
import { readSlice, trimSlice } from "../cluster/slice-object.ts";
import { Informer } from "../kube/cache/informer.ts";
import type { Lease } from "../kube/lease.ts";
import type { DeepReadonly, KubeObject } from "../kube/meta.ts";
import type { Resource } from "../kube/resource.ts";
import type { KubeClient } from "../kube/rest.ts";
import { unless } from "../kube/unless.ts";
import { ReadYourWrites, type WritesListener } from "./read-your-writes.ts";

export interface SliceCachesListeners {
  readonly slice: WritesListener<kinds.StoredPool>;
  readonly pool: WritesListener<kinds.StoredSlicePool>;
  readonly lease: WritesListener<Lease>;
}

export class SliceCaches {
  readonly slices: ReadYourWrites<kinds.StoredPool>;
  readonly pools: ReadYourWrites<kinds.StoredSlicePool>;
  readonly leases: ReadYourWrites<Lease>;
  readonly #informers: readonly [Informer<kinds.StoredPool>, Informer<kinds.StoredSlicePool>, Informer<Lease>];

  constructor({ client, clock, log, systemNamespace: namespace }: ReconcilerOptions, listeners: SliceCachesListeners) {
    const onError = (error: unknown) => log.warn("following slices", { error });
    const given = { client, clock, onError };
    const byPlace = {
      pool: (object: DeepReadonly<kinds.StoredPool>) => oneOf(readSlice(object)?.pool),
      node: (object: DeepReadonly<kinds.StoredPool>) => oneOf(readSlice(object)?.node),
    };
    this.slices = new ReadYourWrites(byPlace, listeners.slice, onError);
    this.pools = new ReadYourWrites({}, listeners.pool, onError);
    const byNode = { node: (object: DeepReadonly<Lease>) => oneOf(nodeOfLease(object)) };
    this.leases = new ReadYourWrites(byNode, listeners.lease, onError);
    const ofSlices = { resource: kinds.ipPools, scope: { labelSelector: sliceLabelName }, transform: trimSlice };
    this.#informers = [
      new Informer({ ...given, ...ofSlices }),
      new Informer({ ...given, resource: kinds.nodeSlicePools }),
      new Informer({ ...given, resource: kinds.leases, scope: { namespace }, transform: trimLease }),
    ];
  }

  /** Follows until the signal aborts; `ready` resolves when all objects have been listed. */
  run(signal: AbortSignal): { readonly ready: Promise<unknown>; readonly ended: Promise<void> } {
    const [slices, pools, leases] = this.#informers;
    const ends = [this.slices.follow(slices), this.pools.follow(pools), this.leases.follow(leases)];
    const ended = Promise.all(this.#informers.map((each) => each.run(signal))).then(() => ends.forEach((end) => end()));
    return { ready: Promise.all(this.#informers.map((each) => each.synced(signal))), ended };
  }

  leaseOf(node: string) {
    return this.leases.byIndex("node", node)[0];
  }
}

const oneOf = (value: string | undefined): readonly string[] => (value === undefined ? [] : [value]);

/** Deletes the very object that was seen; it may be gone already. */
export async function removed<T extends KubeObject>(
  client: KubeClient,
  resource: Resource<T>,
  { metadata }: DeepReadonly<KubeObject>,
  signal: AbortSignal,
): Promise<void> {
  const { namespace = "", name = "", uid = "", resourceVersion = "" } = metadata;
  const guard = { preconditions: { uid, resourceVersion }, signal };
  await unless(["not-found"], client.delete(resource, { namespace, name }, guard));
}
