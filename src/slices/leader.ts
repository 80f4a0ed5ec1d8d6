// The leader's work on node slices, put together. Other reconcilers follow the same informers, so these come in.
import type { ReconcilerOptions } from "../cluster/reconciler-options.ts";
import type { Runnable } from "../kube/process/stages.ts";
import type { SliceMetrics } from "./metrics.ts";
import type { CutRules } from "./ranges/consent.ts";
import { Term } from "./term.ts";

export interface SlicesOptions extends ReconcilerOptions {
  /** Who may cut ranges, and how many. Default: definitions in the system namespace and `default`, the usual limits. */
  readonly cutRules?: CutRules;
  readonly metrics?: SliceMetrics;
}

export class SlicesLeader {
  /** Runs under the lease. Each term begins with a list: another leader or a restore may have changed everything. */
  readonly lead: Runnable;

  constructor(options: SlicesOptions) {
    this.lead = { name: "slices", run: (signal) => new Term(options).run(signal) };
  }
}
