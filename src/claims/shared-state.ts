// What the leader says to everybody in holdfast-state, as claims go by it: paused, coexistence, sliced ranges; and the key of claims,
// which is written here, beside the keys that others write.
//
// Asked of the server, not followed: an answer is at most a second old. Where there is none it counts as paused.
import type { Clock } from "../kube/clock.ts";
import { isApiError } from "../kube/errors.ts";
import type { KubeClient } from "../kube/rest.ts";
import { claimsKey, type ClaimsState, readClaimsState, writeClaimsState } from "../ledger/claims-state.ts";
import { configMaps } from "../ledger/resources.ts";
import { readSlicedRanges, type SlicedRange } from "../ledger/sliced-ranges.ts";
import { fetchState, readState } from "../ledger/state.ts";

export interface SharedStateOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly systemNamespace: string;
}

export interface Said {
  /** Empty, or in a sentence why no hold may be changed now. */
  readonly rests: string;
  readonly coexistence: boolean;
  readonly sliced: readonly SlicedRange[];
}

/** One small read a second, whatever the number of families. */
const freshMs = 1000;
const unknown: Said = { rests: "the state of the cluster cannot be read", coexistence: true, sliced: [] };

export class SharedState {
  readonly #options: SharedStateOptions;
  #asked: { readonly ms: number; readonly answer: Promise<Said> } | undefined;
  /** As of the last answer; a ledger asks at every call. */
  #last: Said = unknown;

  constructor(options: SharedStateOptions) {
    this.#options = options;
  }

  get coexistence(): boolean {
    return this.#last.coexistence;
  }

  ask(signal: AbortSignal): Promise<Said> {
    const ms = this.#options.clock.monotonicMs();
    if (this.#asked === undefined || ms - this.#asked.ms >= freshMs) this.#asked = { ms, answer: this.#read(signal) };
    return this.#asked.answer;
  }

  /** True: it says so now. False: there is no state yet, or it changed meanwhile, or it is paused; ask again. */
  async tell(state: ClaimsState, signal: AbortSignal): Promise<boolean> {
    const { client, systemNamespace: namespace } = this.#options;
    const object = await fetchState(client, { namespace, signal });
    // Whoever keeps the state makes it.
    if (object === undefined) return false;
    const told = readClaimsState(object);
    if (told.gate === state.gate && told.needsLabel === state.needsLabel) return true;
    if (readState(object).paused !== "") return false;
    const data = { ...object.data, [claimsKey]: writeClaimsState(state) };
    try {
      await client.update(configMaps, { ...object, data }, { signal });
      return true;
    } catch (error) {
      if (isApiError(error, "conflict", "not-found")) return false;
      throw error;
    }
  }

  async #read(signal: AbortSignal): Promise<Said> {
    const { client, systemNamespace: namespace } = this.#options;
    try {
      const object = await fetchState(client, { namespace, signal });
      const { coexistence, paused } = readState(object);
      const told = readSlicedRanges(object);
      const rests = paused !== "" ? `handing out is paused: ${paused}` : told === undefined ? unknown.rests : "";
      this.#last = { rests, coexistence, sliced: told?.ranges ?? [] };
    } catch {
      // Whoever keeps the state asks the same, and says what is wrong.
      this.#last = unknown;
    }
    return this.#last;
  }
}
