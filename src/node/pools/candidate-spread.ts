// How far candidates are spread in one domain: the lowest free one at rest, one of many when others take at the same time.
// Of D takes at once on the same picture all but one lose a try for the lowest address. A try among W addresses meets another's
// with a chance of about D/W: W = 4 D leaves a quarter, and the doubling after that ends it. D is the number of daemons times the
// takes that this one has under way, since pods come to all nodes alike. Where D is large the first try is spread too: a picture
// is up to half a minute old, and a thousand first tries for one address cost the API server as much as all that follow.
import type { Strategy } from "../../ipam/request.ts";

/** A conflict tells of others for so long; then it is at rest again, and addresses stay low. */
const calmAfterMs = 2000;
/** Where nobody knows how many daemons there are: the widest that src/ipam spreads to. */
const widthUnknown = 4096;
const perTaker = 4;
/** Up to so many takes at once addresses stay low at rest, as whereabouts has them; so many lost tries cost a fraction of a second. */
const takersAtRest = 64;

export interface CrowdOptions {
  /** Monotonic. */
  readonly now: () => number;
  /** How many daemons may take in this domain; 0: not known. */
  readonly daemons: () => number;
}

export class CandidateSpread implements Extract<Strategy, { kind: "spread" }> {
  readonly kind = "spread";
  readonly #options: CrowdOptions;
  #conflictMs = Number.NEGATIVE_INFINITY;
  #underWay = 0;

  constructor(options: CrowdOptions) {
    this.#options = options;
  }

  /** A take of this daemon begins, and ends. */
  begin(): void {
    this.#underWay += 1;
  }

  end(): void {
    this.#underWay -= 1;
  }

  met(): void {
    this.#conflictMs = this.#options.now();
  }

  /** Read when a candidate is drawn: src/ipam draws the first at `width` and the second, after a conflict, at twice that. */
  get width(): number {
    const daemons = this.#options.daemons();
    // Alone: those of this daemon know of each other.
    const takers = daemons === 1 ? 1 : daemons * Math.max(1, this.#underWay);
    if (takers > takersAtRest) return Math.min(widthUnknown, perTaker * takers);
    if (this.#options.now() - this.#conflictMs >= calmAfterMs) return 1;
    return daemons < 1 ? widthUnknown : Math.max(2, Math.ceil((perTaker * takers) / 2));
  }
}
