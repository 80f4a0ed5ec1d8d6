// The newest known state of objects, from an informer or from answers to own writes: a cache that lags would show a
// granted slice as free. Versions of one object compare as numbers: Kubernetes says so since 1.35, etcd's always did.
import type { Informer } from "../kube/cache/informer.ts";
import { type Indexes, Store } from "../kube/cache/store.ts";
import { type DeepReadonly, keyOf, type KubeObject, type ObjectKey } from "../kube/meta.ts";

/** The object has changed since it was seen: the next look decides anew. */
export class StaleError extends Error {
  readonly code = "stale";
  override readonly name = "StaleError";
}

export type WritesListener<T extends KubeObject> = (
  object: DeepReadonly<T>,
  previous: DeepReadonly<T> | undefined,
  isGone: boolean,
) => void;

export class ReadYourWrites<T extends KubeObject> extends Store<T> {
  readonly #listener: WritesListener<T>;
  /** Key -> uid of an object that we deleted and whose end the informer has not told yet. */
  readonly #deleted = new Map<ObjectKey, string>();

  constructor(indexes: Indexes<T>, listener: WritesListener<T>, onError: (error: unknown) => void) {
    super(indexes, onError);
    this.#listener = listener;
  }

  follow(informer: Informer<T>): () => void {
    return informer.handle((event) => {
      const object = event.object as T;
      if (event.type === "delete") {
        const key = keyOf(object);
        if (this.#deleted.get(key) === object.metadata.uid) this.#deleted.delete(key);
        const known = this.#known(object);
        if (known !== undefined) this.#remove(known);
      }
      // Versions come in order: this history went back, etcd was restored, and the known version never was.
      else if (event.type === "update" && versionOf(event.previous) > versionOf(object)) this.set(object);
      else this.put(object);
    });
  }

  /** An object as a write was answered, or as it was read. */
  put(object: T): void {
    const key = keyOf(object);
    if (this.#deleted.get(key) === object.metadata.uid) return;
    const known = this.#known(object);
    if (known === undefined || !(versionOf(known) >= versionOf(object))) this.set(object);
  }

  override set(object: T): DeepReadonly<T> | undefined {
    const { managedFields, ...metadata } = object.metadata;
    const known = super.set(managedFields === undefined ? object : { ...object, metadata });
    this.#listener(this.get(keyOf(object))!, known, false);
    return known;
  }

  /** We deleted the object. */
  drop(object: DeepReadonly<T>): void {
    const known = this.#known(object);
    if (known === undefined) return;
    this.#deleted.set(keyOf(object), object.metadata.uid ?? "");
    this.#remove(known);
  }

  /** The same object by UID, in any version. */
  #known(object: DeepReadonly<KubeObject>): DeepReadonly<T> | undefined {
    const known = this.get(keyOf(object));
    return known?.metadata.uid === object.metadata.uid ? known : undefined;
  }

  #remove(known: DeepReadonly<T>): void {
    this.delete(keyOf(known));
    this.#listener(known, known, true);
  }
}

function versionOf({ metadata }: DeepReadonly<KubeObject>): number {
  return Number(metadata.resourceVersion ?? "0");
}
