// Where this node looks for addresses of one range: at the lowest free one at rest, in a stripe of its own
// (src/ipam/request.ts) while other nodes take too. Nodes do not talk to each other: a hash of its name says where a
// node begins and goes on. With eight stripes a node, one node in eight begins where another does; a node that loses a
// take in its stripe moves on and stays there, so that busy nodes soon have a stripe each, however old their pictures.
// Promised: alone, and at rest, the lowest. Not promised: a stripe of its own; a conflict costs a POST and a GET.
import type { Spread } from "../../ipam/request.ts";
import { hashText, hashWord } from "../../ipam/slot-index.ts";
import { isInFirstStripe } from "../../ipam/strategy.ts";
import type { Address } from "../../net/address.ts";

/** A conflict is a sign of other takers for so long: as long as a picture is believed. */
const calmAfterMs = 30_000;
/** Up to so many lost in that time are no crowd: pods that come to a few nodes one by one get low addresses. */
const lostAtRest = 2;
const stripesPerNode = 8;
/** Where the number of daemons is not known: as for 128. */
const stripesUnknown = 1024;
/** Above so many daemons nobody rests: a thousand first takes of one address cost as much as all that follow. */
const daemonsAtRest = 64;
/** So many takes of all nodes at once stay low, if all do as this one: at most so many are lost to first conflicts. */
const takesAtRest = 16;

export interface CandidateSpreadOptions {
  /** Name of the node, and of the domain: a node begins elsewhere in each. */
  readonly seed: string;
  /** Monotonic. */
  readonly now: () => number;
  /** How many daemons may take in this domain; 0: not known. */
  readonly daemons: () => number;
}

export class CandidateSpread implements Spread {
  readonly kind = "spread";
  readonly step: number;
  readonly #options: CandidateSpreadOptions;
  #first: number;
  #conflictMs = Number.NEGATIVE_INFINITY;
  /** Takes lost since this node was last at rest. */
  #lost = 0;
  #underWay = 0;

  constructor(options: CandidateSpreadOptions) {
    this.#options = options;
    this.#first = hashText(options.seed);
    this.step = hashWord(this.#first) | 1;
  }

  /** A take of this daemon begins; `end`: it ends. */
  begin(): void {
    this.#underWay += 1;
  }

  end(): void {
    this.#underWay -= 1;
  }

  /** Another owner has the address. Of many takes that were lost in one stripe only the first leaves it. */
  met(address: Address): void {
    if (this.stripes > 1 && isInFirstStripe(address, this)) this.#first = (this.#first + this.step) | 0;
    this.#lost = this.#isCalm() ? 1 : this.#lost + 1;
    this.#conflictMs = this.#options.now();
  }

  get first(): number {
    return this.#first;
  }

  get stripes(): number {
    const daemons = this.#options.daemons();
    // Alone: takes of one daemon know of each other.
    if (daemons === 1) return 1;
    const isBusy = daemons > daemonsAtRest || this.#underWay > Math.max(1, takesAtRest / daemons);
    if (!isBusy && (this.#lost <= lostAtRest || this.#isCalm())) return 1;
    return daemons < 1 ? stripesUnknown : stripesPerNode * daemons;
  }

  #isCalm(): boolean {
    return this.#options.now() - this.#conflictMs >= calmAfterMs;
  }
}
