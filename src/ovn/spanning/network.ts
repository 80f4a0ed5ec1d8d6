// A secondary network whose one switch spans the nodes of a zone (layer2), or their physical network (localnet), and
// the VMs on it. Pure values: all that its rows are computed from.
import type { Address } from "../../net/address.ts";
import type { Mac } from "../../net/mac.ts";
import type { Prefix } from "../../net/prefix.ts";
import type { VmPlacement } from "../vm/placement.ts";

export interface SpanningNetwork {
  /** Unique in the cluster. */
  readonly name: string;
  /** The network attachment definition that the port's names begin with: namespace/name. */
  readonly definition: string;
  /** Where nodes are on a network outside: its name in the chassis' bridge mappings. Undefined: layer2, by tunnels. */
  readonly physical: { readonly network: string; readonly vlan: number | undefined } | undefined;
  readonly mtu: number;
  /** What guests are told as their gateway; undefined: nothing. */
  readonly router: Address | undefined;
}

/** One VM on it: one port, whatever pods it has. */
export interface SpanningVm {
  readonly namespace: string;
  readonly name: string;
  readonly mac: Mac;
  readonly addresses: readonly { readonly address: Address; readonly subnet: Prefix }[];
  /**
   * The chassis that may have the port: the first has it. A second one is a migration's target, which takes it over by
   * itself when the guest's RARP comes out of it. Empty: nothing of the VM runs.
   */
  readonly chassis: readonly string[];
}

/**
 * The nodes of its living pods, oldest first. At the switch-over nothing is to be written: the RARP does it, and the
 * source loses the port when its pod ends. `chassisOf`: a node's name -> its chassis'.
 */
export function spanningVmOf(vm: VmPlacement, chassisOf: (node: string) => string | undefined): SpanningVm {
  const { namespace, name, mac, addresses, ports } = vm;
  const chassis = ports.map(({ node }) => chassisOf(node)).filter((each) => each !== undefined);
  return { namespace, name, mac, addresses, chassis: [...new Set(chassis)] };
}
