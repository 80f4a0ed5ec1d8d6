// Exponential backoff with jitter, that forgets after a long enough health. For loops that reconnect.
import type { Clock } from "../clock.ts";

interface BackoffSettings {
  readonly firstMs: number;
  readonly maxMs: number;
  /** Each delay is drawn from [delay, delay * (1 + jitter)). */
  readonly jitter: number;
  /** A pause between failures of at least this long starts over. */
  readonly resetAfterMs: number;
}

export class Backoff {
  readonly #settings: BackoffSettings;
  readonly #clock: Clock;
  readonly #random: () => number;
  #nextMs: number;
  #lastMs = Number.NEGATIVE_INFINITY;

  constructor(settings: BackoffSettings, clock: Clock, random: () => number) {
    this.#settings = settings;
    this.#clock = clock;
    this.#random = random;
    this.#nextMs = settings.firstMs;
  }

  next(): number {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#lastMs >= this.#settings.resetAfterMs) this.#nextMs = this.#settings.firstMs;
    this.#lastMs = nowMs;
    const delayMs = this.#nextMs;
    this.#nextMs = Math.min(delayMs * 2, this.#settings.maxMs);
    return delayMs * (1 + this.#random() * this.#settings.jitter);
  }
}
