// What a VM's rows are computed from, out of its pods: one MAC and one set of addresses for all of them. Pure.
//
// Promised: the address is that of the oldest pod of the VM's life that has one: the guest was given it there, and
// keeps it. A pod that was given another one by somebody else does not change it.
import type { FoundNetwork } from "../../cluster/pod-network.ts";
import type { VmAddress, VmPlacement, VmPort } from "../../ovn/vm/placement.ts";
import { compareAge, type Launcher } from "../objects/launcher.ts";
import { type NodeSubnets, ownerOf } from "../objects/node-subnets.ts";
import { currentLife, type Situation } from "./situation.ts";

/** Undefined: no pod of the VM's life says. */
export function networkOf(pods: readonly Launcher[]): FoundNetwork | undefined {
  return currentLife(pods)
    .toSorted(compareAge)
    .find(({ network }) => network !== undefined)?.network;
}

export function homeOf(network: FoundNetwork | undefined, nodes: NodeSubnets): string | undefined {
  return (
    network &&
    ownerOf(
      network.addresses.map(({ address }) => address),
      nodes,
    )
  );
}

/** Undefined: nothing of it runs. */
export function placementOf(
  { namespace, name }: { readonly namespace: string; readonly name: string },
  { living, active }: Situation,
  { addresses, mac }: FoundNetwork,
  nodes: NodeSubnets,
): VmPlacement | undefined {
  if (living.length === 0) return undefined;
  return {
    namespace,
    name,
    mac,
    addresses: addresses.map(({ address, prefix }): VmAddress => ({ address, subnet: prefix })),
    homeNode: ownerOf(
      addresses.map(({ address }) => address),
      nodes,
    ),
    activeNode: active?.node,
    ports: living.flatMap((each) => portOf(each, active) ?? []),
  };
}

function portOf(launcher: Launcher, active: Launcher | undefined): VmPort | undefined {
  const { name: podName, uid: podUid, node } = launcher;
  return node === "" ? undefined : { podName, podUid, node, isActive: launcher === active };
}
