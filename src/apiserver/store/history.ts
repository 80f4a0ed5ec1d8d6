// The recent changes, by revision: what watches resume from and what paged lists look back with.
// A revision older than what is kept is "compacted"; asking for it is answered 410 by the callers.
import { type Change, type Entry, keyOf } from "./entry.ts";

/**
 * 100,000 changes are over two minutes of the fastest writing measured on the real server (about 800 a second; twice
 * that here), and 64 MiB of text bounds the memory for large objects: at the 1.5 MiB limit that is 42 changes.
 */
export const historyLimits = { changes: 100_000, bytes: 64 * 1024 * 1024 };

export class History {
  /** Ascending by revision; entries before `#head` are dropped. */
  #changes: Change[] = [];
  #head = 0;
  #bytes = 0;
  /** Changes at or below it are gone. */
  compacted: number;
  readonly #limits: typeof historyLimits;

  constructor(revision: number, limits = historyLimits) {
    this.compacted = revision;
    this.#limits = limits;
  }

  append(change: Change): void {
    this.#changes.push(change);
    this.#bytes += change.entry.json.length;
    while (this.#changes.length - this.#head > this.#limits.changes || this.#bytes > this.#limits.bytes) this.#drop();
    // Moving the rest to the front once per half-empty array keeps dropping at constant cost.
    if (this.#head > 1024 && this.#head * 2 > this.#changes.length) {
      this.#changes = this.#changes.slice(this.#head);
      this.#head = 0;
    }
  }

  #drop(): void {
    const change = this.#changes[this.#head]!;
    this.#head++;
    this.#bytes -= change.entry.json.length;
    this.compacted = change.revision;
  }

  compact(revision: number): void {
    while (this.#head < this.#changes.length && this.#changes[this.#head]!.revision <= revision) this.#drop();
    this.compacted = Math.max(this.compacted, revision);
  }

  /** Changes with a revision above `revision`. The caller has checked that it is not compacted. */
  *since(revision: number): Generator<Change> {
    let low = this.#head;
    let high = this.#changes.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#changes[middle]!.revision <= revision) low = middle + 1;
      else high = middle;
    }
    for (let at = low; at < this.#changes.length; at++) yield this.#changes[at]!;
  }

  /** What differs from now at `revision`: key -> the entry then, or undefined where there was none. */
  rewind(resource: string, revision: number): Map<string, Entry | undefined> {
    const then = new Map<string, Entry | undefined>();
    for (const change of this.since(revision)) {
      if (change.entry.resource !== resource) continue;
      const key = keyOf(change.entry.namespace, change.entry.name);
      // The oldest change after the revision knows the state at it.
      if (!then.has(key)) then.set(key, change.previous);
    }
    return then;
  }
}
