// Holds whose network config is gone, without its end having been seen: a config without the finalizer, a crash between
// two writes. Pure. Promised: one look frees nothing; a hold that changed is looked at anew; one that is kept for a VM
// of its name waits until its time is over.
import { keptUntilMs } from "./keeping.ts";
import type { NicHold } from "./nic-hold.ts";

export class Strays {
  /** The hold as it was then -> when it was first found without its config. */
  #seen = new Map<NicHold, number>();
  /** Two looks are at least so far apart. */
  readonly #observeMs: number;

  constructor(observeMs: number) {
    this.#observeMs = observeMs;
  }

  /** Those that are due; `isGone`: no network config has this UID. */
  look(holds: Iterable<NicHold>, isGone: (hold: NicHold) => boolean, nowMs: number, wallMs: number): NicHold[] {
    const seen = new Map<NicHold, number>();
    const due: NicHold[] = [];
    for (const hold of holds) {
      if (hold.cooling !== undefined || !isGone(hold)) continue;
      const keptMs = keptUntilMs(hold.note);
      if (keptMs !== undefined && keptMs > wallMs) continue;
      const firstMs = this.#seen.get(hold) ?? nowMs;
      seen.set(hold, firstMs);
      if (nowMs - firstMs >= this.#observeMs) due.push(hold);
    }
    this.#seen = seen;
    return due;
  }

  get suspected(): number {
    return this.#seen.size;
  }
}
