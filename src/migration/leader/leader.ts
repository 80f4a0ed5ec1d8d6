// Live migration, put together: launcher pods are followed on every replica, rows are written under the lease; where
// zones are interconnected, by each node's daemon for its own zone.
import type { Runnable } from "../../kube/process/stages.ts";
import type { Address } from "../../net/address.ts";
import type { VmPlacement } from "../../ovn/vm/placement.ts";
import type { Receipt } from "../receipts/receipt.ts";
import { MigrationCaches } from "./caches.ts";
import { KubevirtVersion } from "./kubevirt-version.ts";
import type { MigrationOptions } from "./options.ts";
import { MigrationTerm } from "./term.ts";

export class MigrationLeader {
  readonly #options: MigrationOptions;
  readonly caches: MigrationCaches;
  readonly #kubevirt: KubevirtVersion;
  #term: MigrationTerm | undefined;

  constructor(options: MigrationOptions) {
    this.#options = options;
    const { client, clock, nodes, log } = options;
    const onError = (error: Error) => log.warn("following launcher pods", { error });
    this.caches = new MigrationCaches({ client, clock, nodes, onError });
    this.#kubevirt = new KubevirtVersion({ client, clock, onError });
  }

  /** On every replica. Nodes are not among them: their owner follows them. */
  get informers() {
    return [this.caches.pods] as const;
  }

  get follows(): readonly Runnable[] {
    return [this.#kubevirt.follow];
  }

  /** Under the lease, or in a daemon. */
  readonly lead: Runnable = {
    name: "migration",
    run: (signal) => {
      this.#term = new MigrationTerm(this.#options, this.caches, this.#kubevirt);
      return this.#term.run(signal);
    },
  };

  /** OVN-Kubernetes was looked for in this term, and does not run. */
  get mayWrite(): boolean {
    return this.#term?.mayWrite ?? false;
  }

  /** Of the term that is, or was the last: those that go on, then those that are over, newest last. */
  receipts(): readonly Receipt[] {
    return this.#term?.records.list() ?? [];
  }

  /** Addresses of running VMs, by the node that has their subnet now. */
  reserved(): ReadonlyMap<string, readonly Address[]> {
    return this.#term?.machines.reserved() ?? new Map();
  }

  /** Where VMs are, by their pods as they are now. */
  placements(): readonly VmPlacement[] {
    const term = this.#term;
    return term === undefined ? [] : [...this.caches.vms()].flatMap((key) => term.machines.placement(key) ?? []);
  }

  /** A northbound database was changed by somebody else, or lost: all of it is written anew. */
  rewrite(zone?: string): void {
    this.#term?.rewrite(zone);
  }
}
