// What one write operation sees and does: the current store with its own changes on top, invisible to others yet.
import { writeJson } from "../json.ts";
import type { KubeObject } from "../object.ts";
import { StatusError } from "../status.ts";
import { type Change, Entry, idOf, type StoredPlace } from "./entry.ts";
import type { Store } from "./store.ts";

/** etcd refuses requests above 1.5 MiB; objects that fit here shall fit there too. */
const objectBytesMax = 1.5 * 1024 * 1024;

/** Changes of operations that have succeeded already but are not committed, then of the running one. */
export class Transaction {
  readonly #base: Pick<Store, "get">;
  /** Key: `idOf`. Undefined where deleted. */
  readonly #overlay = new Map<string, Entry | undefined>();
  /** What the running operation wrote. */
  #own = new Map<string, Entry | undefined>();
  #changes: Change[] = [];
  #revision: number;

  constructor(base: Pick<Store, "get">, revision: number) {
    this.#base = base;
    this.#revision = revision;
  }

  get(place: StoredPlace): Entry | undefined {
    const key = idOf(place);
    if (this.#own.has(key)) return this.#own.get(key);
    if (this.#overlay.has(key)) return this.#overlay.get(key);
    return this.#base.get(place);
  }

  /** Stamps the next revision into the object's metadata. */
  put(place: StoredPlace, object: KubeObject): Entry {
    const previous = this.get(place);
    this.#revision++;
    const metadata = { ...object.metadata, resourceVersion: String(this.#revision) };
    const stamped: KubeObject = { ...object, metadata };
    const json = writeJson(stamped);
    // Most objects are small: bytes are counted only where characters alone come near the limit.
    if (json.length * 3 > objectBytesMax && Buffer.byteLength(json) > objectBytesMax) {
      throw new StatusError(500, "", "etcdserver: request is too large");
    }
    const entry = new Entry(place, this.#revision, json, stamped);
    this.#record(previous === undefined ? "ADDED" : "MODIFIED", entry, previous, entry);
    return entry;
  }

  /** Returns the last state, with the revision of the deletion. */
  delete(place: StoredPlace): Entry {
    const previous = this.get(place);
    if (previous === undefined) throw new Error(`${place.resource} ${place.name} is deleted twice in one operation`);
    this.#revision++;
    const metadata = { ...previous.object.metadata, resourceVersion: String(this.#revision) };
    const object: KubeObject = { ...previous.object, metadata };
    const entry = new Entry(place, this.#revision, writeJson(object), object);
    this.#record("DELETED", entry, previous, undefined);
    return entry;
  }

  #record(type: Change["type"], entry: Entry, previous: Entry | undefined, now: Entry | undefined): void {
    this.#own.set(idOf(entry), now);
    this.#changes.push({ type, revision: this.#revision, entry, previous });
  }

  /** Runs one operation: all of its changes stay, or, when it throws, none. */
  run<T>(operation: (transaction: Transaction) => T): T {
    const before = { revision: this.#revision, changes: this.#changes.length };
    this.#own = new Map();
    try {
      const result = operation(this);
      for (const [key, entry] of this.#own) this.#overlay.set(key, entry);
      return result;
    } catch (error) {
      this.#revision = before.revision;
      this.#changes.length = before.changes;
      throw error;
    } finally {
      this.#own = new Map();
    }
  }

  get changes(): readonly Change[] {
    return this.#changes;
  }

  get revision(): number {
    return this.#revision;
  }
}
