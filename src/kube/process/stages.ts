// Starts stages in order and stops them in reverse: a stage begins when all of the one before is ready, and stops when
// all of the one after has ended. Any failure stops everything.
import { asError, untilAborted } from "../abort.ts";
import { type Clock, sleep } from "../clock.ts";

export interface Runnable {
  readonly name: string;
  /** Runs until the signal aborts. One that calls `ready` late sets `startsSlowly`. */
  run(signal: AbortSignal, ready: () => void): Promise<void>;
  /** The next stage waits until `ready` is called. */
  readonly startsSlowly?: boolean;
}

export class ShutdownTimeoutError extends Error {
  readonly code = "shutdown-timeout";
  override readonly name = "ShutdownTimeoutError";
}

type Running = ReturnType<typeof start>;

/**
 * Runs until the signal aborts or something fails; then stops all, with `graceMs` for the whole of it. Rejects with the
 * first failure, or with ShutdownTimeoutError if something is late. `onReady` is called when the last stage is ready.
 */
export async function runStages(
  stages: readonly (readonly Runnable[])[],
  options: {
    readonly signal: AbortSignal;
    readonly clock: Clock;
    readonly graceMs: number;
    readonly onReady?: () => void;
    /** Called when the stopping begins, whatever the cause. */
    readonly onStop?: () => void;
  },
): Promise<void> {
  const { signal, clock, graceMs } = options;
  /** Its reason is the first failure. */
  const failure = new AbortController();
  const halt = AbortSignal.any([failure.signal, signal]);
  const halted = untilAborted(halt);
  const started: { readonly stop: AbortController; readonly members: readonly Running[] }[] = [];
  for (const stage of stages) {
    if (halt.aborted) break;
    const stop = new AbortController();
    const members = stage.map((runnable) => start(runnable, stop.signal, failure));
    started.push({ stop, members });
    await Promise.race([Promise.all(members.map(({ ready }) => ready)), halted]);
  }
  if (!halt.aborted) options.onReady?.();
  await halted;
  options.onStop?.();
  const deadlineMs = clock.monotonicMs() + graceMs;
  for (const { stop, members } of started.reverse()) {
    stop.abort(failure.signal.aborted ? failure.signal.reason : signal.reason);
    const leftMs = Math.max(0, deadlineMs - clock.monotonicMs());
    const late = await endWithin(members, leftMs, clock);
    const words = `Did not stop within ${graceMs} ms: ${late.join(", ")}. The process should exit anyway.`;
    if (late.length > 0) failure.abort(new ShutdownTimeoutError(words));
  }
  failure.signal.throwIfAborted();
}

/** `ended` resolves however it ended. */
function start(runnable: Runnable, signal: AbortSignal, failure: AbortController) {
  const { promise: ready, resolve } = Promise.withResolvers<void>();
  let over = false;
  if (runnable.startsSlowly !== true) resolve();
  const ended = Promise.try(() => runnable.run(signal, resolve))
    .catch((error: unknown) => failure.abort(asError(error)))
    .finally(() => (over = true));
  return { name: runnable.name, ready, ended, isOver: () => over };
}

async function endWithin(members: readonly Running[], leftMs: number, clock: Clock): Promise<string[]> {
  const done = new AbortController();
  const timeUp = sleep(clock, leftMs, done.signal);
  await Promise.race([Promise.all(members.map(({ ended }) => ended)), timeUp]);
  done.abort();
  return members.filter(({ isOver }) => !isOver()).map(({ name }) => name);
}
