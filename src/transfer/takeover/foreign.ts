// Addresses that another system has given, whatever it is, as values: what is to be taken over.
import { readNetworkStatus, statusAnnotation } from "../../api/network-status.ts";
import { hasEnded, type Pod } from "../../cluster/resources.ts";
import type { PodOwner } from "../../ipam/owner.ts";
import type { Address } from "../../net/address.ts";

export interface ForeignAllocation {
  readonly address: Address;
  readonly owner: PodOwner;
  /** For people: the file or the object that says it. */
  readonly source: string;
}

export interface Foreign {
  readonly allocations: readonly ForeignAllocation[];
  /** Sentences: what could not be read, and what must be done by hand. */
  readonly notes: readonly string[];
}

/** One address of a running pod, as its network status says it. */
export interface LiveAddress extends Pick<ForeignAllocation, "address" | "owner"> {
  /** namespace/name of the definition; empty where the status says none. */
  readonly definition: string;
}

/** Pods that ended have no addresses; a status that cannot be read says none. */
export function liveAddresses(pods: readonly Pod[]): LiveAddress[] {
  return pods.flatMap((pod) => {
    const { namespace = "", name = "", uid = "", annotations } = pod.metadata;
    if (hasEnded(pod)) return [];
    return (readNetworkStatus(statusAnnotation(annotations)) ?? []).flatMap(({ network, addresses, ...status }) => {
      const definition = network === "" || network.includes("/") ? network : `${namespace}/${network}`;
      const owner: PodOwner = { kind: "pod", uid, namespace, name, interface: status.interface };
      return addresses.map((address) => ({ address, owner, definition }));
    });
  });
}
