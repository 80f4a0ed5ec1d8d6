// Whether handing out is paused (`paused` in holdfast-state): then the leader rests too. A migration moves pools and
// records, and where the API server has no policies to keep others out, it waits until nobody writes them any more.
// Asked of the server, not followed: an answer is at most a second old. Where there is none the leader rests: it may be
// paused.
import { fetchState, readState } from "../cluster/state.ts";
import type { StateKeeperOptions } from "./state-keeper.ts";

/** `unknown`: the server did not answer. */
export type Pause = "on" | "off" | "unknown";

/** One small read a second, whatever the number of pools. */
const freshMs = 1000;

export function pauseOf(
  options: Pick<StateKeeperOptions, "client" | "clock" | "systemNamespace">,
): (signal: AbortSignal) => Promise<Pause> {
  const { client, clock, systemNamespace: namespace } = options;
  let asked: { readonly ms: number; readonly answer: Promise<Pause> } | undefined;
  const ask = async (signal: AbortSignal): Promise<Pause> => {
    try {
      return readState(await fetchState(client, { namespace, signal })).paused === "" ? "off" : "on";
    } catch {
      // Whoever keeps the state asks the same, and says what is wrong.
      return "unknown";
    }
  };
  return (signal) => {
    const ms = clock.monotonicMs();
    if (asked === undefined || ms - asked.ms >= freshMs) asked = { ms, answer: ask(signal) };
    return asked.answer;
  };
}
