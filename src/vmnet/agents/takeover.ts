// Agents that Harvester's controller left: bare Pods with the agents' label. Pure. Each goes once an agent of ours is
// ready: until then it answers, and its address is its own. One that comes back at once has a controller behind it that
// still runs: then it is left alone for a while, and an event says so, rather than deleted in a race.
import type { DeepReadonly } from "../../kube/meta.ts";
import type { AgentPod } from "./objects.ts";
import { isReady } from "./status.ts";

/** Harvester's own namespace. */
const harvesterNamespace = "harvester-system";
/** Its controller makes a pod anew within 60 ms to 2 s. */
export const takeoverRestMs = 60_000;

export interface SortedPods {
  readonly ours: readonly DeepReadonly<AgentPod>[];
  readonly left: readonly DeepReadonly<AgentPod>[];
}

/** Ours have a controller, their ReplicaSet, and stand in the system namespace. A tenant's pods are neither. */
export function sortPods(pods: readonly DeepReadonly<AgentPod>[], systemNamespace: string): SortedPods {
  const hasController = (pod: DeepReadonly<AgentPod>) =>
    pod.metadata.ownerReferences?.some(({ controller }) => controller === true) === true;
  const isHere = (pod: DeepReadonly<AgentPod>) => pod.metadata.namespace === systemNamespace;
  return {
    ours: pods.filter((pod) => isHere(pod) && hasController(pod)),
    left: pods.filter((pod) => (isHere(pod) || pod.metadata.namespace === harvesterNamespace) && !hasController(pod)),
  };
}

export type TakeoverStep =
  | { readonly kind: "wait" }
  | { readonly kind: "delete"; readonly pods: readonly DeepReadonly<AgentPod>[] }
  /** Somebody makes them again. */
  | { readonly kind: "rest"; readonly forMs: number };

export interface TakeoverFacts extends SortedPods {
  /** Nothing is to be served: nobody need be ready before they go. */
  readonly isPaused: boolean;
  /** When a pod was last deleted for this pool; undefined: never. */
  readonly deletedMs: number | undefined;
  readonly nowMs: number;
}

export function takeoverStep({ ours, left, isPaused, deletedMs, nowMs }: TakeoverFacts): TakeoverStep {
  const due = left.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  if (due.length === 0 || !(isPaused || ours.some(isReady))) return { kind: "wait" };
  const restMs = deletedMs === undefined ? 0 : deletedMs + takeoverRestMs - nowMs;
  return restMs > 0 ? { kind: "rest", forMs: restMs } : { kind: "delete", pods: due };
}
