// The objects that agents are made of, typed as far as they are written or read here: Deployment, Pod and
// PodDisruptionBudget. An agent's objects stand in the system namespace, whatever namespace their pool is in.
import type { KubeObject } from "../../kube/meta.ts";
import { defineResource } from "../../kube/resource.ts";

export interface Toleration {
  readonly key: string;
  readonly operator: "Exists";
  readonly effect: string;
  readonly tolerationSeconds?: number;
}

export interface AgentTemplate {
  metadata: { labels: Record<string, string>; annotations: Record<string, string> };
  spec: Record<string, unknown> & {
    containers: (Record<string, unknown> & { name: string; image: string; args: readonly string[] })[];
    tolerations: readonly Toleration[];
  };
}

export interface AgentDeployment extends KubeObject {
  spec: Record<string, unknown> & {
    replicas: number;
    selector: { matchLabels: Record<string, string> };
    template: AgentTemplate;
  };
}

export interface AgentBudget extends KubeObject {
  spec: { maxUnavailable: number; selector: { matchLabels: Record<string, string> } };
}

export interface AgentPod extends KubeObject {
  spec?: { nodeName?: string; containers?: { name: string; image?: string }[] };
  status?: {
    phase?: string;
    reason?: string;
    conditions?: { type: string; status: string; reason?: string; message?: string }[];
    containerStatuses?: { state?: { waiting?: { reason?: string; message?: string } } }[];
  };
}

export const agentDeployments = defineResource<AgentDeployment>({
  group: "apps",
  version: "v1",
  kind: "Deployment",
  namespaced: true,
});
export const agentBudgets = defineResource<AgentBudget>({
  group: "policy",
  version: "v1",
  kind: "PodDisruptionBudget",
  namespaced: true,
});
export const agentPods = defineResource<AgentPod>({ group: "", version: "v1", kind: "Pod", namespaced: true });
