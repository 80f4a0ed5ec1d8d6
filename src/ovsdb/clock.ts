// Time as an argument: what waits in src/ovsdb takes a Clock. The clock of src/kube fits.

export interface Clock {
  /** Calls back once, after the delay; the returned function cancels and may be called at any time. */
  after(delayMs: number, callback: () => void): () => void;
}

export const realClock: Clock = {
  after(delayMs, callback) {
    const timer = setTimeout(callback, delayMs);
    return () => clearTimeout(timer);
  },
};

/** True after the delay; false as soon as the signal aborts. Leaves no timer and no listener. */
export function sleep(clock: Clock, delayMs: number, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    const onAbort = () => {
      cancel();
      resolve(false);
    };
    const cancel = clock.after(delayMs, () => {
      signal.removeEventListener("abort", onAbort);
      resolve(true);
    });
    signal.addEventListener("abort", onAbort, { once: true });
  });
}

/** The promise, or what `otherwise` makes of the signal's end if that comes first. Leaves no listener behind. */
export function orAborted<T>(promise: Promise<T>, signal: AbortSignal, otherwise: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(otherwise());
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
