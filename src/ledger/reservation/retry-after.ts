// Asking again where the API server said "later" (429, or 503 with a time): nothing was done, so the call is repeated,
// after the time the server asked for and up to as long again, so that a thousand daemons do not come back at once.
// Promised: no wait outlives the caller's signal; all last half a minute at most, then the refusal is passed on.
import { type Clock, realClock, sleep } from "../../kube/clock.ts";
import { isApiError } from "../../kube/errors.ts";
import type { Signal } from "../../kube/unless.ts";

/** The API server asks for one second as a rule: about 20 tries with the jitter. A runtime gives up after minutes. */
export const waitMaxMs = 30_000;
const defaultWaitMs = 1000;

export interface Waiting {
  readonly clock?: Clock;
  readonly random?: () => number;
}

export async function patiently<T>(call: () => Promise<T>, waiting: Waiting, signal: Signal): Promise<T> {
  const { clock = realClock, random = Math.random } = waiting;
  let leftMs = waitMaxMs;
  for (;;) {
    try {
      return await call();
    } catch (error) {
      const isAsked = isApiError(error, "unavailable") && error.retryAfterMs !== undefined;
      const isLater = isAsked || isApiError(error, "too-many-requests");
      const waitMs = isLater ? (error.retryAfterMs ?? defaultWaitMs) * (1 + random()) : Infinity;
      leftMs -= Math.max(waitMs, 1);
      if (leftMs < 0 || !(await sleep(clock, waitMs, signal ?? never))) throw error;
    }
  }
}

const never = new AbortController().signal;
