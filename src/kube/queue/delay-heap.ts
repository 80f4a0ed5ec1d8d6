// Keys that wait for their time: a binary heap with one timer for the earliest.
import type { Clock } from "../clock.ts";
import type { ObjectKey } from "../meta.ts";

interface Entry {
  readonly key: ObjectKey;
  readonly dueMs: number;
}

export class DelayHeap {
  readonly #clock: Clock;
  readonly #onDue: (key: ObjectKey) => void;
  /** Smallest dueMs first. An entry whose time is not the key's in #due was overtaken and is skipped. */
  readonly #heap: Entry[] = [];
  /** Key -> the time that counts. */
  readonly #due = new Map<ObjectKey, number>();
  #cancelTimer = () => {};
  #timerMs = Number.POSITIVE_INFINITY;

  constructor(clock: Clock, onDue: (key: ObjectKey) => void) {
    this.#clock = clock;
    this.#onDue = onDue;
  }

  get size(): number {
    return this.#due.size;
  }

  has(key: ObjectKey): boolean {
    return this.#due.has(key);
  }

  /** The earliest time of a key counts, so a key has a handful of entries at most: each is earlier than the last. */
  add(key: ObjectKey, delayMs: number): void {
    const dueMs = this.#clock.monotonicMs() + delayMs;
    const before = this.#due.get(key);
    if (before !== undefined && before <= dueMs) return;
    this.#due.set(key, dueMs);
    this.#push({ key, dueMs });
    this.#arm();
  }

  clear(): void {
    this.#heap.length = 0;
    this.#due.clear();
    this.#arm();
  }

  #arm(): void {
    const earliestMs = this.#heap[0]?.dueMs ?? Number.POSITIVE_INFINITY;
    if (earliestMs === this.#timerMs) return;
    this.#cancelTimer();
    this.#cancelTimer = () => {};
    this.#timerMs = earliestMs;
    if (earliestMs === Number.POSITIVE_INFINITY) return;
    this.#cancelTimer = this.#clock.after(earliestMs - this.#clock.monotonicMs(), () => this.#fire());
  }

  #fire(): void {
    this.#timerMs = Number.POSITIVE_INFINITY;
    const nowMs = this.#clock.monotonicMs();
    for (let first = this.#heap[0]; first !== undefined && first.dueMs <= nowMs; first = this.#heap[0]) {
      this.#pop();
      if (this.#due.get(first.key) !== first.dueMs) continue;
      this.#due.delete(first.key);
      this.#onDue(first.key);
    }
    this.#arm();
  }

  #push(entry: Entry): void {
    const heap = this.#heap;
    let at = heap.push(entry) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (heap[parent]!.dueMs <= entry.dueMs) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = entry;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let at = 0;
    for (let child = 1; child < heap.length; child = 2 * at + 1) {
      if (child + 1 < heap.length && heap[child + 1]!.dueMs < heap[child]!.dueMs) child++;
      if (heap[child]!.dueMs >= last.dueMs) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last;
  }
}
