// What the leader does again and again, each round from what is there, unless it is paused.
import type { ReconcilerOptions } from "../cluster/reconciler-options.ts";
import { fetchState, readState } from "../cluster/state.ts";
import { sleep } from "../kube/clock.ts";
import type { PoolCaches } from "./caches.ts";

export interface Work extends Pick<ReconcilerOptions, "client" | "clock" | "log"> {
  readonly caches: PoolCaches;
  /** Handing out is paused: nothing is written. Asked before each write. Default: never. */
  readonly isPaused?: (signal: AbortSignal) => Promise<boolean>;
}

/** A round that fails is told, and the next one comes in its time. */
export async function everyRound(
  { clock, log }: Pick<Work, "clock" | "log">,
  { what, ms }: { readonly what: string; readonly ms: number },
  signal: AbortSignal,
  round: (signal: AbortSignal) => Promise<unknown>,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await round(signal);
    } catch (error) {
      if (!signal.aborted) log.warn(`${what} failed; it is tried again`, { error });
    }
    await sleep(clock, ms, signal);
  }
}

/** `unknown`: the server did not answer. Then the leader rests: it may be paused. */
export type Pause = "on" | "off" | "unknown";

/** One small read a second, whatever the number of pools. */
const freshMs = 1000;

type Asking = Pick<Work, "client" | "clock"> & { readonly systemNamespace: string };

/**
 * Whether handing out is paused (`paused` in holdfast-state): then the leader rests too, since a migration waits until
 * nobody writes any more. Asked of the server, not followed: an answer is at most a second old.
 */
export function pauseOf(options: Asking): (signal: AbortSignal) => Promise<Pause> {
  const { client, clock, systemNamespace: namespace } = options;
  let asked: { readonly ms: number; readonly answer: Promise<Pause> } | undefined;
  const ask = async (signal: AbortSignal): Promise<Pause> =>
    readState(await fetchState(client, { namespace, signal })).paused === "" ? "off" : "on";
  return (signal) => {
    const ms = clock.monotonicMs();
    if (asked === undefined || ms - asked.ms >= freshMs)
      // Whoever keeps the state asks the same, and says what is wrong.
      asked = { ms, answer: ask(signal).catch((): Pause => "unknown") };
    return asked.answer;
  };
}
