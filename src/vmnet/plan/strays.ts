// Holds whose network config is gone, without its end having been seen: a config without the finalizer, a crash between
// two writes. Pure. Promised: one look frees nothing; a hold that changed is looked at anew; one that is kept for a VM
// of its name waits until its time is over.
import { keptUntilMs } from "./keeping.ts";
import type { NicHold } from "./nic-hold.ts";

export class Strays {
  /** `DOMAIN ADDRESS VERSION` -> when it was first found without its config. */
  #seen = new Map<string, number>();
  /** Two looks are at least so far apart. */
  readonly #observeMs: number;

  constructor(observeMs: number) {
    this.#observeMs = observeMs;
  }

  /** Those that are due, of holds of which no network config has the UID. */
  look(holds: Iterable<NicHold>, nowMs: number, wallMs: number): NicHold[] {
    const seen = new Map<string, number>();
    const due: NicHold[] = [];
    for (const hold of holds) {
      if (hold.cooling !== undefined) continue;
      const keptMs = keptUntilMs(hold.note);
      if (keptMs !== undefined && keptMs > wallMs) continue;
      const key = `${hold.domain} ${hold.address} ${hold.version}`;
      const firstMs = this.#seen.get(key) ?? nowMs;
      seen.set(key, firstMs);
      if (nowMs - firstMs >= this.#observeMs) due.push(hold);
    }
    this.#seen = seen;
    return due;
  }

  get suspected(): number {
    return this.#seen.size;
  }
}
