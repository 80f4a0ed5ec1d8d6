// What the leader does again and again, each round from what is there.
import { type Clock, sleep } from "../kube/clock.ts";
import type { KubeClient } from "../kube/rest.ts";
import type { Log } from "../log/log.ts";
import type { PoolCaches } from "./caches.ts";

export interface Work {
  readonly caches: PoolCaches;
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Log;
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
