// Small tools around AbortSignal.

/** An abort reason, or whatever was thrown, may be anything; what we throw is an Error. */
export function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(wordsOf(reason), { cause: reason });
}

/** An object without a prototype, or with a toString that throws, has no words; that must not hide what was thrown. */
function wordsOf(reason: unknown): string {
  try {
    return String(reason);
  } catch {
    return "something that cannot be put into words";
  }
}

/** Resolves when the signal aborts; never rejects. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

/** The promise, or the signal's reason if that comes first. Leaves no listener behind: signals outlive calls by far. */
export function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(asError(signal.reason));
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
