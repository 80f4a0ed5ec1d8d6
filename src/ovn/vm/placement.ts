// Where a VM is: the value that whoever watches Kubernetes gives to this folder, and all that it is told of a VM.
import type { Address } from "../../net/address.ts";
import type { Mac } from "../../net/mac.ts";
import type { Prefix } from "../../net/prefix.ts";

/** One port of a VM on a node's switch: of one virt-launcher pod. */
export interface VmPort {
  readonly podName: string;
  readonly podUid: string;
  readonly node: string;
  /** It answers for the VM's addresses. */
  readonly isActive: boolean;
}

export interface VmAddress {
  readonly address: Address;
  /** The node subnet that it was taken from. */
  readonly subnet: Prefix;
}

/** Where a VM is: all that its rows are computed from. */
export interface VmPlacement {
  readonly namespace: string;
  readonly name: string;
  readonly mac: Mac;
  /** One per family at the most. */
  readonly addresses: readonly VmAddress[];
  /** The node that owns the subnet; undefined where no node has it any more. */
  readonly homeNode: string | undefined;
  /** The node whose port carries the traffic; undefined while no pod is ready. */
  readonly activeNode: string | undefined;
  readonly ports: readonly VmPort[];
  /**
   * Port groups that each of its ports is in from the beginning, by name. A further port is in those of the others
   * anyway; this is for the first one, and for zones of their own.
   */
  readonly portGroups?: readonly string[];
}
