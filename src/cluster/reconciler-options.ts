// What every reconciler of a controller is given: its way to the cluster, and the informers that all of them share.
import type { Informer } from "../kube/cache/informer.ts";
import type { Clock } from "../kube/clock.ts";
import type { EventRecorder } from "../kube/events/events.ts";
import type { KubeMetrics } from "../kube/process/metrics.ts";
import type { KubeClient } from "../kube/rest.ts";
import type { Log } from "../log/log.ts";
import type { DefinitionInformer } from "./definition-informer.ts";
import type { Presence } from "./node-presence.ts";
import type { Node, StoredHold, StoredReservation } from "./resources.ts";

export interface ReconcilerOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly systemNamespace: string;
  readonly definitions: DefinitionInformer;
  readonly nodes: Informer<Node>;
  readonly presence: Presence;
  readonly reservations: Informer<StoredReservation>;
  readonly holds: Informer<StoredHold>;
  readonly events?: EventRecorder;
  readonly kubeMetrics?: KubeMetrics;
}
