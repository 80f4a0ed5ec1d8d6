// How far candidates are spread in one domain: the lowest free one at rest, one of many when others take at the same time.
//
// With D daemons that start at once on the same picture, all but one lose their first try. A second try among W addresses
// meets another's with a chance of about D/W: W = 4 D leaves a quarter, and the doubling after that ends it.
//
// In a large cluster there is no rest to rely on: a picture is up to half a minute old, somebody has taken the lowest since, and
// a thousand first tries for one address cost the API server as much as all that follow. There the first try is spread too.
import type { Strategy } from "../ipam/request.ts";

/** A conflict tells of others for so long; then it is at rest again, and addresses stay low. */
const calmAfterMs = 2000;
/** Where nobody knows how many daemons there are: the widest that src/ipam spreads to. */
const widthUnknown = 4096;
const perDaemon = 4;
/** Up to so many daemons addresses stay low at rest, as whereabouts has them; so many lost tries cost a fraction of a second. */
const daemonsAtRest = 64;

export interface CrowdOptions {
  /** Monotonic. */
  readonly now: () => number;
  /** How many daemons may take in this domain; 0: not known. */
  readonly daemons: () => number;
}

export class Crowd {
  readonly #options: CrowdOptions;
  #conflictMs = Number.NEGATIVE_INFINITY;
  #conflicts = 0;

  constructor(options: CrowdOptions) {
    this.#options = options;
  }

  get conflicts(): number {
    return this.#conflicts;
  }

  met(): void {
    this.#conflicts += 1;
    this.#conflictMs = this.#options.now();
  }

  get isCalm(): boolean {
    return this.#options.now() - this.#conflictMs >= calmAfterMs;
  }

  /** Read when a candidate is drawn: src/ipam draws the first at `width` and the second, after a conflict, at twice that. */
  readonly strategy: Strategy = widthFrom(() => this.#width());

  #width(): number {
    const daemons = this.#options.daemons();
    if (daemons > daemonsAtRest) return Math.min(widthUnknown, perDaemon * daemons);
    if (this.isCalm) return 1;
    return daemons < 1 ? widthUnknown : Math.max(2, Math.ceil((perDaemon * daemons) / 2));
  }
}

function widthFrom(width: () => number): Strategy {
  return {
    kind: "spread",
    get width() {
      return width();
    },
  };
}
