// What an attachment is called: the host's end of its cable, its logical port and switch. OVN-Kubernetes' own names
// where it has one, so that its tools find their way. Pure.
import { createHash } from "node:crypto";

import type { Attachment } from "../../cni/attachments.ts";
import type { OvnNetwork } from "../../cni/config/ovn-network.ts";
import { podPort } from "../../ovn/names.ts";

/** The kernel takes 15 bytes. Two attachments of a node have one name with a chance of 2^-52 per pair. */
const digits = 13;

/** Of the node's end. The same for the same attachment: what an ADD that was killed has made is found again by it. */
export function linkName({ containerId, interfaceName }: Attachment): string {
  const hash = createHash("sha256").update(`${containerId}/${interfaceName}`).digest("hex");
  return `hf${hash.slice(0, digits)}`;
}

/** OVN-Kubernetes' prefix of everything that is of a network, or of a definition. */
const prefixOf = (name: string) => `${name.replaceAll("-", ".").replaceAll("/", ".")}_`;

export function portName({ topology, definition }: OvnNetwork, namespace: string, pod: string): string {
  const own = podPort(namespace, pod);
  return topology === "default" ? own : `${prefixOf(definition)}${own}`;
}

/** `node`: of the default network each node has a switch of its own. */
export function switchName({ topology }: OvnNetwork, network: string, node: string): string {
  return topology === "default" ? node : `${prefixOf(network)}ovn_${topology}_switch`;
}

export function localnetPortName(network: string): string {
  return `${prefixOf(network)}ovn_localnet_port`;
}
