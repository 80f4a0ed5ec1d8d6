// Time as the API sees it, injected so that a simulation can own it.

export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Resolves after `ms`, or at once when the signal aborts; never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const finish = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", finish);
        resolve();
      };
      // 2^31-1 ms is the longest delay that Node's timers take; longer ones would fire at once.
      const timer = setTimeout(finish, Math.min(ms, 2 ** 31 - 1));
      timer.unref();
      signal?.addEventListener("abort", finish);
    }),
};
