// The lab's nodes as src/ovn sees them: subnets of both families, gateways, the addresses between routers. The world
// outside knows routes to the cluster's subnets, so that probes from there speak with VMs by their own addresses.
import { parseAddress } from "../../../../src/net/address.ts";
import { parseCidr, parsePrefix } from "../../../../src/net/prefix.ts";
import { macOf } from "../../../../src/ovn/zone/addresses.ts";
import type { OvnFeatures } from "../../../../src/ovn/zone/features.ts";
import type { Zone, ZoneNode } from "../../../../src/ovn/zone/zone.ts";
import type { OvnLab } from "../lab.ts";
import { outsideAddress, podMtu } from "../wiring.ts";

/** `of`: the name of the zone; where there is one, every node is in it. */
export function zoneOf(lab: OvnLab, of: string, features: OvnFeatures): Zone {
  const isOne = lab.zones.length === 1;
  return {
    nodes: lab.nodes.map(({ name }, at) => nodeOf(lab, name, at + 1, isOne || name === of)),
    clusterSubnets: [parsePrefix("10.244.0.0/16"), parsePrefix("fd10:244::/48")],
    joinSubnets: [parsePrefix("100.64.0.0/16"), parsePrefix("fd98::/64")],
    transitSubnets: isOne ? [] : [parsePrefix("100.88.0.0/16"), parsePrefix("fd97::/64")],
    dnsServers: [parseAddress("10.96.0.10")],
    mtu: podMtu,
    features,
  };
}

function nodeOf(lab: OvnLab, name: string, index: number, isLocal: boolean): ZoneNode {
  const outside = parseCidr(`${lab.wiring.outsideAddressOf(index)}/24`);
  const pair = (four: string, six: string) => [parseAddress(`${four}${index + 1}`), parseAddress(`${six}${index + 1}`)];
  const subnets = [parsePrefix(`10.244.${index - 1}.0/24`), parsePrefix(`fd10:244:0:${index}::/64`)];
  return {
    name,
    chassis: name,
    id: index + 1,
    isLocal,
    subnets,
    joinAddresses: pair("100.64.0.", "fd98::"),
    transitAddresses: lab.zones.length === 1 ? [] : pair("100.88.0.", "fd97::"),
    gateway: {
      mac: macOf(outside.address),
      addresses: [outside],
      nextHops: [parseAddress(outsideAddress)],
      interfaceId: `breth0_${name}`,
      physicalNetwork: "physnet",
      vlan: undefined,
      masks: false,
    },
    managementMac: macOf(parseAddress(`10.244.${index - 1}.2`)),
  };
}
