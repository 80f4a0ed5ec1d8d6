// A cluster's controllers for the API itself: garbage collection by owner references, the end of namespaces and CRDs.
// It works off a queue of places that may need care, level-based: it looks at what is there, never at what happened.
import { type Clock, sleep } from "../../kube/clock.ts";
import { digList } from "../json.ts";
import type { KubeObject, OwnerReference } from "../object.ts";
import { type Condition, crdFinalizer, crdStorage, resourcesOf, objectWithCondition } from "../registry/crd.ts";
import type { Registry } from "../registry/registry.ts";
import type { Resource } from "../registry/resource.ts";
import { type DeleteOptions, foregroundFinalizer, orphanFinalizer, removeNow } from "../request/delete.ts";
import { isFinished } from "../request/write.ts";
import { type Change, type Entry, idOf, type StoredPlace } from "../store/entry.ts";
import type { Store } from "../store/store.ts";
import type { Transaction } from "../store/transaction.ts";
import { expireEvents } from "./event-expiry.ts";
import { Owners, ownersOf } from "./owners.ts";

const atOnce: DeleteOptions = { propagation: "Background", gracePeriodSeconds: 0 };

/** A pass works off so many places in one commit; the rest waits for the next, so that clients get their turn. */
const passMax = 200;

/** A disk that is full or gone is asked again at this pace. */
const retryDelayMs = 1000;

export class Caretaker {
  readonly #store: Store;
  readonly #registry: Registry;
  readonly #clock: Clock;
  readonly #owners: Owners;
  /** Key: resource and namespace/name. Each place once, however often it was touched. */
  readonly #queue = new Map<string, StoredPlace>();
  #running: Promise<void> | undefined;
  /** Aborted when the API closes. */
  readonly #stop = new AbortController();

