// Whether handing out is paused (`paused` in holdfast-state): then the leader rests too. A migration moves pools and records, and
// where the API server has no policies to keep others out, it waits until nobody writes them any more.
// Asked of the server, not followed: an answer is at most a second old. Where there is none the leader rests, as it may be paused.
import { fetchState, readState } from "../ledger/state.ts";
import type { StateKeeperOptions } from "./state-keeper.ts";

/** One small read a second, whatever the number of pools. */
const freshMs = 1000;

export function pauseOf(
  options: Pick<StateKeeperOptions, "client" | "clock" | "systemNamespace">,
): NonNullable<StateKeeperOptions["isPaused"]> {
  const { client, clock, systemNamespace: namespace } = options;
  let asked: { readonly ms: number; readonly answer: Promise<boolean> } | undefined;
  const ask = async (signal: AbortSignal) => {
    try {
      return readState(await fetchState(client, { namespace, signal })).paused !== "";
    } catch {
      // Whoever keeps the state asks the same, and says what is wrong.
      return true;
    }
  };
  return (signal) => {
    const ms = clock.monotonicMs();
    if (asked === undefined || ms - asked.ms >= freshMs) asked = { ms, answer: ask(signal) };
    return asked.answer;
  };
}
