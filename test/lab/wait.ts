// Waiting for the world: a condition that is asked again until it holds, and several tasks that succeed or fail as one.
import { setTimeout as sleep } from "node:timers/promises";

export interface WaitOptions {
  /** What is waited for, as the end of the sentence "gave up waiting for ...". */
  readonly what: string;
  readonly timeoutMs?: number;
  readonly everyMs?: number;
  readonly signal?: AbortSignal | undefined;
}

/** A machine with two busy cores takes ten times an idle one's time, which is 4 s for the slowest wait. */
const defaultTimeoutMs = 60_000;

/** The first answer but undefined and false. A throw counts as "not yet"; the last one becomes the timeout's cause. */
export async function until<T>(ask: () => Promise<T | undefined | false>, options: WaitOptions): Promise<T> {
  const { timeoutMs = defaultTimeoutMs, everyMs = 50, signal } = options;
  const endMs = Date.now() + timeoutMs;
  let cause: unknown;
  for (;;) {
    signal?.throwIfAborted();
    try {
      const answer = await ask();
      if (answer !== undefined && answer !== false) return answer;
    } catch (error) {
      cause = error;
    }
    if (Date.now() >= endMs) {
      throw new Error(`gave up waiting for ${options.what} after ${Math.round(timeoutMs / 1000)} s`, { cause });
    }
    await sleep(everyMs, undefined, signal ? { signal } : {});
  }
}

/**
 * Runs all of them side by side. When one fails, the others are told to stop, and its failure is thrown only after all
 * of them have: whoever cleans up next does not race with one that is still starting something.
 */
export async function together<T>(
  tasks: readonly ((signal: AbortSignal) => Promise<T>)[],
  signal?: AbortSignal,
): Promise<T[]> {
  const failed = new AbortController();
  const either = signal === undefined ? failed.signal : AbortSignal.any([signal, failed.signal]);
  const results = await Promise.allSettled(
    tasks.map((task) =>
      task(either).catch((error: unknown) => {
        failed.abort(error);
        throw error;
      }),
    ),
  );
  signal?.throwIfAborted();
  if (failed.signal.aborted) throw failed.signal.reason;
  return results.map((result) => (result as PromiseFulfilledResult<T>).value);
}