  constructor(store: Store, registry: Registry, clock: Clock) {
    this.#store = store;
    this.#registry = registry;
    this.#clock = clock;
    this.#owners = new Owners(store);
    for (const place of this.#owners.all()) this.#add(place);
    for (const resource of store.resources()) {
      for (const entry of store.collection(resource).values())
        if (entry.json.includes('"deletionTimestamp"')) this.#add(entry);
    }
    store.subscribe((changes) => this.#notice(changes));
    this.#start();
    void expireEvents(store, clock, this.#stop.signal);
  }

  #notice(changes: readonly Change[]): void {
    for (const change of changes) {
      this.#owners.apply(change);
      const { entry } = change;
      if (change.type === "DELETED") this.#noticeGone(entry);
      else if (entry.object.metadata.deletionTimestamp !== undefined || ownersOf(entry).length > 0) this.#add(entry);
    }
    this.#start();
  }

  #noticeGone(entry: Entry): void {
    for (const place of this.#owners.dependentsOf(entry.object.metadata.uid ?? "")) this.#add(place);
    // An owner that waits for its dependents, a namespace or a CRD that waits for its contents, may be able to go now.
    for (const owner of ownersOf(entry)) {
      const found = this.#find(owner, entry.namespace);
      if (found !== undefined && typeof found !== "string") this.#add(found);
    }
    const namespace = this.#store.get({ resource: "/namespaces", namespace: "", name: entry.namespace });
    if (namespace?.object.metadata.deletionTimestamp !== undefined) this.#add(namespace);
    for (const crd of this.#store.collection(crdStorage).values()) {
      if (crd.object.metadata.deletionTimestamp !== undefined) this.#add(crd);
    }
  }

  #add(place: StoredPlace): void {
    this.#queue.set(idOf(place), place);
  }

  #start(): void {
    if (this.#running !== undefined || this.#queue.size === 0 || this.#stop.signal.aborted) return;
    this.#running = this.#run().finally(() => {
      this.#running = undefined;
      this.#start();
    });
  }

  async #run(): Promise<void> {
    while (this.#queue.size > 0 && !this.#stop.signal.aborted) {
      const batch = [...this.#queue].slice(0, passMax);
      for (const [key] of batch) this.#queue.delete(key);
      await Promise.all(batch.map(([, place]) => this.#careFor(place)));
    }
  }

  async #careFor(place: StoredPlace): Promise<void> {
    const entry = this.#store.get(place);
    if (entry === undefined) return;
    try {
      await this.#store.write((transaction) => this.#decide(transaction, place));
    } catch {
      // A full disk, or a closed store. The rest is found again: by the retry, or when the file is opened next.
      void this.#retry(place);
    }
  }

  async #retry(place: StoredPlace): Promise<void> {
    if (!(await sleep(this.#clock, retryDelayMs, this.#stop.signal))) return;
    this.#add(place);
    this.#start();
  }

  /** Resolves when nothing is left to do: for tests and simulation. */
  async settled(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  close(): void {
    this.#stop.abort();
  }

  #decide(transaction: Transaction, place: StoredPlace): void {
    const entry = transaction.get(place);
    if (entry === undefined) return;
    const { metadata } = entry.object;
    if (metadata.deletionTimestamp === undefined) return this.#collect(transaction, entry);
    const finalizers = metadata.finalizers ?? [];
    if (finalizers.includes(orphanFinalizer)) return this.#orphan(transaction, entry);
    if (finalizers.includes(foregroundFinalizer)) return this.#foreground(transaction, entry);
    if (place.resource === "/namespaces") return this.#emptyNamespace(transaction, entry);
    if (place.resource === crdStorage) return this.#emptyDefinition(transaction, entry);
  }

  /** Deletes an object whose owners are all gone; one that keeps some loses the references to the others. */
  #collect(transaction: Transaction, entry: Entry): void {
    const owners = ownersOf(entry);
    if (owners.length === 0) return;
    const judged = owners.map((owner) => ({ owner, found: this.#find(owner, entry.namespace, transaction) }));
    const solid = judged.filter(({ found }) => found === "unknown" || (found !== undefined && !isLeaving(found)));
    const leaving = judged.filter(({ found }) => typeof found === "object" && isLeaving(found));
    const resource = this.#resourceOf(entry);
    if (resource === undefined) return;
    if (solid.length === 0) {
      // A dependent of an owner that waits for it is deleted in the foreground too: its own dependents go first.
      const hasDependents = this.#owners.dependentsOf(entry.object.metadata.uid ?? "").length > 0;
      const propagation = leaving.length > 0 && hasDependents ? "Foreground" : "Background";
      removeNow(transaction, entry, resource, { propagation }, this.#clock.wallMs());
    } else if (solid.length < owners.length) {
      rewrite(transaction, entry, (metadata) => (metadata.ownerReferences = solid.map(({ owner }) => owner)));
    }
  }

  #resourceOf(place: StoredPlace): Resource | undefined {
    return this.#registry.stored().find((resource) => resource.storage === place.resource);
  }

  /** The owner; "unknown" when its kind is not served, so that nothing can be said of it; undefined when it is gone. */
  #find(owner: OwnerReference, namespace: string, transaction?: Transaction): Entry | "unknown" | undefined {
    const resource = this.#registry.byKind(owner.apiVersion, owner.kind);
    if (resource === undefined) return "unknown";
    const place = { resource: resource.storage, namespace: resource.namespaced ? namespace : "", name: owner.name };
    const entry = transaction === undefined ? this.#store.get(place) : transaction.get(place);
    return entry?.object.metadata.uid === owner.uid ? entry : undefined;
  }

  #orphan(transaction: Transaction, entry: Entry): void {
    const { uid } = entry.object.metadata;
    for (const place of this.#owners.dependentsOf(uid!)) {
      const dependent = transaction.get(place);
      if (dependent === undefined) continue;
      rewrite(transaction, dependent, (metadata) => {
        metadata.ownerReferences = (metadata.ownerReferences ?? []).filter((owner) => owner.uid !== uid);
      });
    }
    dropFinalizer(transaction, entry, orphanFinalizer);
  }

  #foreground(transaction: Transaction, entry: Entry): void {
    const { uid } = entry.object.metadata;
    let isBlocked = false;
    for (const place of this.#owners.dependentsOf(uid!)) {
      const dependent = transaction.get(place);
      if (dependent === undefined) continue;
      if (dependent.object.metadata.deletionTimestamp === undefined) this.#collect(transaction, dependent);
      const left = transaction.get(place);
      isBlocked ||=
        left !== undefined && ownersOf(left).some((owner) => owner.uid === uid && owner.blockOwnerDeletion === true);
    }
    if (!isBlocked) dropFinalizer(transaction, entry, foregroundFinalizer);
  }

  #emptyNamespace(transaction: Transaction, entry: Entry): void {
    const resources = this.#registry.stored().filter((resource) => resource.namespaced);
    const left = this.#deleteAll(transaction, resources, entry.name);
    const held = digList(entry.object, "spec", "finalizers");
    const finalizers = held.filter((finalizer) => finalizer !== "kubernetes");
    if (left > 0) report(transaction, entry, remaining(left), this.#clock.wallMs());
    else if (finalizers.length < held.length) finish(transaction, entry, { ...entry.object, spec: { finalizers } });
  }

  #emptyDefinition(transaction: Transaction, entry: Entry): void {
    const [resource] = resourcesOf(entry.object);
    const left = resource === undefined ? 0 : this.#deleteAll(transaction, [resource], "");
    if (left === 0) dropFinalizer(transaction, entry, crdFinalizer);
    else report(transaction, entry, [terminating], this.#clock.wallMs());
  }

  /** How many objects are still there afterwards, held by finalizers or beyond what one pass takes. */
  #deleteAll(transaction: Transaction, resources: readonly Resource[], namespace: string): number {
    let left = 0;
    let done = 0;
    for (const resource of resources) {
      for (const entry of this.#store.collection(resource.storage).list(namespace)) {
        const now = transaction.get(entry);
        if (now === undefined) continue;
        const isKept = now.object.metadata.deletionTimestamp !== undefined || done >= passMax;
        if (isKept || !removeNow(transaction, entry, resource, atOnce, this.#clock.wallMs()).gone) left++;
        done++;
      }
    }
    return left;
  }
}

/** What the end of a namespace waits for. */
function remaining(left: number): Condition[] {
  const message = `Some resources are remaining: ${left} objects still wait for their finalizers`;
  return [
    { type: "NamespaceContentRemaining", status: "True", reason: "SomeResourcesRemain", message },
    { type: "NamespaceFinalizersRemaining", status: "True", reason: "SomeFinalizersRemain", message },
  ];
}

const terminating: Condition = {
  type: "Terminating",
  status: "True",
  reason: "InstanceDeletionInProgress",
  message: "CustomResource deletion is in progress",
};

function report(transaction: Transaction, entry: Entry, conditions: readonly Condition[], nowMs: number): void {
  const object = conditions.reduce((so, condition) => objectWithCondition(so, condition, nowMs), entry.object);
  if (object !== entry.object) transaction.put(entry, object);
}

const isLeaving = (owner: Entry | "unknown") =>
  typeof owner === "object" &&
  owner.object.metadata.deletionTimestamp !== undefined &&
  owner.object.metadata.finalizers?.includes(foregroundFinalizer) === true;

function rewrite(transaction: Transaction, entry: Entry, change: (metadata: KubeObject["metadata"]) => void): void {
  const metadata = { ...entry.object.metadata };
  change(metadata);
  for (const key of ["ownerReferences", "finalizers"]) if (digList(metadata, key).length === 0) delete metadata[key];
  finish(transaction, entry, { ...entry.object, metadata });
}

function dropFinalizer(transaction: Transaction, entry: Entry, finalizer: string): void {
  rewrite(transaction, entry, (metadata) => {
    metadata.finalizers = (metadata.finalizers ?? []).filter((each) => each !== finalizer);
  });
}

function finish(transaction: Transaction, entry: Entry, object: KubeObject): void {
  if (isFinished(object)) transaction.delete(entry);
  else transaction.put(entry, object);
}
