// A zone of many nodes, and VMs on them, as values: what `ovn-scale` writes.
import { parseAddress, plus } from "../../src/net/address.ts";
import { parseCidr, parsePrefix } from "../../src/net/prefix.ts";
import type { VmPlacement, VmPort } from "../../src/ovn/vm/placement.ts";
import { macOf } from "../../src/ovn/zone/addresses.ts";
import type { OvnFeatures } from "../../src/ovn/zone/features.ts";
import type { Zone, ZoneNode } from "../../src/ovn/zone/zone.ts";

const nodeName = (at: number): string => `node${at}`;

export function scaleZone(nodes: number, features: OvnFeatures): Zone {
  return {
    nodes: Array.from({ length: nodes }, (_, at) => nodeAt(at)),
    clusterSubnets: [parsePrefix("10.0.0.0/8"), parsePrefix("fd10:244::/48")],
    joinSubnets: [parsePrefix("100.64.0.0/16"), parsePrefix("fd98::/64")],
    transitSubnets: [],
    dnsServers: [parseAddress("10.96.0.10")],
    mtu: 1400,
    features,
  };
}

/** Where a VM is: at home; with a target that waits; on that target; there alone. */
export type Step = "home" | "target waits" | "target is ready" | "source has ended";

/** The so many-th VM, spread over the nodes; its target is the node after its home. */
export function vmAt(number: number, nodes: number, step: Step): VmPlacement {
  const home = number % nodes;
  const target = (home + 1) % nodes;
  const [name, host] = [`vm${number}`, 10 + Math.floor(number / nodes)];
  const { subnets } = nodeAt(home);
  const isThere = step === "target is ready" || step === "source has ended";
  const port = (letter: string, node: number, isActive: boolean): VmPort => ({
    podName: `virt-launcher-${name}-${letter}`,
    podUid: `00000000-0000-4000-8000-${String(number * 2 + node).padStart(12, "0")}`,
    node: nodeName(node),
    isActive,
  });
  const ports = [
    ...(step === "source has ended" ? [] : [port("a", home, !isThere)]),
    ...(step === "home" ? [] : [port("b", target, isThere)]),
  ];
  const addresses = subnets.map((subnet) => ({ subnet, address: plus(subnet.network, host)! }));
  return {
    namespace: "bench",
    name,
    mac: macOf(addresses[0]!.address),
    addresses,
    homeNode: nodeName(home),
    activeNode: nodeName(isThere ? target : home),
    ports,
  };
}

function nodeAt(at: number): ZoneNode {
  const outside = parseCidr(`172.31.${Math.floor(at / 250)}.${(at % 250) + 1}/16`);
  const subnets = [
    parsePrefix(`10.${Math.floor(at / 256)}.${at % 256}.0/24`),
    parsePrefix(`fd10:244:0:${(at + 1).toString(16)}::/64`),
  ];
  return {
    name: nodeName(at),
    chassis: nodeName(at),
    id: at + 2,
    isLocal: true,
    subnets,
    joinAddresses: [plus(parseAddress("100.64.0.0"), at + 2)!, plus(parseAddress("fd98::"), at + 2)!],
    transitAddresses: [],
    gateway: {
      mac: macOf(outside.address),
      addresses: [outside],
      nextHops: [parseAddress("172.31.255.254")],
      interfaceId: `breth0_${nodeName(at)}`,
      physicalNetwork: "physnet",
      vlan: undefined,
      masks: true,
    },
    managementMac: macOf(plus(subnets[0]!.network, 2)!),
  };
}
