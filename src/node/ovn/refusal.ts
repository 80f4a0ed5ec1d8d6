// What is not attached, each with its remedy. Pure.
import type { Trusted } from "../../cluster/trusted-namespaces.ts";
import { misnamed, type OvnNetwork } from "../../cni/config/ovn-network.ts";
import { CniError, errorCodes } from "../../cni/error.ts";
import type { AttachmentInvocation } from "../../cni/invocation.ts";
import { show } from "../../cni/json.ts";
import { selectionOf } from "../../cni/selection.ts";
import type { PodFacts } from "../request/pods.ts";
import { isMigrationTarget } from "./moving-vm.ts";

interface AskedAttachment {
  readonly invocation: AttachmentInvocation;
  readonly ovn: OvnNetwork;
  readonly network: string;
  readonly pod: PodFacts;
  readonly node: string;
  readonly bridgeMappings: ReadonlyMap<string, string>;
  /** Whose definitions may attach pods. */
  readonly trusted: Trusted;
  /** An interface of this pod that is on this network already; empty: none. */
  readonly beside: string;
}

/** Throws CniError: 7 for a configuration that cannot be, 101 for what is not built, or not here. */
export function assertAttachable(asked: AskedAttachment): void {
  const { invocation, ovn, network, pod, node, bridgeMappings, trusted, beside } = asked;
  const { topology, isPrimary, device, physicalNetwork } = ovn;
  const what = `the network ${network} of pod ${pod.namespace}/${pod.name}`;
  const refuse = (words: string) => new CniError(errorCodes.refused, `${what} ${words}`);
  if (device !== "")
    throw refuse(`is to be attached by the device ${device}: SR-IOV is not attached; remove deviceID.`);
  if (isPrimary)
    throw refuse(
      "takes the place of the pod network (role: primary): such networks are not attached; make it secondary.",
    );
  if (topology === "layer3") throw refuse("has the topology layer3, which is not attached: write layer2 or localnet.");
  const selection = selectionOf(pod, invocation.interfaceName);
  // Switches, VLANs and ports go by the network's name, which anybody may write who may write a definition.
  if (selection !== undefined && !trusted.has(selection.namespace))
    throw refuse(
      `is defined in the namespace ${selection.namespace}, whose definitions may not attach pods to OVN: ` +
        "define it in one that is trusted, or name this one with --trusted-namespaces of `holdfast node`.",
    );
  if (beside !== "")
    throw refuse(`is on its interface ${beside} already: a pod has one port on a network of OVN; select it once.`);
  if (topology === "default") return;
  if (selection === undefined)
    throw refuse(
      `is for the interface ${invocation.interfaceName}, for which the pod selects no definition: select it in the pod's annotation.`,
    );
  const fault = misnamed(ovn, `${selection.namespace}/${selection.name}`);
  if (fault !== undefined)
    throw new CniError(errorCodes.badConfiguration, `${what}: ${fault.key} is ${show(fault.value)}: ${fault.reason}.`);
  if (isMigrationTarget(pod))
    throw refuse(
      "is not the default one, and a virtual machine on it cannot migrate while it runs: two ports would have its address. " +
        "Stop it and start it elsewhere; with a claim it keeps its address.",
    );
  if (topology === "localnet" && !bridgeMappings.has(physicalNetwork))
    throw refuse(
      `leaves by the physical network ${physicalNetwork}, which is not among the bridge mappings of node ${node} ` +
        "(Open vSwitch's external_ids:ovn-bridge-mappings): add it there, or correct physicalNetworkName.",
    );
}
