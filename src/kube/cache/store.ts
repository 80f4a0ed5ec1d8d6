// Objects by key, and by the values of named indexes. Invariant: every index names exactly the keys of the objects for
// which its function gives that value.
import { type DeepReadonly, keyOf, type KubeObject, type ObjectKey } from "../meta.ts";
import { deepFreeze } from "./freeze.ts";
import { MultiMap } from "./multi-map.ts";

/** The values under which an object is found; none if it is not to be found by this index. */
type IndexFunction<T extends KubeObject> = (object: DeepReadonly<T>) => readonly string[];

export type Indexes<T extends KubeObject> = Readonly<Record<string, IndexFunction<T>>>;

/** For those who read. */
export type Cache<T extends KubeObject> = Pick<Store<T>, "size" | "get" | "keys" | "list" | "byIndex">;

interface Index<T extends KubeObject> {
  readonly of: IndexFunction<T>;
  /** Index value -> keys of the objects that have it. */
  readonly keys: MultiMap<ObjectKey>;
}

export class Store<T extends KubeObject> {
  readonly #objects = new Map<ObjectKey, DeepReadonly<T>>();
  /** Index name -> index. */
  readonly #indexes = new Map<string, Index<T>>();
  readonly #onError: (error: unknown) => void;

  constructor(indexes: Indexes<T>, onError: (error: unknown) => void) {
    for (const [name, of] of Object.entries(indexes)) this.#indexes.set(name, { of, keys: new MultiMap() });
    this.#onError = onError;
  }

  get size(): number {
    return this.#objects.size;
  }

  get(key: ObjectKey): DeepReadonly<T> | undefined {
    return this.#objects.get(key);
  }

  keys(): IterableIterator<ObjectKey> {
    return this.#objects.keys();
  }

  list(): IterableIterator<DeepReadonly<T>> {
    return this.#objects.values();
  }

  byIndex(index: string, value: string): readonly DeepReadonly<T>[] {
    const found = this.#indexes.get(index);
    if (found === undefined) {
      throw new TypeError(`There is no index "${index}"; there are: ${[...this.#indexes.keys()].join(", ")}.`);
    }
    return found.keys.get(value).map((key) => this.#objects.get(key)!);
  }

  /** Freezes and keeps the object; returns the one it replaces. */
  set(object: T): DeepReadonly<T> | undefined {
    const frozen = deepFreeze(object);
    const key = keyOf(frozen);
    const previous = this.#objects.get(key);
    this.#objects.set(key, frozen);
    for (const index of this.#indexes.values()) {
      if (previous !== undefined) this.#unindex(index, key, previous);
      for (const value of this.#values(index, frozen)) index.keys.add(value, key);
    }
    return previous;
  }

  delete(key: ObjectKey): DeepReadonly<T> | undefined {
    const previous = this.#objects.get(key);
    if (previous === undefined) return undefined;
    this.#objects.delete(key);
    for (const index of this.#indexes.values()) this.#unindex(index, key, previous);
    return previous;
  }

  #unindex(index: Index<T>, key: ObjectKey, object: DeepReadonly<T>): void {
    for (const value of this.#values(index, object)) index.keys.delete(value, key);
  }

  /** An index function that throws on an odd object must not stop the cache: the object is then not in that index. */
  #values({ of }: Index<T>, object: DeepReadonly<T>): readonly string[] {
    try {
      return of(object);
    } catch (error) {
      this.#onError(error);
      return [];
    }
  }
}
