// The store: every object in memory, every change on the disk before anyone hears of it.
//
// Promised: an acknowledged write survives kill -9; writes are applied one after the other; revisions only grow;
// readers and subscribers see committed states only, in revision order. Not promised: bounded memory (it holds all
// objects), several processes on one file, history across restarts: only watches from the current revision resume.
//
// Writes that arrive while the event loop is busy share one commit and one fsync. The batch runs in one synchronous
// block, so nobody can read a state that is not durable yet.
import { Collection } from "./collection.ts";
import { Database, type Row } from "./database.ts";
import { type Change, type Entry, idOf, type StoredPlace } from "./entry.ts";
import { History, type historyLimits } from "./history.ts";
import { Transaction } from "./transaction.ts";

/**
 * At most so many operations share a commit: a create costs about 0.1 ms of CPU, so a batch holds the loop for about 25
 * ms, which keeps watches and reads fluent; more gains nothing: the fsync (a few ms) is a small part already.
 */
const batchMax = 256;

interface Pending {
  run(transaction: Transaction): void;
  acknowledge(): void;
  fail(error: unknown): void;
}

export class Store {
  readonly #database: Database;
  /** Key: resource. */
  readonly #collections = new Map<string, Collection>();
  readonly #listeners = new Set<(changes: readonly Change[]) => void>();
  readonly history: History;
  #revision: number;
  #pending: Pending[] = [];
  #scheduled = false;
  #closed = false;

  constructor(path: string, limits?: typeof historyLimits) {
    this.#database = new Database(path);
    for (const entry of this.#database.entries()) this.collection(entry.resource).set(entry);
    // Revision 1 exists in an empty store, so that "0" keeps its meaning of "any" in requests.
    this.#revision = Math.max(1, this.#database.revision);
    this.history = new History(this.#revision, limits);
  }

  get revision(): number {
    return this.#revision;
  }

  collection(resource: string): Collection {
    let found = this.#collections.get(resource);
    if (found === undefined) this.#collections.set(resource, (found = new Collection()));
    return found;
  }

  get(place: StoredPlace): Entry | undefined {
    return this.collection(place.resource).get(place.namespace, place.name);
  }

  resources(): Iterable<string> {
    return this.#collections.keys();
  }

  /** Called after each commit with its changes, in order. Returns the way to stop. */
  subscribe(listener: (changes: readonly Change[]) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Runs the operation against the latest state; resolves when its changes are durable. */
  write<T>(operation: (transaction: Transaction) => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#closed) return reject(new Error("the API is closed: open it again before writing to it"));
      let result: T;
      this.#pending.push({
        run: (transaction) => (result = transaction.run(operation)),
        acknowledge: () => resolve(result),
        fail: reject,
      });
      this.#schedule();
    });
  }

  /** What the operation would return, with nothing kept. */
  rehearse<T>(operation: (transaction: Transaction) => T): T {
    return new Transaction(this, this.#revision).run(operation);
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    // After the poll phase: every request that has arrived by now joins the batch.
    setImmediate(() => {
      this.#scheduled = false;
      this.#flush();
      if (this.#pending.length > 0) this.#schedule();
    });
  }

  #flush(): void {
    const batch = this.#pending.splice(0, batchMax);
    const transaction = new Transaction(this, this.#revision);
    const answers = batch.map((pending) => {
      try {
        pending.run(transaction);
        return () => pending.acknowledge();
      } catch (error) {
        return () => pending.fail(error);
      }
    });
    try {
      this.#commit(transaction);
    } catch (error) {
      // A refusal too may rest on what others of the batch wrote, and that never came to be.
      for (const pending of batch) pending.fail(error);
      return;
    }
    for (const answer of answers) answer();
  }

  #commit(transaction: Transaction): void {
    const { changes } = transaction;
    if (changes.length === 0) return;
    this.#database.commit(finalRows(changes), transaction.revision);
    this.#revision = transaction.revision;
    for (const change of changes) {
      const { entry } = change;
      const collection = this.collection(entry.resource);
      if (change.type === "DELETED") collection.delete(entry.namespace, entry.name);
      else collection.set(entry);
      this.history.append(change);
    }
    for (const listener of this.#listeners) tell(listener, changes);
  }

  /** Forgets changes up to the current revision, as the real server's compaction does. */
  compact(): void {
    this.history.compact(this.#revision);
  }

  /** A text that stays with the file: made once. */
  remember(key: string, make: () => string): string {
    const known = this.#database.meta(key);
    if (known !== undefined) return known;
    const made = make();
    this.#database.setMeta(key, made);
    return made;
  }

  /** Writes that are already queued are committed first. */
  close(): void {
    if (this.#closed) return;
    while (this.#pending.length > 0) this.#flush();
    this.#closed = true;
    this.#listeners.clear();
    this.#database.close();
  }
}

/** What is durable stays so, and others hear of it, whatever one listener makes of it. */
function tell(listener: (changes: readonly Change[]) => void, changes: readonly Change[]): void {
  try {
    listener(changes);
  } catch (error) {
    process.emitWarning(error instanceof Error ? error : String(error));
  }
}

/** An object written several times in a batch needs only its last state on the disk. */
function finalRows(changes: readonly Change[]): Iterable<Row> {
  const rows = new Map<string, Row>();
  for (const { type, entry } of changes)
    rows.set(idOf(entry), { place: entry, entry: type === "DELETED" ? undefined : entry });
  return rows.values();
}
