// One interface of one pod, and what a runtime says of it to a plugin.
import { randomBytes } from "node:crypto";

export interface BenchPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly node: string;
}

export interface Attachment {
  readonly pod: BenchPod;
  readonly containerId: string;
  readonly interface: string;
}

export type Command = "ADD" | "DEL";

/** A new sandbox of the pod. */
export function attachmentOf(pod: BenchPod, name = "net1"): Attachment {
  return { pod, containerId: randomBytes(32).toString("hex"), interface: name };
}

/** The variables of the CNI specification, with CNI_ARGS as containerd makes them. */
export function environmentOf(command: Command, { pod, containerId, interface: name }: Attachment) {
  const args = [
    "IgnoreUnknown=1",
    `K8S_POD_NAMESPACE=${pod.namespace}`,
    `K8S_POD_NAME=${pod.name}`,
    `K8S_POD_INFRA_CONTAINER_ID=${containerId}`,
    `K8S_POD_UID=${pod.uid}`,
  ];
  return {
    CNI_COMMAND: command,
    CNI_CONTAINERID: containerId,
    CNI_NETNS: `/var/run/netns/${containerId.slice(0, 12)}`,
    CNI_IFNAME: name,
    CNI_ARGS: args.join(";"),
    CNI_PATH: "/opt/cni/bin",
  };
}
