// What clients were given and gave back, in memory: for people who ask. Nothing is decided by it.
import type { Effect } from "../../dhcp/server/outcome.ts";

export interface LeaseEntry {
  readonly mac: string;
  /** When the client's lease ends; undefined: it has said that it uses the address no more. */
  readonly untilMs: number | undefined;
  readonly atMs: number;
}

export class LeaseTable {
  /** Address -> the last that its client did. At most as many as there are bindings: others are forgotten with them. */
  readonly #entries = new Map<number, LeaseEntry>();

  take(effect: Extract<Effect, { kind: "leased" | "released" }>, nowMs: number): void {
    const untilMs = effect.kind === "leased" ? effect.untilMs : undefined;
    this.#entries.set(effect.address.value, { mac: effect.mac, untilMs, atMs: nowMs });
  }

  get(address: number, mac: string): LeaseEntry | undefined {
    const entry = this.#entries.get(address);
    return entry?.mac === mac ? entry : undefined;
  }

  delete(address: number): void {
    this.#entries.delete(address);
  }
}
