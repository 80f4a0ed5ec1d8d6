// Time as an argument. Everything in src/kube that waits takes a Clock, so that tests own the hours.

export interface Clock {
  /** The wall clock: for timestamps that others read. It may jump. */
  wallMs(): number;
  /** Never goes back: for durations and deadlines. Its zero means nothing. */
  monotonicMs(): number;
  /** Calls back once, after the delay; the returned function cancels and may be called at any time. */
  after(delayMs: number, callback: () => void): () => void;
}

/** The longest delay that setTimeout takes; it fires at once for anything longer. */
const longestTimerMs = 2 ** 31 - 1;

const systemClock = (keepsAlive: boolean): Clock => ({
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  after(delayMs, callback) {
    const dueMs = performance.now() + delayMs;
    let timer: NodeJS.Timeout;
    const arm = () => {
      const leftMs = dueMs - performance.now();
      timer = setTimeout(
        () => (leftMs > longestTimerMs ? arm() : callback()),
        Math.min(Math.max(leftMs, 0), longestTimerMs),
      );
      if (!keepsAlive) timer.unref();
    };
    arm();
    return () => clearTimeout(timer);
  },
});

export const realClock = systemClock(true);

/** The same; what waits for it keeps no process from its end. */
export const unrefClock = systemClock(false);

/** True after the delay; false as soon as the signal aborts. Leaves no timer and no listener. */
export function sleep(clock: Clock, delayMs: number, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false);
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const onAbort = () => {
    cancel();
    resolve(false);
  };
  const cancel = clock.after(delayMs, () => {
    signal.removeEventListener("abort", onAbort);
    resolve(true);
  });
  signal.addEventListener("abort", onAbort, { once: true });
  return promise;
}

export interface Deadline extends Disposable {
  /** Aborts when the time is up, or when the caller's signal does. */
  readonly signal: AbortSignal;
  /** True if it was the time, not the caller. */
  readonly expired: boolean;
  /** Starts the time anew; for deadlines on silence. */
  extend(): void;
}

/** A deadline on top of a caller's signal. Dispose of it (`using`), or its timer stays. */
export function deadline(clock: Clock, timeoutMs: number, parent?: AbortSignal): Deadline {
  const controller = new AbortController();
  let expired = false;
  let cancel: (() => void) | undefined;
  const arm = () => {
    cancel?.();
    cancel = clock.after(timeoutMs, () => {
      expired = true;
      controller.abort(new Error(`No answer within ${timeoutMs} ms.`));
    });
  };
  const onAbort = () => {
    cancel?.();
    controller.abort(parent?.reason);
  };
  arm();
  if (parent?.aborted === true) onAbort();
  else parent?.addEventListener("abort", onAbort, { once: true });
  return {
    signal: controller.signal,
    get expired() {
      return expired;
    },
    extend() {
      if (!controller.signal.aborted) arm();
    },
    [Symbol.dispose]() {
      cancel?.();
      parent?.removeEventListener("abort", onAbort);
    },
  };
}

/** RFC 3339 with whole seconds, as metav1.Time is written. */
export function timestamp(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}
