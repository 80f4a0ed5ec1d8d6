// The newest known state of objects, from an informer or from answers to own writes: a cache that lags would show a granted slice as free.
// Versions of one object are compared as numbers, as the API server allows since 1.35 and etcd's always could be.
import type { Informer } from "../kube/cache/informer.ts";
import { type Indexes, Store } from "../kube/cache/store.ts";
import { type DeepReadonly, keyOf, type KubeObject, type ObjectKey } from "../kube/meta.ts";

/** What was seen is not what is there: the next look decides anew. */
export class StaleError extends Error {
  readonly code = "stale";
  override readonly name = "StaleError";
}

export type WritesListener<T extends KubeObject> = (
  object: DeepReadonly<T>,
  previous: DeepReadonly<T> | undefined,
  isGone: boolean,
) => void;

export class ReadYourWrites<T extends KubeObject> {
  readonly #store: Store<T>;
  readonly #listener: WritesListener<T>;
  /** Key -> uid of an object that we deleted and whose end the informer has not told yet. */
  readonly #deleted = new Map<ObjectKey, string>();

  constructor(indexes: Indexes<T>, listener: WritesListener<T>, onError: (error: unknown) => void) {
    this.#store = new Store(indexes, onError);
    this.#listener = listener;
  }

  get size(): number {
    return this.#store.size;
  }

  get(key: ObjectKey): DeepReadonly<T> | undefined {
    return this.#store.get(key);
  }

  list(): Iterable<DeepReadonly<T>> {
    return this.#store.list();
  }

  byIndex(index: string, value: string): readonly DeepReadonly<T>[] {
    return this.#store.byIndex(index, value);
  }

  /** The returned function ends it. */
  follow(informer: Informer<T>): () => void {
    return informer.handle((event) => {
      const object = event.object as T;
      if (event.type === "delete") this.#gone(object);
      // A server tells one object's versions in order: its history went back, etcd was restored. What was known of it never was.
      else if (event.type === "update" && versionOf(event.previous) > versionOf(object)) this.#set(object);
      else this.put(object);
    });
  }

  /** As a write was answered, or as it was read. */
  put(object: T): void {
    const key = keyOf(object);
    if (this.#deleted.get(key) === object.metadata.uid) return;
    const known = this.#store.get(key);
    if (known !== undefined && known.metadata.uid === object.metadata.uid && versionOf(known) >= versionOf(object))
      return;
    this.#set(object);
  }

  #set(object: T): void {
    const key = keyOf(object);
    const known = this.#store.get(key);
    this.#store.set(withoutManagers(object));
    this.#listener(this.#store.get(key)!, known, false);
  }

  /** It was deleted by us. */
  drop(object: DeepReadonly<T>): void {
    this.#remove(object, () => this.#deleted.set(keyOf(object), object.metadata.uid ?? ""));
  }

  #gone(object: T): void {
    const key = keyOf(object);
    if (this.#deleted.get(key) === object.metadata.uid) this.#deleted.delete(key);
    this.#remove(object);
  }

  #remove(object: DeepReadonly<KubeObject>, before?: () => void): void {
    const key = keyOf(object);
    const known = this.#store.get(key);
    if (known === undefined || known.metadata.uid !== object.metadata.uid) return;
    before?.();
    this.#store.delete(key);
    this.#listener(known, known, true);
  }
}

function withoutManagers<T extends KubeObject>(object: T): T {
  if (object.metadata.managedFields === undefined) return object;
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

function versionOf({ metadata }: DeepReadonly<KubeObject>): number {
  return Number(metadata.resourceVersion ?? "0");
}
