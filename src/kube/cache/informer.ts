// A cache of one kind that follows the API server, with named indexes and handlers.
//
// Promised: handlers are called one at a time, in order, after the cache has changed; an update comes with the previous
// object; objects are frozen; an object deleted and made anew is told as a delete and an add, also if both were missed.
import { asError, orAborted } from "../abort.ts";
import { type DeepReadonly, keyOf, type KubeObject, type ObjectKey } from "../meta.ts";
import type { Resource } from "../resource.ts";
import { Turns } from "../turns.ts";
import type { Kept, PackingOptions } from "./packed/shelf.ts";
import { Reflector, type ReflectorOptions, type ReflectorSink } from "./reflector.ts";
import { type Cache, type Indexes, Store } from "./store.ts";

export type InformerEvent<T extends KubeObject> =
  | { readonly type: "add"; readonly object: DeepReadonly<T> }
  | { readonly type: "update"; readonly object: DeepReadonly<T>; readonly previous: DeepReadonly<T> }
  /** `missed`: the delete itself was not seen, so the object is the last one known. */
  | { readonly type: "delete"; readonly object: DeepReadonly<T>; readonly missed: boolean };

export type InformerHandler<T extends KubeObject> = (event: InformerEvent<T>) => void;

/** `onVersion` is told before the handlers are told of a list; `onError` also of handlers that threw. */
export interface InformerOptions<T extends KubeObject> extends ReflectorOptions<T> {
  readonly indexes?: Indexes<T>;
  /** Changes objects before they are frozen and cached: to drop what nobody reads. */
  readonly transform?: (object: T) => T;
  /**
   * Keeps objects packed: for kinds of which there are very many. They must be what JSON can say. `get` and `byIndex`
   * give the same object for as long as anybody has it; `list`, and the handlers, may give one of their own.
   */
  readonly packed?: PackingOptions;
}

export class Informer<T extends KubeObject> {
  readonly resource: Resource<T>;
  readonly #options: InformerOptions<T>;
  readonly #store: Store<T>;
  readonly #handlers = new Set<InformerHandler<T>>();
  readonly #synced = Promise.withResolvers<void>();
  #hasSynced = false;
  #reflector: Reflector<T> | undefined;
  #lastError: Error | undefined;

  constructor(options: InformerOptions<T>) {
    this.resource = options.resource;
    this.#options = options;
    this.#store = new Store(options.indexes ?? {}, (error) => this.#report(asError(error)), options.packed);
  }

  get cache(): Cache<T> {
    return this.#store;
  }

  /** The cache holds a whole list, and the handlers have been told of it. */
  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  /** What keeps it from syncing, for those who wait. */
  get lastError(): Error | undefined {
    return this.#lastError;
  }

  async synced(signal: AbortSignal): Promise<void> {
    await orAborted(this.#synced.promise, signal);
  }

  /** A handler that comes late is told of what is cached, as adds. The returned function takes it away. */
  handle(handler: InformerHandler<T>): () => void {
    const end = this.handleNews(handler);
    for (const object of this.#store.list()) this.#tell(handler, { type: "add", object });
    return end;
  }

  /** Told of what comes from now on: for who looks at what is cached by himself, of very many in his own time. */
  handleNews(handler: InformerHandler<T>): () => void {
    this.#handlers.add(handler);
    return () => this.#handlers.delete(handler);
  }

  /** Follows the server until the signal ends it. */
  async run(signal: AbortSignal): Promise<void> {
    const onError = (error: Error) => this.#report(error);
    this.#reflector = new Reflector<T>({ ...this.#options, onError }, this.#sink());
    await this.#reflector.run(signal);
  }

  /** The server was restored from an older copy: everything is listed anew. */
  relist(): void {
    this.#reflector?.relist();
  }

  #sink(): ReflectorSink<T> {
    /** The list under way: key -> as it is kept; what did not change is what is cached: a new list costs no memory. */
    let listed = new Map<ObjectKey, Kept<T>>();
    return {
      relist: () => void (listed = new Map()),
      listed: (object) => {
        const key = keyOf(object);
        const cached = this.#store.look(key);
        // Packed or frozen here, not in one go with the others when the last has come: between two pages there is time.
        const isKnown = cached !== undefined && isSame(cached, object);
        listed.set(key, isKnown ? this.#store.kept(key)! : this.#store.keep(this.#trim(object)));
      },
      replaced: () => {
        const objects = listed;
        listed = new Map();
        return this.#replace(objects);
      },
      changed: (type, object) => {
        if (type === "DELETED") this.#remove(keyOf(object), this.#trim(object));
        else this.#put(object, () => [this.#store.keep(this.#trim(object))]);
      },
    };
  }

  /** A first list in many turns of the event loop: nobody takes it for whole yet. A later one shows itself at once. */
  async #replace(objects: ReadonlyMap<ObjectKey, Kept<T>>): Promise<void> {
    for (const key of this.#store.keys()) if (!objects.has(key)) this.#remove(key);
    const turns = this.#hasSynced ? undefined : new Turns();
    for (const [key, kept] of objects) {
      if (this.#store.kept(key) !== kept) this.#put(this.#store.unpack(kept), (object) => [kept, object]);
      if (turns?.isDue() === true) await turns.next();
    }
    this.#lastError = undefined;
    this.#hasSynced = true;
    this.#synced.resolve();
  }

  /** `keep` is asked only where something has changed. */
  #put<G extends T | DeepReadonly<T>>(object: G, keep: (object: G) => Parameters<Store<T>["place"]>): void {
    const key = keyOf(object);
    const cached = this.#store.get(key);
    // A watch that resumes may tell again what the list has told.
    if (cached !== undefined && isSame(cached, object)) return;
    if (cached !== undefined && cached.metadata.uid !== object.metadata.uid) this.#remove(key);
    const previous = this.#store.place(...keep(object));
    const stored = this.#store.look(key)!;
    this.#tellAll(
      previous === undefined ? { type: "add", object: stored } : { type: "update", object: stored, previous },
    );
  }

  #remove(key: ObjectKey, last?: T): void {
    if (last !== undefined && this.#store.get(key) !== undefined) this.#store.set(last); // frozen, with its last state
    const object = this.#store.delete(key);
    if (object !== undefined) this.#tellAll({ type: "delete", object, missed: last === undefined });
  }

  /** managedFields are half of many objects, and no reconciler reads them; an update without them keeps them. */
  #trim(object: T): T {
    const { managedFields: _dropped, ...metadata } = object.metadata;
    object.metadata = metadata;
    return this.#options.transform?.(object) ?? object;
  }

  #tellAll(event: InformerEvent<T>): void {
    // A handler that is added by a handler has been told of the object already, as cached.
    for (const handler of Array.from(this.#handlers)) this.#tell(handler, event);
  }

  #tell(handler: InformerHandler<T>, event: InformerEvent<T>): void {
    try {
      handler(event);
    } catch (error) {
      this.#report(asError(error));
    }
  }

  #report(error: Error): void {
    this.#lastError = error;
    this.#options.onError?.(error);
  }
}

function isSame(a: DeepReadonly<KubeObject>, b: DeepReadonly<KubeObject>): boolean {
  return a.metadata.uid === b.metadata.uid && a.metadata.resourceVersion === b.metadata.resourceVersion;
}
