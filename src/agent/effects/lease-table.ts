// What clients were given and gave back, in memory: for people who ask. Nothing is decided by it.
import type { Effect } from "../../dhcp/server/outcome.ts";
import type { EffectV6 } from "../../dhcp/v6/server/outcome.ts";

export interface LeaseEntry {
  readonly mac: string;
  /** When the client's lease ends; undefined: it has said that it uses the address no more. */
  readonly untilMs: number | undefined;
  readonly atMs: number;
}

export class LeaseTable {
  /** Address (IPv6 as text) -> the last that its client did. An entry is forgotten with its binding. */
  readonly #entries = new Map<number | string, LeaseEntry>();

  take(effect: Extract<Effect | EffectV6, { kind: "leased" | "released" }>, nowMs: number): void {
    const { address, mac } = effect;
    const untilMs = effect.kind === "leased" ? effect.untilMs : undefined;
    this.#entries.set(address.family === 4 ? address.value : address.toString(), { mac, untilMs, atMs: nowMs });
  }

  get(address: number | string, mac: string): LeaseEntry | undefined {
    const entry = this.#entries.get(address);
    return entry?.mac === mac ? entry : undefined;
  }

  delete(address: number | string): void {
    this.#entries.delete(address);
  }
}
