// How long a key waits before it is tried again. Times are counted, never waited for: the workqueue does the waiting.
import type { Clock } from "./clock.ts";
import type { ObjectKey } from "./meta.ts";

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

/** A token bucket over all keys: `burst` at once, then `perSecond`. A wait is a reservation, so later ones queue behind it. */
export function tokenBucket(perSecond: number, burst: number, clock: Clock): RateLimiter {
  let tokens = burst;
  let lastMs = clock.monotonicMs();
  return {
    when() {
      const nowMs = clock.monotonicMs();
      tokens = Math.min(burst, tokens + ((nowMs - lastMs) / 1000) * perSecond);
      lastMs = nowMs;
      tokens -= 1;
      return tokens >= 0 ? 0 : (-tokens / perSecond) * 1000;
    },
    forget() {},
    failures: () => 0,
  };
}

/** The longest wait of several limiters. */
export function maxOf(...limiters: readonly RateLimiter[]): RateLimiter {
  return {
    when: (key) => Math.max(...limiters.map((limiter) => limiter.when(key))),
    forget(key) {
      for (const limiter of limiters) limiter.forget(key);
    },
    failures: (key) => Math.max(...limiters.map((limiter) => limiter.failures(key))),
  };
}

/** client-go's default for controllers: 5 ms doubling to 1000 s per key, and 10 retries a second, 100 at once, over all keys. */
export function controllerRateLimiter(clock: Clock): RateLimiter {
  return maxOf(perItemExponential(5, 1_000_000), tokenBucket(10, 100, clock));
}
