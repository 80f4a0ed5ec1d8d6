// On which nodes the agents of a network may run. Pure. A network of Harvester is on the nodes that have the label of
// its cluster network; where all of those are control-plane nodes, their taints are tolerated, and nowhere else.
import { harvesterGroup } from "../../api/vmnet/managed-pool.ts";
import type { Node } from "../../cluster/resources.ts";
import type { DeepReadonly } from "../../kube/meta.ts";
import type { Toleration } from "./objects.ts";

/** Taints that keep workloads off the nodes of a control plane: kubeadm's, RKE2's and K3s's. */
const controlPlaneTaints: ReadonlySet<string> = new Set([
  "node-role.kubernetes.io/control-plane",
  "node-role.kubernetes.io/master",
  "node-role.kubernetes.io/etcd",
  "CriticalAddonsOnly",
]);

/** The other agent serves meanwhile; the default, 300 s, would leave the network with one agent for so long. */
const lostNodeSeconds = 30;
const lostNode: readonly Toleration[] = ["not-ready", "unreachable"].map((state) => ({
  key: `node.kubernetes.io/${state}`,
  operator: "Exists",
  effect: "NoExecute",
  tolerationSeconds: lostNodeSeconds,
}));

export interface Placement {
  /** The label that a node must have, with the value "true"; undefined: any node will do. */
  readonly nodeLabel?: string;
  readonly tolerations: readonly Toleration[];
  /** How many nodes the network is on. */
  readonly nodeCount: number;
}

type NodeFacts = DeepReadonly<Pick<Node, "metadata" | "spec">>;

/** `clusterNetwork`: the value of the network's label; undefined: it has none. */
export function placementOf(clusterNetwork: string | undefined, nodes: readonly NodeFacts[]): Placement {
  const nodeLabel = clusterNetwork === undefined ? undefined : `${harvesterGroup}/${clusterNetwork}`;
  const own = nodeLabel === undefined ? nodes : nodes.filter(({ metadata }) => metadata.labels?.[nodeLabel] === "true");
  const taints = own.map(repellingTaints);
  const isControlPlaneOnly = taints.length > 0 && taints.every((each) => each.length > 0);
  const keys = new Map(taints.flat().map((taint) => [`${taint.key} ${taint.effect}`, taint] as const));
  const tolerated = [...keys]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([, { key, effect }]): Toleration => ({ key, operator: "Exists", effect }));
  return {
    ...(nodeLabel !== undefined && { nodeLabel }),
    tolerations: [...lostNode, ...(isControlPlaneOnly ? tolerated : [])],
    nodeCount: own.length,
  };
}

/** Taints that pass (a node that is not ready, or cordoned) are none of these: a lost node changes no Deployment. */
function repellingTaints({ spec }: NodeFacts) {
  return (spec?.taints ?? []).filter(
    ({ key, effect }) => controlPlaneTaints.has(key) && (effect === "NoSchedule" || effect === "NoExecute"),
  );
}
