// What every write of a move needs, and how one ends that cannot be done.
import type { AmendableLedger } from "../ipam/ledger.ts";
import type { Clock } from "../kube/clock.ts";
import type { KubeClient } from "../kube/rest.ts";

export interface PerformOptions {
  readonly client: KubeClient;
  /** Of the namespace of the objects. */
  readonly ledgerOf: (namespace: string) => AmendableLedger;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** "changed": somebody wrote meanwhile, look and plan again. "refused": it will not be otherwise in a moment. */
export class Stopped extends Error {
  readonly outcome: "changed" | "refused";

  constructor(outcome: "changed" | "refused", why: string) {
    super(why);
    this.outcome = outcome;
  }
}
