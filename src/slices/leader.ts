// The leader's work on node slices, put together. Informers of nodes, reservations, holds and definitions come in: others follow them too.
import type { DefinitionInformer } from "../cluster/definition-informer.ts";
import type { Presence } from "../cluster/node-presence.ts";
import type { Node, StoredHold, StoredReservation } from "../cluster/resources.ts";
import type { Informer } from "../kube/cache/informer.ts";
import type { Clock } from "../kube/clock.ts";
import type { EventRecorder } from "../kube/events/events.ts";
import type { KubeMetrics } from "../kube/process/metrics.ts";
import type { Runnable } from "../kube/process/stages.ts";
import type { KubeClient } from "../kube/rest.ts";
import type { Log } from "../log/log.ts";
import type { CutRules } from "./consent.ts";
import type { SliceMetrics } from "./metrics.ts";
import { Term } from "./term.ts";

export interface SlicesOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly systemNamespace: string;
  readonly nodes: Informer<Node>;
  readonly presence: Presence;
  readonly reservations: Informer<StoredReservation>;
  readonly holds: Informer<StoredHold>;
  readonly definitions: DefinitionInformer;
  /** Who may cut ranges into slices, and how many. Default: definitions in the system namespace and in `default`, with the usual limits. */
  readonly cutRules?: CutRules;
  readonly events?: EventRecorder;
  readonly metrics?: SliceMetrics;
  readonly kubeMetrics?: KubeMetrics;
}

export class SlicesLeader {
  readonly #options: SlicesOptions;

  constructor(options: SlicesOptions) {
    this.#options = options;
  }

  /** Under the lease. Each term begins with a list: what was known before another led, or before a restore, counts no more. */
  readonly lead: Runnable = {
    name: "slices",
    run: (signal) => new Term(this.#options).run(signal),
  };
}
