// A ledger that tells what came of each take and release to whoever keeps the picture, and remembers what one request took anew.
import type { Domain, Hold, HoldUser, Ledger, LedgerOptions } from "../ipam/ledger.ts";
import type { ReleaseOutcome, ReleaseRequest, TakeOutcome, TakeRequest } from "../ipam/ledger.ts";
import type { OwnerKey } from "../ipam/owner.ts";

export interface LedgerObserver {
  /** Before each take; what it throws is the answer. */
  asked(): void;
  taken(request: TakeRequest, outcome: TakeOutcome): void;
}

export interface ObservedOptions {
  /** Take what still cools down: the address was asked for by its number. */
  readonly early?: boolean;
  /** There is no pool behind it. */
  readonly loose?: boolean;
  /** Of a new hold of a claim. */
  readonly users?: readonly HoldUser[];
}

export class ObservedLedger implements Ledger {
  readonly #ledger: Ledger;
  readonly #observer: LedgerObserver;
  readonly #options: ObservedOptions;

  constructor(ledger: Ledger, observer: LedgerObserver, options: ObservedOptions = {}) {
    this.#ledger = ledger;
    this.#observer = observer;
    this.#options = options;
  }

  async take(request: TakeRequest, options?: LedgerOptions): Promise<TakeOutcome> {
    const early = request.early === true || this.#options.early === true;
    this.#observer.asked();
    const { loose = false, users } = this.#options;
    const outcome = await this.#ledger.take({ ...request, early, loose, ...(users && { users }) }, options);
    this.#observer.taken(request, outcome);
    return outcome;
  }

  release(request: ReleaseRequest, options?: LedgerOptions): Promise<ReleaseOutcome> {
    return this.#ledger.release(request, options);
  }

  find(domain: Domain, owner: OwnerKey, options?: LedgerOptions): Promise<readonly Hold[]> {
    return this.#ledger.find(domain, owner, options);
  }

  list(domain: Domain, options?: LedgerOptions): AsyncIterable<Hold> {
    return this.#ledger.list(domain, options);
  }
}
