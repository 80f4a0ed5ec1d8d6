// When the API server may be asked again after it has failed: after what it asked for (Retry-After), and never sooner than a growing pause, each
// drawn at random, so that thousands of daemons that a restart or an overload has put out of step with each other stay so.
import { type Clock, sleep } from "../kube/clock.ts";
import { ApiError } from "../kube/errors.ts";
import { Backoff } from "../kube/queue/backoff.ts";

/** 1 to 2 s, doubled up to 30 to 60 s: a server that answers again is asked within a minute. */
const pauses = { firstMs: 1000, maxMs: 30_000, jitter: 1, resetAfterMs: Number.POSITIVE_INFINITY };

export class RetryPause {
  readonly #clock: Clock;
  readonly #random: () => number;
  #backoff: Backoff;
  #fromMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, random: () => number) {
    this.#clock = clock;
    this.#random = random;
    this.#backoff = new Backoff(pauses, clock, random);
  }

  get isDue(): boolean {
    return this.#clock.monotonicMs() >= this.#fromMs;
  }

  /** Waits for its time, as long as the signal lets it. */
  async run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const waitMs = this.#fromMs - this.#clock.monotonicMs();
    if (waitMs > 0) await sleep(this.#clock, waitMs, signal);
    signal.throwIfAborted();
    try {
      const result = await work();
      this.#backoff = new Backoff(pauses, this.#clock, this.#random);
      return result;
    } catch (error) {
      const asked = error instanceof ApiError ? (error.retryAfterMs ?? 0) * (1 + this.#random()) : 0;
      this.#fromMs = this.#clock.monotonicMs() + Math.max(this.#backoff.next(), asked);
      throw error;
    }
  }
}
