// Objects by key, and by the values of named indexes. Invariant: every index names exactly the keys of the objects for
// which its function gives that value.
import { type DeepReadonly, keyOf, type KubeObject, type ObjectKey } from "../meta.ts";
import { MultiMap } from "./multi-map.ts";
import { type Kept, type PackingOptions, Shelf } from "./packed/shelf.ts";

/** The values under which an object is found; none if it is not to be found by this index. */
type IndexFunction<T extends KubeObject> = (object: DeepReadonly<T>) => readonly string[];

export type Indexes<T extends KubeObject> = Readonly<Record<string, IndexFunction<T>>>;

/** For those who read. */
export type Cache<T extends KubeObject> = Pick<Store<T>, "size" | "get" | "keys" | "list" | "byIndex" | "keysBy">;

interface Index<T extends KubeObject> {
  readonly of: IndexFunction<T>;
  /** Index value -> keys of the objects that have it. */
  readonly keys: MultiMap<ObjectKey>;
}

export class Store<T extends KubeObject> {
  readonly #objects = new Map<ObjectKey, Kept<T>>();
  readonly #shelf: Shelf<T>;
  /** Index name -> index. */
  readonly #indexes = new Map<string, Index<T>>();
  readonly #onError: (error: unknown) => void;

  constructor(indexes: Indexes<T>, onError: (error: unknown) => void, packing?: PackingOptions) {
    this.#shelf = new Shelf(packing);
    for (const [name, of] of Object.entries(indexes)) this.#indexes.set(name, { of, keys: new MultiMap() });
    this.#onError = onError;
  }

  get size(): number {
    return this.#objects.size;
  }

  get(key: ObjectKey): DeepReadonly<T> | undefined {
    const kept = this.#objects.get(key);
    return kept === undefined ? undefined : this.#shelf.open(key, kept);
  }

  /** In passing, of very many: not promised to be the one that `get` gives. */
  look(key: ObjectKey): DeepReadonly<T> | undefined {
    const kept = this.#objects.get(key);
    return kept === undefined ? undefined : this.#shelf.look(key, kept);
  }

  keys(): IterableIterator<ObjectKey> {
    return this.#objects.keys();
  }

  *list(): Generator<DeepReadonly<T>> {
    for (const [key, kept] of this.#objects) yield this.#shelf.look(key, kept);
  }

  byIndex(index: string, value: string): readonly DeepReadonly<T>[] {
    return this.keysBy(index, value).map((key) => this.get(key)!);
  }

  /** Where the keys are enough: no object has to be unpacked. */
  keysBy(index: string, value: string): readonly ObjectKey[] {
    const found = this.#indexes.get(index);
    if (found !== undefined) return found.keys.get(value);
    throw new TypeError(`There is no index "${index}"; there are: ${[...this.#indexes.keys()].join(", ")}.`);
  }

  /** As it would be kept. */
  keep(object: T): Kept<T> {
    return this.#shelf.keep(object);
  }

  /** What is kept under the key. */
  kept(key: ObjectKey): Kept<T> | undefined {
    return this.#objects.get(key);
  }

  unpack(kept: Kept<T>): DeepReadonly<T> & object {
    return this.#shelf.unpack(kept);
  }

  /** Freezes and keeps the object; returns the one it replaces. */
  set(object: T): DeepReadonly<T> | undefined {
    return this.place(this.keep(object));
  }

  /** Keeps what `keep` made; returns the object that it replaces. `object`: what `unpack` made of it already. */
  place(kept: Kept<T>, object = this.#shelf.unpack(kept)): DeepReadonly<T> | undefined {
    const key = keyOf(object);
    const previous = this.get(key);
    this.#shelf.forget(key);
    this.#objects.set(key, kept);
    this.#shelf.adopt(key, kept, object);
    for (const index of this.#indexes.values()) {
      if (previous !== undefined) this.#unindex(index, key, previous);
      for (const value of this.#values(index, object)) index.keys.add(value, key);
    }
    return previous;
  }

  delete(key: ObjectKey): DeepReadonly<T> | undefined {
    const previous = this.get(key);
    if (previous === undefined) return undefined;
    this.#objects.delete(key);
    this.#shelf.forget(key);
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
