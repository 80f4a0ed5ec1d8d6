// Asks the wire whether a new binding's address is in use already, and whether one in quarantine still is.
//
// Promised: only the agent that answers for the pool's server address asks; at most `atOnce` questions at a time. Not
// promised: that a binding is asked about before it is served: it may be offered in the second that the question takes.
import { asError } from "../../kube/abort.ts";
import { type Clock, sleep } from "../../kube/clock.ts";
import type { Mac } from "../../net/mac.ts";
import type { BindingRecord } from "../binding-records.ts";
import { type BindingVerdict, judgeBinding } from "./binding-check.ts";

export interface BindingChecksOptions {
  readonly clock: Clock;
  readonly isHolder: (pool: string) => boolean;
  /** As it is served now. */
  readonly binding: (address: number) => BindingRecord | undefined;
  readonly probe: (record: BindingRecord, signal: AbortSignal) => Promise<Mac | undefined>;
  readonly found: (record: BindingRecord, verdict: BindingVerdict) => void;
  readonly onError: (error: Error) => void;
}

interface Waiting {
  readonly sinceMs: number;
  readonly dueMs: number;
}

/** Some 60 bytes each: 1 MiB. Beyond, new bindings are served without a question. */
const waitingMax = 16_384;
/** Each takes a second: 10,000 bindings that come at once are asked about within eleven minutes. */
const atOnce = 16;
/** Without a holder nobody asks; the next one asks about what came in this time. */
const newForMs = 60_000;
/** How often an address in quarantine is asked about. */
const againMs = 10_000;
const tickMs = 250;

export class BindingChecks {
  readonly #options: BindingChecksOptions;
  /** Key: the address. */
  readonly #waiting = new Map<number, Waiting>();
  #underWay = 0;
  #wake = () => {};

  constructor(options: BindingChecksOptions) {
    this.#options = options;
  }

  /** How many wait for their turn, or for an answer; not those whose time has not come. */
  get pending(): number {
    const nowMs = this.#options.clock.monotonicMs();
    let due = 0;
    for (const { dueMs } of this.#waiting.values()) if (dueMs <= nowMs) due++;
    return due + this.#underWay;
  }

  /** One in quarantine: asked about until it is silent. */
  watch(address: number): void {
    if (!this.#waiting.has(address)) this.add(address, againMs);
  }

  add(address: number, delayMs = 0): void {
    if (this.#waiting.size >= waitingMax) return;
    const nowMs = this.#options.clock.monotonicMs();
    this.#waiting.set(address, { sinceMs: nowMs, dueMs: nowMs + delayMs });
    this.#wake();
  }

  async run(signal: AbortSignal): Promise<void> {
    signal.addEventListener("abort", () => this.#wake(), { once: true });
    while (!signal.aborted) {
      if (this.#waiting.size === 0) {
        await new Promise<void>((resolve) => (this.#wake = resolve));
        continue;
      }
      this.#begin(signal);
      await sleep(this.#options.clock, tickMs, signal);
    }
  }

  #begin(signal: AbortSignal): void {
    const nowMs = this.#options.clock.monotonicMs();
    for (const [address, { sinceMs, dueMs }] of this.#waiting) {
      if (this.#underWay >= atOnce) return;
      if (dueMs > nowMs) continue;
      const record = this.#options.binding(address);
      const isOver = record === undefined || (record.quarantine?.by !== "probe" && nowMs - sinceMs > newForMs);
      if (isOver) this.#waiting.delete(address);
      else if (this.#options.isHolder(record.definition.pool)) {
        this.#waiting.delete(address);
        this.#underWay++;
        void this.#check(record, signal);
      }
    }
  }

  async #check(record: BindingRecord, signal: AbortSignal): Promise<void> {
    const { clock, probe, found, onError } = this.#options;
    try {
      const answer = await probe(record, signal);
      const current = this.#options.binding(record.address);
      // Another's by now: that one is asked about by itself.
      if (signal.aborted || current?.mac !== record.mac) return;
      const verdict = judgeBinding(current, answer, clock.wallMs());
      if (verdict.kind !== "fine") found(current, verdict);
      if (verdict.kind === "in-use") this.add(record.address, againMs);
    } catch (error) {
      if (signal.aborted) return;
      onError(asError(error));
      this.add(record.address, againMs);
    } finally {
      this.#underWay--;
    }
  }
}
