// One ledger per namespace of pool objects, made when first needed: the system namespace, and with `pool_namespace: nad` tenants'.
import type { Ledger } from "../ipam/ledger.ts";

export class Ledgers {
  /** Namespace -> its ledger. */
  readonly #ledgers = new Map<string, Ledger>();
  readonly #make: (namespace: string) => Ledger;

  constructor(make: (namespace: string) => Ledger) {
    this.#make = make;
  }

  of(namespace: string): Ledger {
    const known = this.#ledgers.get(namespace) ?? this.#make(namespace);
    this.#ledgers.set(namespace, known);
    return known;
  }
}
