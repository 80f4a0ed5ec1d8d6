// Requests of one owner in one pool go one after another. Two at once could end with two addresses: the first fails and
// gives its candidate back, another owner marks it, and a third request of the first owner moves on to the next address
// while the second is still being written.
import { type Owner, type OwnerKey, ownerKey } from "./owner.ts";
import type { Pool } from "./pool.ts";

/** Pool -> owner -> the end of its queue. An owner that nobody works for has no entry. */
const queues = new WeakMap<Pool, Map<OwnerKey, Promise<void>>>();

/**
 * Runs the work when all earlier work for this owner in this pool has ended, well or badly. Whatever changes what an owner
 * holds goes through here: acquire does, and whoever releases does it around the release and the pool's record of it.
 */
export async function inTurn<T>(
  pool: Pool,
  owner: Owner,
  work: () => Promise<T>,
  { signal }: { signal?: AbortSignal | undefined } = {},
): Promise<T> {
  const queue = queues.get(pool) ?? new Map<OwnerKey, Promise<void>>();
  queues.set(pool, queue);
  const key = ownerKey(owner);
  const before = queue.get(key);
  const turn = Promise.withResolvers<void>();
  // Who is called off while waiting leaves the queue, and those behind still wait for those before.
  const end = before === undefined ? turn.promise : before.then(() => turn.promise);
  queue.set(key, end);
  void end.then(() => queue.get(key) === end && queue.delete(key));
  try {
    if (before !== undefined) await unlessAborted(before, signal);
    return await work();
  } finally {
    turn.resolve();
  }
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
