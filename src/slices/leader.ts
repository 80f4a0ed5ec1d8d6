// The leader's work on node slices, put together. Informers of nodes, reservations, holds and definitions come in: others follow them too.
import type { ReconcilerOptions } from "../cluster/reconciler-options.ts";
import type { Runnable } from "../kube/process/stages.ts";
import type { SliceMetrics } from "./metrics.ts";
import type { CutRules } from "./ranges/consent.ts";
import { Term } from "./term.ts";

export interface SlicesOptions extends ReconcilerOptions {
  /** Who may cut ranges into slices, and how many. Default: definitions in the system namespace and in `default`, with the usual limits. */
  readonly cutRules?: CutRules;
  readonly metrics?: SliceMetrics;
}

export class SlicesLeader {
  /** Under the lease. Each term begins with a list: what was known before another led, or before a restore, counts no more. */
  readonly lead: Runnable;

  constructor(options: SlicesOptions) {
    this.lead = { name: "slices", run: (signal) => new Term(options).run(signal) };
  }
}
