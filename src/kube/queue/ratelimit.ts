// How long a key waits before it is tried again. Times are counted, never waited for: the workqueue does the waiting.
import type { Clock } from "../clock.ts";
import type { ObjectKey } from "../meta.ts";

export interface RateLimiter {
  /** The wait before the next try; counts as a failure of the key. */
  when(key: ObjectKey): number;
  /** The key succeeded, or is given up: its failures no longer count. */
  forget(key: ObjectKey): void;
  failures(key: ObjectKey): number;
}

/** `firstMs * 2^failures`, up to `maxMs`. One entry per key that is failing. */
export function perItemExponential(firstMs: number, maxMs: number): RateLimiter {
  const failures = new Map<ObjectKey, number>();
  return {
    when(key) {
      const count = failures.get(key) ?? 0;
      failures.set(key, count + 1);
      return Math.min(firstMs * 2 ** count, maxMs);
    },
    forget: (key) => void failures.delete(key),
    failures: (key) => failures.get(key) ?? 0,
  };
}

/** `burst` tokens at once, then `perSecond`. */
export class TokenBucket {
  readonly #perSecond: number;
  readonly #burst: number;
  readonly #clock: Clock;
  /** Below zero: reservations that wait. */
  #tokens: number;
  #lastMs: number;

  constructor(perSecond: number, burst: number, clock: Clock) {
    this.#perSecond = perSecond;
    this.#burst = burst;
    this.#clock = clock;
    this.#tokens = burst;
    this.#lastMs = clock.monotonicMs();
  }

  /** A token now, or none at all. */
  take(): boolean {
    this.#refill();
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  /** A token for certain; how long until it is there. Later ones queue behind it. */
  reserve(): number {
    this.#refill();
    this.#tokens -= 1;
    return this.#tokens >= 0 ? 0 : (-this.#tokens / this.#perSecond) * 1000;
  }

  #refill(): void {
    const nowMs = this.#clock.monotonicMs();
    this.#tokens = Math.min(this.#burst, this.#tokens + ((nowMs - this.#lastMs) / 1000) * this.#perSecond);
    this.#lastMs = nowMs;
  }
}

/** client-go's for controllers: per key 5 ms doubling to 1000 s; for all keys 100 at once, then 10 a second. */
export function controllerRateLimiter(clock: Clock): RateLimiter {
  const perKey = perItemExponential(5, 1_000_000);
  const bucket = new TokenBucket(10, 100, clock);
  return { ...perKey, when: (key) => Math.max(perKey.when(key), bucket.reserve()) };
}
