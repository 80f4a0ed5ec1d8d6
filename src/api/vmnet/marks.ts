// Labels, annotations and finalizers of managed DHCP. Those of network.harvesterhci.io are Harvester's own names.
import { holdfastGroup } from "../kind.ts";
import { harvesterGroup } from "./managed-pool.ts";

/** On a NetworkAttachmentDefinition: its pool. Of several pools the first by name. */
export const poolNamespaceLabelName = `${harvesterGroup}/ippool-namespace`;
export const poolNameLabelName = `${harvesterGroup}/ippool-name`;
/** On a NetworkAttachmentDefinition: on which nodes the network is. */
export const clusterNetworkLabelName = `${harvesterGroup}/clusternetwork`;
/** On agents. */
export const agentLabelName = `${harvesterGroup}/vm-dhcp-controller`;
export const agentLabelValue = "agent";
/** On a pool: its agents keep the image that they have. */
export const holdUpgradeAnnotation = `${harvesterGroup}/hold-ippool-agent-upgrade`;
/** On a VirtualMachineNetworkConfig: the VM. */
export const vmNameLabelName = "harvesterhci.io/vmName";
/** On a VM: {"NIC": "MAC"}. A MAC in the spec goes before it. */
export const macAnnotation = "harvesterhci.io/mac-address";
/** On a VM: its addresses outlive it, and a VM of the same name gets them back. `true`, or for how long: `720h`. */
export const keepAddressesAnnotation = `${holdfastGroup}/keep-addresses`;
/** On a VM: its network config was deleted while it had these NICs. Take it away to have one made again. */
export const declinedAnnotation = `${holdfastGroup}/network-config-declined`;
/** On a network config: the VM's NICs when it was last merged, as JSON of NIC -> "NETWORK MAC". */
export const recordAnnotation = `${holdfastGroup}/vm-nics`;

/** On a pool: its condition of agents. */
export const agentReadyCondition = "AgentReady";
/** The reason where the agent runs in the controller's process (`holdfast up`): without a Deployment. */
export const inProcessReason = "InProcess";

export const poolFinalizer = "wrangler.cattle.io/vm-dhcp-ippool-controller";
export const networkConfigFinalizer = "wrangler.cattle.io/vm-dhcp-vmnetcfg-controller";

/** On a Hold of a VM network: a hash of its domain. What an agent follows. */
export const vmNetworkLabelName = `${holdfastGroup}/vm-network`;
/** On a Hold of a VM network: until when agents do not offer the address, and who found it in use: `TIME decline`. */
export const quarantineAnnotation = `${holdfastGroup}/quarantined-until`;

/** The Lease, in the system namespace, of the agent that answers at a pool's server address. A namespace has no dot. */
export function serverLeaseName(pool: { readonly namespace: string; readonly name: string }): string {
  return `dhcp.${pool.namespace}.${pool.name}`;
}

/** The pool, as namespace/name; undefined: it is no such Lease. */
export function poolOfServerLease(lease: string): string | undefined {
  const [, namespace, name] = /^dhcp\.([^.]+)\.(.+)$/.exec(lease) ?? [];
  return name === undefined ? undefined : `${namespace}/${name}`;
}

/** Who holds it: the agent's name (that of its pod) and the MAC that it answers with. No name has an underscore. */
export function serverIdentity(agent: string, mac: string): string {
  return `${agent}_${mac}`;
}

/** The parts of such an identity; the MAC is empty where there is none. */
export function partsOfServerIdentity(identity: string): { readonly agent: string; readonly mac: string } {
  const [agent = "", mac = ""] = identity.split("_");
  return { agent, mac };
}
