// The ledger of a domain: this node's journal for its slices; else one per namespace of pool objects, made when first needed: the system
// namespace, and with `pool_namespace: nad` tenants'.
import { isSliceDomain } from "../api/domain.ts";
import type { Domain, Ledger } from "../ipam/ledger.ts";

export class Ledgers {
  /** Namespace -> its ledger. */
  readonly #ledgers = new Map<string, Ledger>();
  readonly #make: (namespace: string) => Ledger;
  readonly #journal: Ledger | undefined;

  constructor(make: (namespace: string) => Ledger, journal?: Ledger) {
    this.#make = make;
    this.#journal = journal;
  }

  of(namespace: string, domain: Domain): Ledger {
    if (this.#journal !== undefined && isSliceDomain(domain)) return this.#journal;
    const known = this.#ledgers.get(namespace) ?? this.#make(namespace);
    this.#ledgers.set(namespace, known);
    return known;
  }
}
