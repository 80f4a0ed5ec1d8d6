// The leader's reading of holdfast-state (paused, coexistence, sliced ranges), and its writing of the key `claims`.
// Asked of the server, not followed: an answer is at most a second old; no answer means paused.
import { claimsKey, type ClaimsState, readClaimsState, writeClaimsState } from "../../cluster/claims-state.ts";
import { readSlicedRanges, type SlicedRange } from "../../cluster/sliced-ranges.ts";
import { fetchState, readState, saveState } from "../../cluster/state.ts";
import { sleep } from "../../kube/clock.ts";
import { unless } from "../../kube/unless.ts";
import type { FeatureGate } from "./feature-gate.ts";
import type { ClaimsOptions } from "./leader.ts";

export interface Said {
  /** Empty, or in a sentence why no hold may be changed now. */
  readonly rests: string;
  /** A hold for what a claim's status says may be made: not beside whereabouts, nor where its pools are. */
  readonly mayTake: boolean;
  readonly coexistence: boolean;
  readonly sliced: readonly SlicedRange[];
}

/** One small read a second, whatever the number of families. */
const freshMs = 1000;
/** Somebody may have taken the key away. */
const toldMs = 10_000;
/** There is no state yet, or somebody else was writing it. */
const untoldMs = 1000;
const unknown: Said = {
  rests: "the state of the cluster cannot be read",
  mayTake: false,
  coexistence: true,
  sliced: [],
};

export class StateClient {
  readonly #options: Pick<ClaimsOptions, "client" | "clock" | "log" | "systemNamespace">;
  #asked: { readonly ms: number; readonly answer: Promise<Said> } | undefined;
  /** As of the last answer; a ledger asks at every call. */
  #last: Said = unknown;

  constructor(options: Pick<ClaimsOptions, "client" | "clock" | "log" | "systemNamespace">) {
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

  /** Keeps the key `claims` as the gate says, so that daemons know it, until the signal aborts. */
  async publish(gate: FeatureGate, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    let changed = new AbortController();
    gate.follow(() => changed.abort(), signal);
    while (!signal.aborted) {
      changed = new AbortController();
      const waking = AbortSignal.any([signal, changed.signal]);
      let isTold = false;
      try {
        isTold = gate.state.gate !== "unknown" && (await this.#tell(gate.state, signal));
      } catch (error) {
        if (!signal.aborted) log.warn("the gate of claims could not be told; it is tried again", { error });
      }
      await sleep(clock, isTold ? toldMs : untoldMs, waking);
    }
  }

  /** True: it says so now. False: there is no state yet, or it changed meanwhile, or it is paused; ask again. */
  async #tell(state: ClaimsState, signal: AbortSignal): Promise<boolean> {
    const { client, systemNamespace: namespace } = this.#options;
    const object = await fetchState(client, { namespace, signal });
    // Whoever keeps the state makes it.
    if (object === undefined) return false;
    const told = readClaimsState(object);
    if (told.gate === state.gate && told.needsLabel === state.needsLabel) return true;
    if (readState(object).paused !== "") return false;
    const saved = saveState(client, { namespace, signal }, object, { [claimsKey]: writeClaimsState(state) });
    return (await unless(["conflict", "not-found"], saved)) !== undefined;
  }

  async #read(signal: AbortSignal): Promise<Said> {
    const { client, systemNamespace: namespace } = this.#options;
    try {
      const object = await fetchState(client, { namespace, signal });
      const { coexistence, paused, poolNamespace } = readState(object);
      const mayTake = !coexistence && poolNamespace === undefined;
      const told = readSlicedRanges(object);
      const rests = paused !== "" ? `handing out is paused: ${paused}` : told === undefined ? unknown.rests : "";
      this.#last = { rests, mayTake, coexistence, sliced: told?.ranges ?? [] };
    } catch {
      // Whoever keeps the state asks the same, and says what is wrong.
      this.#last = unknown;
    }
    return this.#last;
  }
}
