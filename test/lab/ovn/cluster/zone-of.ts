// The lab's nodes as src/ovn sees them: subnets of the families that are asked for, gateways, the addresses between
// routers. The world outside knows routes to the cluster's subnets, so that probes from there speak with VMs by their
// own addresses, unless gateways are asked to mask what leaves.
import { parseAddress } from "../../../../src/net/address.ts";
import type { Family } from "../../../../src/net/address.ts";
import { parseCidr, parsePrefix } from "../../../../src/net/prefix.ts";
import { macOf } from "../../../../src/ovn/zone/addresses.ts";
import type { OvnFeatures } from "../../../../src/ovn/zone/features.ts";
import type { Zone, ZoneNode } from "../../../../src/ovn/zone/zone.ts";
import type { OvnLab } from "../lab.ts";
import { outsideAddress, outsideAddress6, podMtu } from "../wiring.ts";

export interface ZonePlan {
  readonly lab: OvnLab;
  readonly families: readonly Family[];
  /** What leaves has the address of its node. */
  readonly masks: boolean;
  /** Nodes of the lab that the cluster has no more. */
  readonly removed: ReadonlySet<string>;
}

/** `of`: the name of the zone; where there is one, every node is in it. */
export function zoneOf(plan: ZonePlan, of: string, features: OvnFeatures): Zone {
  const { lab, removed } = plan;
  const isOne = lab.zones.length === 1;
  const some = choosing(plan.families);
  const nodes = lab.nodes.map(({ name }, at) => nodeOf(plan, name, at + 1, isOne || name === of));
  return {
    nodes: nodes.filter(({ name }) => !removed.has(name)),
    clusterSubnets: some(["10.244.0.0/16", "fd10:244::/48"], parsePrefix),
    joinSubnets: some(["100.64.0.0/16", "fd98::/64"], parsePrefix),
    transitSubnets: isOne ? [] : some(["100.88.0.0/16", "fd97::/64"], parsePrefix),
    dnsServers: some(["10.96.0.10", "fd10:96::a"], parseAddress),
    mtu: podMtu,
    features,
  };
}

function nodeOf({ lab, families, masks }: ZonePlan, name: string, index: number, isLocal: boolean): ZoneNode {
  const some = choosing(families);
  const pair = (four: string, six: string) => some([`${four}${index + 1}`, `${six}${index + 1}`], parseAddress);
  const subnets = some([`10.244.${index - 1}.0/24`, `fd10:244:0:${index}::/64`], parsePrefix);
  const outside = some(
    [`${lab.wiring.outsideAddressOf(index)}/24`, `${lab.wiring.outsideAddressOf(index, 6)}/64`],
    parseCidr,
  );
  return {
    name,
    chassis: name,
    id: index + 1,
    isLocal,
    subnets,
    joinAddresses: pair("100.64.0.", "fd98::"),
    transitAddresses: lab.zones.length === 1 ? [] : pair("100.88.0.", "fd97::"),
    gateway: {
      mac: macOf(parseAddress(lab.wiring.outsideAddressOf(index))),
      addresses: outside,
      nextHops: some([outsideAddress, outsideAddress6], parseAddress),
      interfaceId: `breth0_${name}`,
      physicalNetwork: "physnet",
      vlan: undefined,
      masks,
    },
    managementMac: macOf(parseAddress(`10.244.${index - 1}.2`)),
  };
}

/** Of two texts, IPv4 and IPv6, those of the families. */
function choosing(families: readonly Family[]) {
  return <T>([four, six]: readonly [string, string], parse: (text: string) => T): T[] =>
    families.map((family) => parse(family === 4 ? four : six));
}
