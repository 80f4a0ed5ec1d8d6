// What a pool's status says of its agents: the condition AgentReady, and the pod that answers at the server's address.
// Pure. Ready is as long as one agent is: each of them answers for the whole pool.
import { agentReadyCondition } from "../../api/vmnet/marks.ts";
import type { StoredManagedPool } from "../../cluster/resources.ts";
import type { DeepReadonly } from "../../kube/meta.ts";
import type { AgentDeployment, AgentPod } from "./objects.ts";

export interface AgentFacts {
  readonly pool: DeepReadonly<StoredManagedPool>;
  readonly deployment: DeepReadonly<AgentDeployment> | undefined;
  /** Those of the Deployment. */
  readonly pods: readonly DeepReadonly<AgentPod>[];
  /** Who holds the Lease of the server's address: the name of a pod; empty: nobody. */
  readonly holder: string;
  /** Why no Deployment was made, or why it cannot run: a reason, and a sentence. Undefined: nothing is in the way. */
  readonly obstacle?: Obstacle | undefined;
}

export interface Obstacle {
  readonly reason: "NetworkMissing" | "PoolRefused" | "NoNode" | "NameTaken";
  readonly message: string;
}

export interface AgentStatus {
  readonly condition: {
    readonly type: typeof agentReadyCondition;
    readonly status: boolean;
    /** One word. */
    readonly reason: string;
    /** A sentence: how many of how many, and why not more. */
    readonly message: string;
  };
  /** Undefined: no agent of ours is known to hold the address. */
  readonly agentPodRef?: {
    readonly namespace: string;
    readonly name: string;
    readonly image: string;
    readonly uid: string;
  };
}

export function agentStatusOf(facts: AgentFacts): AgentStatus {
  const { holder, pods } = facts;
  const serving = pods.find(({ metadata }) => metadata.name === holder && holder !== "");
  const { namespace = "", name = "", uid = "" } = serving?.metadata ?? {};
  const image = serving?.spec?.containers?.[0]?.image ?? "";
  const condition = { type: agentReadyCondition, ...verdictOf(facts) } as const;
  return { condition, ...(serving && { agentPodRef: { namespace, name, image, uid } }) };
}

function verdictOf({ pool, deployment, pods, obstacle }: AgentFacts): Omit<AgentStatus["condition"], "type"> {
  const no = (reason: string, message: string) => ({ status: false, reason, message });
  if (pool.spec.paused === true)
    return no("Paused", "The pool is paused: nothing is served. Set spec.paused to false.");
  const ready = pods.filter(isReady).length;
  const wanted = deployment?.spec.replicas ?? 0;
  if (ready > 0) {
    const message = ready >= wanted ? `${ready} of ${wanted} ready.` : `${ready} of ${wanted} ready. ${whyNot(pods)}`;
    return { status: true, reason: ready >= wanted ? "Ready" : "Degraded", message: message.trim() };
  }
  if (obstacle !== undefined) return no(obstacle.reason, obstacle.message);
  if (deployment === undefined) return no("NotDeployed", "Its agents are not deployed yet.");
  return no("NotReady", `0 of ${wanted} ready. ${whyNot(pods)}`.trim());
}

/** Nobody tells of a pod on a lost node: Kubernetes itself takes its Ready back. */
export function isReady({ metadata, status }: DeepReadonly<AgentPod>): boolean {
  const isSaid = status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") === true;
  return isSaid && metadata.deletionTimestamp === undefined;
}

/** Every pod's start: nothing to tell of. */
const starting: ReadonlySet<string> = new Set(["ContainerCreating", "PodInitializing"]);

/** Of the first pod that is kept from being ready, by name: what its scheduler or its kubelet says. */
function whyNot(pods: readonly DeepReadonly<AgentPod>[]): string {
  const waiting = pods
    .filter((pod) => !isReady(pod) && pod.metadata.deletionTimestamp === undefined)
    .toSorted((a, b) => ((a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1));
  return waiting.map(obstacleOf).find((words) => words !== "") ?? "";
}

function obstacleOf({ metadata: { name = "" }, status }: DeepReadonly<AgentPod>): string {
  const unscheduled = status?.conditions?.find(({ type, status: is }) => type === "PodScheduled" && is === "False");
  if (unscheduled !== undefined) return `Pod ${name} has no node: ${unscheduled.message ?? "no reason is given"}`;
  const stuck = status?.containerStatuses?.find(({ state }) => state?.waiting !== undefined)?.state?.waiting;
  if (stuck?.reason === undefined || starting.has(stuck.reason)) return "";
  return `Pod ${name} is not ready: ${[stuck.reason, stuck.message].filter(Boolean).join(": ")}`;
}
