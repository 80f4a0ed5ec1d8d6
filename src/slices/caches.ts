// Slice objects, NodeSlicePools and Leases of nodes that the leader follows, with its own writes. Promised: once `ready`, nothing that an
// earlier leader wrote is missing, since the list is made after this one leads.
import { sliceLabelName } from "../api/slices/slice-grant.ts";
import { nodeOfLease, trimLease } from "../cluster/fencing.ts";
import * as kinds from "../cluster/resources.ts";
import { readSlice, trimSlice } from "../cluster/slice-object.ts";
import { Informer } from "../kube/cache/informer.ts";
import { isApiError } from "../kube/errors.ts";
import type { Lease } from "../kube/lease.ts";
import type { DeepReadonly, KubeObject } from "../kube/meta.ts";
import type { Resource } from "../kube/resource.ts";
import type { KubeClient } from "../kube/rest.ts";
import type { SlicesOptions } from "./leader.ts";
import { ReadYourWrites, type WritesListener } from "./read-your-writes.ts";

export interface SliceCachesOptions extends Pick<SlicesOptions, "client" | "clock" | "systemNamespace"> {
  readonly onError: (error: Error) => void;
}

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

  constructor({ systemNamespace, ...given }: SliceCachesOptions, listeners: SliceCachesListeners) {
    const onError = (error: unknown) => given.onError(error as Error);
    const sliceIndexes = {
      pool: (object: object) => oneOf(readSlice(object as kinds.StoredPool)?.pool),
      node: (object: object) => oneOf(readSlice(object as kinds.StoredPool)?.node),
    };
    this.slices = new ReadYourWrites<kinds.StoredPool>(sliceIndexes, listeners.slice, onError);
    this.pools = new ReadYourWrites<kinds.StoredSlicePool>({}, listeners.pool, onError);
    const byNode = { node: (object: object) => oneOf(nodeOfLease(object as Lease)) };
    this.leases = new ReadYourWrites<Lease>(byNode, listeners.lease, onError);
    const ofSlices = { resource: kinds.ipPools, scope: { labelSelector: sliceLabelName }, transform: trimSlice };
    const ofLeases = { resource: kinds.leases, scope: { namespace: systemNamespace }, transform: trimLease };
    this.#informers = [
      new Informer({ ...given, ...ofSlices }),
      new Informer({ ...given, resource: kinds.nodeSlicePools }),
      new Informer({ ...given, ...ofLeases }),
    ];
  }

  /** Follows until the signal aborts; `ready` resolves when all has been listed. */
  run(signal: AbortSignal): { readonly ready: Promise<void>; readonly ended: Promise<void> } {
    const [slices, pools, leases] = this.#informers;
    const ends = [this.slices.follow(slices), this.pools.follow(pools), this.leases.follow(leases)];
    const ended = Promise.all(this.#informers.map((each) => each.run(signal))).then(() => ends.forEach((end) => end()));
    const ready = Promise.all(this.#informers.map((each) => each.synced(signal))).then(() => undefined);
    return { ready, ended };
  }

  leaseOf(node: string) {
    return this.leases.byIndex("node", node)[0];
  }
}

const oneOf = (value: string | undefined): readonly string[] => (value === undefined ? [] : [value]);

/** The very object that was seen is deleted, by whomever. */
export function removed<T extends KubeObject>(
  client: KubeClient,
  resource: Resource<T>,
  { metadata }: DeepReadonly<KubeObject>,
  signal: AbortSignal,
): Promise<void> {
  const { namespace = "", name = "", uid = "", resourceVersion = "" } = metadata;
  return gone(client.delete(resource, { namespace, name }, { preconditions: { uid, resourceVersion }, signal }));
}

/** It was deleted, by whomever. */
export async function gone(deletion: Promise<unknown>): Promise<void> {
  await deletion.catch((error: unknown) => {
    if (!isApiError(error, "not-found")) throw error;
  });
}
