// Whether handing out is paused (`paused` in holdfast-state): then the leader rests too. A migration moves pools and records, and
// where the API server has no policies to keep others out, it waits until nobody writes them any more.
//
// Asked of the server, not followed: an answer is at most a second old. Where there is none the leader rests, as it may be paused.
import type { Clock } from "../kube/clock.ts";
import type { KubeClient } from "../kube/rest.ts";
import { fetchState, readState } from "../ledger/state.ts";

export interface PauseOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly systemNamespace: string;
}

/** One small read a second, whatever the number of pools. */
const freshMs = 1000;

export class Pause {
  readonly #options: PauseOptions;
  #asked: { readonly ms: number; readonly answer: Promise<boolean> } | undefined;

  constructor(options: PauseOptions) {
    this.#options = options;
  }

  readonly isOn = (signal: AbortSignal): Promise<boolean> => {
    const ms = this.#options.clock.monotonicMs();
    if (this.#asked === undefined || ms - this.#asked.ms >= freshMs) this.#asked = { ms, answer: this.#ask(signal) };
    return this.#asked.answer;
  };

  async #ask(signal: AbortSignal): Promise<boolean> {
    const { client, systemNamespace: namespace } = this.#options;
    try {
      return readState(await fetchState(client, { namespace, signal })).paused !== "";
    } catch {
      // Whoever keeps the state asks the same, and says what is wrong.
      return true;
    }
  }
}
