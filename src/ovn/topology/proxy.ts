// Which addresses a node's router port answers ARP and neighbour solicitations for, with the MAC that never changes:
// the default route of all VMs, and whatever a neighbour of the same subnet takes to be on the link and is not any
// more.
//
// OVN from 23.06 on takes whole prefixes, and lets ports of the switch answer first. Before that every address is
// listed, with the same priority as a port's: addresses of VMs that are here may not be among them.
import { type Address, equal, next } from "../../net/address.ts";
import { contains, type Prefix } from "../../net/prefix.ts";
import type { VmPlacement } from "../vm/placement.ts";
import { proxyAddress4, proxyAddress6, proxyMac } from "../zone/addresses.ts";
import type { Zone, ZoneNode } from "../zone/zone.ts";

/** Columns of the switch's port to the router. */
export interface Proxy {
  readonly arpProxy: string;
  readonly addresses: readonly string[];
}

export function proxyOf(zone: Zone, node: ZoneNode, vms: readonly VmPlacement[]): Proxy {
  if (zone.features.arpProxy === "all") {
    const arpProxy = [proxyMac, proxyAddress4, proxyAddress6, ...zone.clusterSubnets].join(" ");
    return { arpProxy, addresses: ["router"] };
  }
  const { v4, v6 } = listed(node, vms);
  return {
    arpProxy: [proxyAddress4, ...v4].join(" "),
    // arp_proxy is of IPv4 alone; what stands here is answered for in IPv6 too.
    addresses: ["router", [proxyMac, proxyAddress6, ...v6].join(" ")],
  };
}

/**
 * One flow for each address: of a subnet wider than /22 none but the VMs' own are listed. A VM elsewhere then reaches
 * pods of such a subnet only after its neighbour entries have been told (gratuitous ARP).
 */
const mostListed = 1024n;

function listed(node: ZoneNode, vms: readonly VmPlacement[]): Record<"v4" | "v6", readonly string[]> {
  const here = vms.filter(({ activeNode }) => activeNode === node.name).flatMap(({ addresses }) => addresses);
  const isHere = (address: Address) => here.some((each) => equal(each.address, address));
  const isOwn = (address: Address) => node.subnets.some((subnet) => contains(subnet, address));

  /** Its own VMs that are elsewhere; and neighbours of VMs that are here, from whole subnets that are elsewhere. */
  const gone = vms.flatMap(({ addresses, activeNode }) =>
    activeNode === undefined || activeNode === node.name ? [] : addresses.map(({ address }) => address),
  );
  const foreign = here
    .map(({ subnet }) => subnet)
    .filter((subnet) => subnet.size <= mostListed && !isOwn(subnet.network));
  const distinct = new Map(foreign.map((subnet) => [subnet.toString(), subnet]));
  const neighbours = [...distinct.values()]
    .filter(({ family }) => family === 4)
    .flatMap((each) => [...addressesIn(each)]);
  const isAsked = (address: Address) => isOwn(address) || here.some(({ subnet }) => contains(subnet, address));
  const all = [...gone.filter(isAsked), ...neighbours].filter((address) => !isHere(address));
  const of = (family: 4 | 6) => [...new Set(all.filter((each) => each.family === family).map(String))].sort();
  return { v4: of(4), v6: of(6) };
}

function* addressesIn(subnet: Prefix): Generator<Address> {
  for (let at: Address | undefined = next(subnet.first); at !== undefined && !equal(at, subnet.last); at = next(at)) {
    yield at;
  }
}
