// Nodes as objects: they report, they fall silent, an operator says that one is gone for good, and they come back.
import type { KubeObject } from "../../../src/kube/meta.ts";
import { defineResource } from "../../../src/kube/resource.ts";
import type { KubeClient } from "../../../src/kube/rest.ts";
import { edit, remove } from "./edit.ts";
import type { Kubevirt } from "./kubevirt.ts";
import type { Machine } from "./machine.ts";
import { setStatus } from "./virt.ts";

interface NodeObject extends KubeObject {
  spec?: { taints?: { key: string; value?: string; effect: string }[] };
  status?: { conditions?: { type: string; status: string; lastHeartbeatTime?: string }[] };
}

const core = { group: "", version: "v1", plural: "nodes", kind: "Node", namespaced: false };
const nodes = defineResource<NodeObject>(core);
const outOfService = { key: "node.kubernetes.io/out-of-service", value: "nodeshutdown", effect: "NoExecute" };

export async function addNode(client: KubeClient, name: string): Promise<void> {
  await client.create(nodes, { metadata: { name, labels: { "kubevirt.io/schedulable": "true" } } });
  await setReady(client, name, "True");
}

/**
 * The kubelet's word, or the node lifecycle controller's. A real one takes a node for lost whose word is older than 40
 * s. `isStill` is asked before each try: false calls it off.
 */
export async function setReady(
  client: KubeClient,
  name: string,
  status: "True" | "Unknown",
  isStill: () => boolean = () => true,
): Promise<void> {
  const change = (node: NodeObject) => {
    if (!isStill()) return false;
    const others = node.status?.conditions?.filter(({ type }) => type !== "Ready") ?? [];
    const lastHeartbeatTime = new Date().toISOString().replace(/\.\d+Z$/, "Z");
    node.status = { ...node.status, conditions: [...others, { type: "Ready", status, lastHeartbeatTime }] };
    return true;
  };
  await edit(client, nodes, { name }, change, "status");
}

export async function removeNode(client: KubeClient, name: string): Promise<void> {
  await remove(client, nodes, { name });
}

/** observed: section 8, the taint: nothing runs there any more, says an operator. */
export async function setOutOfService(client: KubeClient, name: string, isOut: boolean): Promise<void> {
  await edit(client, nodes, { name }, (node) => {
    const others = node.spec?.taints?.filter(({ key }) => key !== outOfService.key) ?? [];
    node.spec = { ...node.spec, taints: isOut ? [...others, outOfService] : others };
  });
}

/**
 * observed: section 8. The pods of a lost node go: pod GC sets those of an out-of-service node Failed and force-deletes
 * them; where nobody has said that, somebody deletes them by force, and what they ran may run on. No DEL comes. The VMI
 * fails. Whoever calls restarts the VM or deletes it. False where it did not run there.
 */
export async function losePods({ virt }: Kubevirt, machine: Machine, node: string, isOut = true): Promise<boolean> {
  const { instance } = machine;
  if (instance === undefined) return false;
  for (const launcher of instance.launchers) {
    if (launcher.node !== node) continue;
    await (isOut ? virt.kubelet.lose(launcher) : virt.kubelet.vanish(launcher));
  }
  if (instance.active.node !== node) return false;
  await setStatus(virt, machine, { phase: "Failed" });
  return true;
}
