// Reconciles keys with N workers: a key in, nothing or `requeueAfterMs` out.
//
// Promised: a key is never with two workers; a reconcile that throws, whatever it throws, is retried with backoff and
// stops no other; on shutdown the queue drains within the grace time before reconciles are aborted; after a lost lease,
// at once.
import { setImmediate } from "node:timers/promises";

import { asError, untilAborted } from "../abort.ts";
import { type Clock, deadline, type Deadline, realClock, sleep } from "../clock.ts";
import { retryAfterOf } from "../errors.ts";
import { LeadershipLostError } from "../leader.ts";
import type { ObjectKey } from "../meta.ts";
import { controllerRateLimiter, type RateLimiter } from "./ratelimit.ts";
import { type QueueObserver, Workqueue } from "./workqueue.ts";

/** A watch event waits no longer for reconciles that have nothing to do. */
const breathMs = 10;

interface ReconcileContext {
  /** Aborts when the reconcile has run too long since it first asked for it, or when a shutdown's grace is over. */
  readonly signal: AbortSignal;
  /** How often this key has failed in a row. */
  readonly failures: number;
}

type ReconcileResult = { readonly requeueAfterMs: number } | undefined | void;
export type Reconcile = (key: ObjectKey, context: ReconcileContext) => Promise<ReconcileResult>;
export type Outcome = "success" | "requeue-after" | "error";

export interface ControllerObserver extends QueueObserver {
  reconciled?(outcome: Outcome, durationMs: number): void;
  busy?(workers: number): void;
  depth?(keys: number): void;
}

export interface ControllerOptions {
  readonly name: string;
  readonly reconcile: Reconcile;
  readonly concurrency?: number;
  readonly clock?: Clock;
  readonly rateLimiter?: RateLimiter;
  /** After this a reconcile's signal aborts. The worker still waits for it to return, and keeps its key. */
  readonly reconcileTimeoutMs?: number;
  readonly shutdownGraceMs?: number;
  readonly observer?: ControllerObserver;
  readonly onError?: (error: Error, key: ObjectKey) => void;
}

const defaults = { concurrency: 1, clock: realClock, reconcileTimeoutMs: 120_000, shutdownGraceMs: 10_000 };

export class Controller {
  readonly name: string;
  readonly #options: ControllerOptions & typeof defaults;
  readonly #clock: Clock;
  readonly #queue: Workqueue;
  #busy = 0;
  /** When the event loop last had its turn for this controller. */
  #breathedMs = Number.NEGATIVE_INFINITY;
  #breath: Promise<void> | undefined;

  constructor(options: ControllerOptions) {
    this.name = options.name;
    this.#options = { ...defaults, ...options };
    this.#clock = this.#options.clock;
    this.#queue = new Workqueue({ rateLimiter: controllerRateLimiter(this.#clock), ...this.#options });
  }

  enqueue(key: ObjectKey): void {
    this.#queue.add(key);
    this.#options.observer?.depth?.(this.#queue.length);
  }

  /** Behind whatever was enqueued because it changed: for a look at all that there is. */
  enqueueBehind(key: ObjectKey): void {
    this.#queue.addBehind(key);
    this.#options.observer?.depth?.(this.#queue.length);
  }

  enqueueAfter(key: ObjectKey, delayMs: number): void {
    this.#queue.addAfter(key, delayMs);
  }

  /** Works until the signal aborts, then drains, to the last reconcile. Rejects if `onError` or `observer` throws. */
  async run(signal: AbortSignal): Promise<void> {
    const working = new AbortController();
    const workers = Array.from({ length: this.#options.concurrency }, () => this.#work(working.signal));
    try {
      await Promise.race([untilAborted(signal), ...workers]);
    } catch (error) {
      this.#queue.abandon();
      working.abort(error);
      throw error;
    }
    const done = new AbortController();
    // Who lost the lease has no grace: its successor may begin, and would meet reconciles of a queue that is drained.
    const graceMs = signal.reason instanceof LeadershipLostError ? 0 : this.#options.shutdownGraceMs;
    const graceOver = this.#endAfterGrace(graceMs, working, done.signal);
    await this.#queue.drain();
    done.abort();
    await Promise.all([...workers, graceOver]);
  }

  async #endAfterGrace(graceMs: number, working: AbortController, drained: AbortSignal): Promise<void> {
    if (graceMs > 0 && !(await sleep(this.#clock, graceMs, drained))) return;
    this.#queue.abandon();
    working.abort(new Error(`Controller ${this.name} is shutting down, and its grace time is over.`));
  }

  async #work(signal: AbortSignal): Promise<void> {
    for (let key = await this.#queue.take(); key !== undefined; key = await this.#queue.take()) {
      const { observer } = this.#options;
      observer?.busy?.(++this.#busy);
      const startedMs = this.#clock.monotonicMs();
      try {
        const outcome = await this.#reconcile(key, signal);
        observer?.reconciled?.(outcome, this.#clock.monotonicMs() - startedMs);
      } finally {
        this.#queue.done(key);
        observer?.busy?.(--this.#busy);
        observer?.depth?.(this.#queue.length);
      }
      await this.#breathe();
    }
  }

  /**
   * Reconciles that wait for nothing would run one after the other, and no event of a watch be read until the last.
   * One pause for all workers: of sixteen, each would let its own worker go on before the event loop has had its turn.
   */
  async #breathe(): Promise<void> {
    if (this.#breath === undefined && this.#clock.monotonicMs() - this.#breathedMs < breathMs) return;
    this.#breath ??= this.#pause();
    await this.#breath;
  }

  async #pause(): Promise<void> {
    await setImmediate();
    this.#breathedMs = this.#clock.monotonicMs();
    this.#breath = undefined;
  }

  async #reconcile(key: ObjectKey, signal: AbortSignal): Promise<Outcome> {
    const { reconcile, reconcileTimeoutMs, onError } = this.#options;
    const clock = this.#clock;
    let limit: Deadline | undefined;
    const context = {
      failures: this.#queue.failures(key),
      /** Made when asked for: a reconcile without work needs none, and it would cost as much as the look. */
      get signal() {
        limit ??= deadline(clock, reconcileTimeoutMs, signal);
        return limit.signal;
      },
    };
    try {
      const result = await reconcile(key, context);
      if (result !== undefined) this.#queue.addAfter(key, result.requeueAfterMs);
      this.#queue.forget(key); // last: a delay that is refused is a failure like any other
      return result === undefined ? "success" : "requeue-after";
    } catch (thrown) {
      const error = asError(thrown);
      onError?.(error, key);
      this.#queue.addRateLimited(key, retryAfterOf(error));
      return "error";
    } finally {
      limit?.[Symbol.dispose]();
    }
  }
}
