// When a failed API server may be asked again: after what it asked for (Retry-After), never before a growing pause. It
// is drawn at random: thousands of daemons that a restart or an overload put out of step with each other stay so.
import { type Clock, sleep } from "../kube/clock.ts";
import { retryAfterOf } from "../kube/errors.ts";
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

  /** Until it may be asked again; 0 or below: now. */
  get leftMs(): number {
    return this.#fromMs - this.#clock.monotonicMs();
  }

  /** The server is known to answer again: nobody need wait. */
  end(): void {
    this.#fromMs = Number.NEGATIVE_INFINITY;
  }

  answered(): void {
    this.#backoff = new Backoff(pauses, this.#clock, this.#random);
  }

  failed(error: unknown): void {
    const askedMs = retryAfterOf(error) * (1 + this.#random());
    this.#fromMs = this.#clock.monotonicMs() + Math.max(this.#backoff.next(), askedMs);
  }

  /** Waits for its time, as long as the signal lets it. */
  async run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    if (this.leftMs > 0) await sleep(this.#clock, this.leftMs, signal);
    signal.throwIfAborted();
    try {
      const result = await work();
      this.answered();
      return result;
    } catch (error) {
      this.failed(error);
      throw error;
    }
  }
}
