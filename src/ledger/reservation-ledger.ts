// (body follows)
import type { Domain, FindOptions, Hold, Ledger, LedgerOptions } from "../ipam/ledger.ts";
import type { ReleaseOutcome, ReleaseRequest, TakeOutcome, TakeRequest } from "../ipam/ledger.ts";
import type { OwnerKey } from "../ipam/owner.ts";
import type { Clock } from "../kube/clock.ts";
import type { KubeClient } from "../kube/rest.ts";

export interface ReservationLedgerOptions {
  readonly client: KubeClient;
  /** Where the objects are. */
  readonly namespace: string;
  /** Whose daemon this is. */
  readonly node?: string;
  /** The wall clock, in milliseconds: cooling ends by it. */
  readonly now: () => number;
  /** Asked at every take and release. Default: no. */
  readonly coexistence?: () => boolean;
  /** For waits between tries. */
  readonly clock?: Clock;
  readonly random?: () => number;
}

export class ReservationLedger implements Ledger {
  constructor(_options: ReservationLedgerOptions) {}

  async take(_request: TakeRequest, _options?: LedgerOptions): Promise<TakeOutcome> {
    throw new Error("not built yet");
  }

  async release(_request: ReleaseRequest, _options?: LedgerOptions): Promise<ReleaseOutcome> {
    throw new Error("not built yet");
  }

  async find(_domain: Domain, _owner: OwnerKey, _options?: FindOptions): Promise<readonly Hold[]> {
    throw new Error("not built yet");
  }

  list(_domain: Domain, _options?: LedgerOptions): AsyncIterable<Hold> {
    throw new Error("not built yet");
  }
}
