// Claims that were made and that the watch has not shown yet. Without them a plan from caches could make a second one for the same NIC, under its
// other name: the watch shows that the first name is free before it shows who has the second.
import type { Clock } from "../kube/clock.ts";
import type { StoredClaim } from "../ledger/resources.ts";

/** A claim that was made and gone before the watch came again is never shown. */
const rememberMs = 60_000;

interface Made {
  readonly claim: StoredClaim;
  readonly untilMs: number;
}

export class Unseen {
  readonly #clock: Clock;
  readonly #isCached: (uid: string) => boolean;
  /** Family -> UID -> the claim as it was made. A VM has some NICs, and a watch is some milliseconds behind. */
  readonly #made = new Map<string, Map<string, Made>>();

  constructor(clock: Clock, isCached: (uid: string) => boolean) {
    this.#clock = clock;
    this.#isCached = isCached;
  }

  add(family: string, claim: StoredClaim): void {
    // The watch may be quicker than the answer.
    if (this.#isCached(claim.metadata.uid ?? "")) return;
    const known = this.#made.get(family) ?? new Map<string, Made>();
    known.set(claim.metadata.uid ?? "", { claim, untilMs: this.#clock.monotonicMs() + rememberMs });
    this.#made.set(family, known);
  }

  /** The watch shows it, or its end. */
  see(families: readonly string[], uid: string): void {
    for (const family of families) {
      const known = this.#made.get(family);
      if (known?.delete(uid) === true && known.size === 0) this.#made.delete(family);
    }
  }

  of(family: string): readonly StoredClaim[] {
    const known = this.#made.get(family);
    if (known === undefined) return [];
    const nowMs = this.#clock.monotonicMs();
    for (const [uid, { untilMs }] of known) if (untilMs <= nowMs || this.#isCached(uid)) known.delete(uid);
    if (known.size === 0) this.#made.delete(family);
    return [...known.values()].map(({ claim }) => claim);
  }
}
