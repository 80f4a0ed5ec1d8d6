// Takes over slices that are recorded under a name we do not write (old-pool.ts): entries first, then the old Lease and the old object go.
//
// Promised: an old object goes only as the version whose entries the new one has; a new one gets entries only while no node works by it.
// After a crash at any write the next try goes on: while the old object is there nothing is lost, and bringing twice changes nothing.
import { grantAnnotation, nodeWordAnnotation } from "../api/slice-grant.ts";
import { isApiError } from "../kube/errors.ts";
import type { Lease } from "../kube/lease.ts";
import { lookUp } from "../kube/look-up.ts";
import { type DeepReadonly, type ObjectKey, parseKey } from "../kube/meta.ts";
import type { KubeClient } from "../kube/rest.ts";
import { nodeOfLease } from "../ledger/fencing.ts";
import { ipPools, leases, type StoredPool } from "../ledger/resources.ts";
import type { Latest } from "./latest.ts";
import { type Entries, isBrought, isOldPool, missingEntries, oldNames } from "./old-pool.ts";
import type { SlicePlace } from "./slice-object.ts";
import { StaleError } from "./stale-error.ts";

export class OldPools {
  readonly #client: KubeClient;
  readonly #leases: Latest<Lease>;
  readonly #mayExist: (key: ObjectKey) => boolean;
  /** Key of the new object -> old ones of which it has everything. */
  readonly #brought = new Map<ObjectKey, readonly StoredPool[]>();

  /** `mayExist`: false only of what is surely not there; most clusters have none, and need not be asked for each slice. */
  constructor(client: KubeClient, known: Latest<Lease>, mayExist: (key: ObjectKey) => boolean = () => true) {
    this.#client = client;
    this.#leases = known;
    this.#mayExist = mayExist;
  }

  async find(place: SlicePlace, signal: AbortSignal): Promise<StoredPool[]> {
    const keys = oldNames(place).map((name) => `${place.namespace}/${name}`);
    const found = await Promise.all(keys.filter(this.#mayExist).map((key) => this.#get(key, signal)));
    return found.filter((object) => object !== undefined && isOldPool(object, place)) as StoredPool[];
  }

  /** What was brought before counts no more: the new object may be another by now. */
  forget(key: ObjectKey): void {
    this.#brought.delete(key);
  }

  /** The new object afterwards. */
  async bring(old: readonly StoredPool[], key: ObjectKey, signal: AbortSignal): Promise<StoredPool> {
    const found = await this.#get(key, signal);
    if (found === undefined) throw new StaleError(`The slice ${key} is gone: it is looked at again.`);
    if (isInUse(found)) throw new StaleError(`The slice ${key} was granted meanwhile: it is looked at again.`);
    let there: StoredPool = found;
    for (const each of old) there = await this.#add(missingEntries(each, there), there, signal);
    const whole = there;
    this.#brought.set(
      key,
      old.filter((each) => isBrought(each, whole)),
    );
    return there;
  }

  async #add(allocations: Entries, there: StoredPool, signal: AbortSignal): Promise<StoredPool> {
    if (Object.keys(allocations).length === 0) return there;
    const { namespace = "", name = "", resourceVersion } = there.metadata;
    const body = { metadata: { resourceVersion }, spec: { allocations } };
    return this.#client.patch(ipPools, { namespace, name }, { type: "merge", body }, { signal });
  }

  /** For when the slice is assigned: before, the new object could go again as one that a leader left behind. */
  async remove(key: ObjectKey, signal: AbortSignal): Promise<void> {
    for (const { metadata } of this.#brought.get(key) ?? []) {
      const { namespace = "", name = "", uid = "", resourceVersion = "" } = metadata;
      // The Lease first: without the old object nobody would know that it was whereabouts'.
      await this.#removeLease(`${namespace}/${name}`, signal);
      await this.#deleted(() =>
        this.#client.delete(ipPools, { namespace, name }, { preconditions: { uid, resourceVersion }, signal }),
      );
    }
    this.#brought.delete(key);
  }

  async #removeLease(key: ObjectKey, signal: AbortSignal): Promise<void> {
    const lease = this.#leases.get(key);
    // Network "holdfast" and node "node-a" make the name of node a's Lease.
    if (lease === undefined || nodeOfLease(lease) !== undefined) return;
    const preconditions = { uid: lease.metadata.uid ?? "" };
    await this.#deleted(() => this.#client.delete(leases, parseKey(key), { preconditions, signal }));
    this.#leases.drop(lease);
  }

  async #deleted(call: () => Promise<unknown>): Promise<void> {
    try {
      await call();
    } catch (error) {
      if (!isApiError(error, "not-found")) throw error;
    }
  }

  #get(key: ObjectKey, signal: AbortSignal): Promise<StoredPool | undefined> {
    return lookUp(this.#client, ipPools, parseKey(key), { signal });
  }
}

/** Some journal may hand out by it. */
export function isInUse({ metadata: { annotations = {} } }: DeepReadonly<StoredPool>): boolean {
  return annotations[grantAnnotation] !== undefined || annotations[nodeWordAnnotation] !== undefined;
}
