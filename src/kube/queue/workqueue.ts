// The queue of keys between informers and workers: client-go's workqueue.
//
// Promised: first come, first served; a key waits once however often it is added; a key is never with two workers at
// once; a key added while it is processed is processed again afterwards. Keys added behind the others come when nothing
// else waits, and once for every `turnsPerBehind` others. Not promised: that each add is seen, only the last.
import type { Clock } from "../clock.ts";
import type { ObjectKey } from "../meta.ts";
import { DelayHeap } from "./delay-heap.ts";
import type { RateLimiter } from "./ratelimit.ts";

/** A key costs about 200 bytes over all structures: a million of them 200 MB. More keys than objects is a bug. */
const defaults = { maxKeys: 1_000_000 };
/** A key that changed waits at most for one in eight that did not. */
const turnsPerBehind = 8;

export interface QueueObserver {
  added?(): void;
  retried?(): void;
  /** From the add to the take. */
  waited?(ms: number): void;
}

export interface QueueOptions {
  readonly clock: Clock;
  readonly rateLimiter: RateLimiter;
  readonly maxKeys?: number;
  readonly observer?: QueueObserver;
}

export class QueueFullError extends Error {
  readonly code = "queue-full";
  override readonly name = "QueueFullError";
}

export class Workqueue {
  readonly #options: QueueOptions & typeof defaults;
  /** Keys to process, in order, with the time they were added. Invariant: none of them is in #processing. */
  readonly #queue = new Map<ObjectKey, number>();
  /** Keys to process behind those, alike. Invariant: none of them is in #queue or in #processing. */
  readonly #behind = new Map<ObjectKey, number>();
  /** Handed out of #queue since the last one of #behind. */
  #turns = 0;
  /** Keys with a worker. */
  readonly #processing = new Set<ObjectKey>();
  /** Keys with a worker that were added again. Invariant: a subset of #processing. */
  readonly #again = new Set<ObjectKey>();
  readonly #waiting: DelayHeap;
  readonly #takers: ((key: ObjectKey | undefined) => void)[] = [];
  readonly #idle: (() => void)[] = [];
  #closed = false;

  constructor(options: QueueOptions) {
    this.#options = { ...defaults, ...options };
    this.#waiting = new DelayHeap(options.clock, (key) => this.#enqueue(key));
  }

  /** Keys that wait for a worker; those with a delay or with a worker are not counted. */
  get length(): number {
    return this.#queue.size + this.#behind.size;
  }

  add(key: ObjectKey): void {
    this.#admit(key);
    this.#enqueue(key);
  }

  /** For what has not changed, as far as anybody knows: whatever has changed goes first. */
  addBehind(key: ObjectKey): void {
    this.#admit(key);
    if (this.#processing.has(key)) return this.#enqueue(key);
    if (this.#closed || this.#queue.has(key) || this.#behind.has(key)) return;
    this.#options.observer?.added?.();
    this.#behind.set(key, this.#options.clock.monotonicMs());
    this.#handOut();
  }

  #enqueue(key: ObjectKey): void {
    if (this.#closed) return;
    if (this.#processing.has(key)) {
      if (!this.#again.has(key)) this.#options.observer?.added?.();
      this.#again.add(key);
      return;
    }
    if (this.#queue.has(key)) return;
    const sinceMs = this.#behind.get(key);
    if (sinceMs === undefined) this.#options.observer?.added?.();
    else this.#behind.delete(key);
    this.#queue.set(key, sinceMs ?? this.#options.clock.monotonicMs());
    this.#handOut();
  }

  /** Adds the key when the time has passed; of several such adds the earliest counts. */
  addAfter(key: ObjectKey, delayMs: number): void {
    if (Number.isNaN(delayMs)) throw new RangeError(`The delay of "${key}" is not a number.`);
    if (this.#closed) return;
    this.#admit(key);
    if (delayMs <= 0) this.#enqueue(key);
    else this.#waiting.add(key, delayMs);
  }

  /** Adds the key when the rate limiter allows, and not before the server that refused it allows: for what failed. */
  addRateLimited(key: ObjectKey, atLeastMs = 0): void {
    if (this.#closed) return;
    this.#options.observer?.retried?.();
    this.addAfter(key, Math.max(this.#options.rateLimiter.when(key), atLeastMs));
  }

  /** Ends the backoff of a key that succeeded. It does not take the key out. */
  forget(key: ObjectKey): void {
    this.#options.rateLimiter.forget(key);
  }

  failures(key: ObjectKey): number {
    return this.#options.rateLimiter.failures(key);
  }

  /** The next key, which is then the caller's until done(key); undefined when the queue is closed and empty. */
  take(): Promise<ObjectKey | undefined> {
    const { promise, resolve } = Promise.withResolvers<ObjectKey | undefined>();
    this.#takers.push(resolve);
    this.#handOut();
    return promise;
  }

  done(key: ObjectKey): void {
    this.#processing.delete(key);
    if (this.#again.delete(key)) {
      this.#queue.set(key, this.#options.clock.monotonicMs());
      this.#handOut();
    }
    this.#wakeIdle();
  }

  /** Takes no more keys, drops those with a delay; those in the queue are still handed out. */
  close(): void {
    this.#closed = true;
    this.#waiting.clear();
    this.#handOut();
  }

  /** Closes, and resolves when every key handed out is done. */
  async drain(): Promise<void> {
    this.close();
    if (this.#processing.size > 0 || this.length > 0) {
      await new Promise<void>((resolve) => this.#idle.push(resolve));
    }
  }

  /** Closes and forgets what no worker has yet: for a shutdown whose time is up. */
  abandon(): void {
    this.#queue.clear();
    this.#behind.clear();
    this.#again.clear();
    this.close();
    // Workers between two keys have none that would be done.
    this.#wakeIdle();
  }

  #wakeIdle(): void {
    if (this.#processing.size === 0 && this.length === 0) for (const wake of this.#idle.splice(0)) wake();
  }

  /** Only a key that is new to the queue is refused: one that was let in must not be lost, least of all in a timer. */
  #admit(key: ObjectKey): void {
    if (this.#closed || this.length + this.#waiting.size < this.#options.maxKeys) return;
    if (this.#queue.has(key) || this.#behind.has(key) || this.#processing.has(key) || this.#waiting.has(key)) return;
    const message = `The queue holds ${this.#options.maxKeys} keys: "${key}" was not added. Do the keys name objects?`;
    throw new QueueFullError(message);
  }

  #handOut(): void {
    while (this.#takers.length > 0 && this.length > 0) {
      const from = this.#nextLine();
      const [key, sinceMs] = from.entries().next().value!;
      from.delete(key);
      this.#processing.add(key);
      this.#options.observer?.waited?.(this.#options.clock.monotonicMs() - sinceMs);
      this.#takers.shift()!(key);
    }
    if (this.#closed && this.length === 0 && this.#again.size === 0)
      for (const taker of this.#takers.splice(0)) taker(undefined);
  }

  #nextLine(): Map<ObjectKey, number> {
    const isBehindsTurn = this.#behind.size > 0 && (this.#queue.size === 0 || this.#turns >= turnsPerBehind);
    this.#turns = isBehindsTurn || this.#behind.size === 0 ? 0 : this.#turns + 1;
    return isBehindsTurn ? this.#behind : this.#queue;
  }
}
