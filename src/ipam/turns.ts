// Work for one key goes one after another, as requests of one owner in one pool: two at once could end with two
// addresses. The first fails and gives its candidate back, another owner marks it, and a third request of the first
// owner moves on to the next address while the second is still being written.
import type { Pool } from "./pool.ts";

export class Turns {
  /** The end of the queue of each key. A key that nobody works for has no entry. */
  readonly #ends = new Map<string, Promise<void>>();

  isBusy(key: string): boolean {
    return this.#ends.has(key);
  }

  /** Runs the work when all earlier work for the key has ended, well or badly. */
  async run<S extends AbortSignal | undefined, T>(key: string, signal: S, work: (signal: S) => Promise<T>): Promise<T> {
    const before = this.#ends.get(key);
    const turn = Promise.withResolvers<void>();
    // An aborted waiter leaves the queue, and those behind still wait for those before.
    const end = before === undefined ? turn.promise : before.then(() => turn.promise);
    this.#ends.set(key, end);
    void end.then(() => this.#ends.get(key) === end && this.#ends.delete(key));
    try {
      if (before !== undefined) await unlessAborted(before, signal);
      return await work(signal);
    } finally {
      turn.resolve();
    }
  }
}

const turns = new WeakMap<Pool, Turns>();

/** By the keys of owners. */
export function turnsOf(pool: Pool): Turns {
  const own = turns.get(pool) ?? new Turns();
  turns.set(pool, own);
  return own;
}

async function unlessAborted(wait: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) return wait;
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(signal.reason);
  signal.addEventListener("abort", abort);
  try {
    await Promise.race([wait, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
