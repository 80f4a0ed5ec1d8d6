// The ledger of a domain: this node's journal for its slices; else one per namespace of pool objects, made when first
// needed: the system namespace, and with `pool_namespace: nad` tenants'.
import { isSliceDomain } from "../../api/pools/domain.ts";
import type { AmendableLedger, Domain, Ledger } from "../../ipam/ledger.ts";

export class Ledgers {
  readonly #ledgers = new Map<string, AmendableLedger>();
  readonly #make: (namespace: string) => AmendableLedger;
  readonly #journal: Ledger | undefined;

  constructor(make: (namespace: string) => AmendableLedger, journal?: Ledger) {
    this.#make = make;
    this.#journal = journal;
  }

  of(namespace: string, domain: Domain): Ledger {
    if (this.#journal !== undefined && isSliceDomain(domain)) return this.#journal;
    return this.shared(namespace);
  }

  /** The ledger of shared ranges: claims hold nothing else. */
  shared(namespace: string): AmendableLedger {
    const known = this.#ledgers.get(namespace) ?? this.#make(namespace);
    this.#ledgers.set(namespace, known);
    return known;
  }
}
