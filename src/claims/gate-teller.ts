// Tells daemons whether persistent addresses are on: keeps the key `claims` of holdfast-state as the gate says.
import { type Clock, sleep } from "../kube/clock.ts";
import type { Log } from "../log/log.ts";
import type { Gate } from "./gate.ts";
import type { SharedState } from "./shared-state.ts";

export interface GateTellerOptions {
  readonly gate: Gate;
  readonly state: SharedState;
  readonly clock: Clock;
  readonly log: Log;
}

/** Somebody may have taken it away. */
const toldMs = 10_000;
/** There is no state yet, or somebody else was writing it. */
const untoldMs = 1000;

export class GateTeller {
  readonly #options: GateTellerOptions;
  #changed = new AbortController();

  constructor(options: GateTellerOptions) {
    this.#options = options;
  }

  /** The gate may have changed: it is told at once. */
  wake(): void {
    this.#changed.abort();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { gate, state, clock, log } = this.#options;
    while (!signal.aborted) {
      this.#changed = new AbortController();
      const waking = AbortSignal.any([signal, this.#changed.signal]);
      let isTold = false;
      try {
        isTold = gate.state.gate !== "unknown" && (await state.tell(gate.state, signal));
      } catch (error) {
        if (!signal.aborted) log.warn("the gate of claims could not be told; it is tried again", { error });
      }
      await sleep(clock, isTold ? toldMs : untoldMs, waking);
    }
  }
}
