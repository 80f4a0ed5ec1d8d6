// The switch of a node: its pods and VMs, the node itself, and the port to the cluster router.
import { clusterRouter, managementPort, routerToSwitch, switchToRouter } from "../names.ts";
import { topologyMarks } from "../rows/marks.ts";
import { type Wanted, wanted } from "../rows/wanted.ts";
import type { VmPlacement } from "../vm/placement.ts";
import { managementAddress, onSubnet, routerAddress, routerMac } from "../zone/addresses.ts";
import { ofFamily, type Zone, type ZoneNode } from "../zone/zone.ts";
import { proxyOf } from "./proxy.ts";

export function switchRows(zone: Zone, node: ZoneNode, vms: readonly VmPlacement[]): readonly Wanted[] {
  const external_ids = topologyMarks(node.name);
  const networks = node.subnets.map((subnet) => onSubnet(routerAddress(subnet), node.subnets));
  const [v4, v6] = [ofFamily(node.subnets, 4), ofFamily(node.subnets, 6)];
  const other_config = {
    ...(v4 === undefined ? {} : { subnet: v4.toString() }),
    ...(v6 === undefined ? {} : { ipv6_prefix: v6.network.toString() }),
  };
  const port = { name: routerToSwitch(node.name), mac: routerMac(zone, node), networks, external_ids };
  return [
    wanted("Logical_Switch", { name: node.name, other_config, external_ids }),
    wanted("Logical_Router_Port", port, { within: clusterRouter }),
    routerPortRow(zone, node, vms),
    ...management(node, external_ids),
  ];
}

/** The one that answers for the VMs' default route: for old OVN it changes with the places of VMs. */
export function routerPortRow(zone: Zone, node: ZoneNode, vms: readonly VmPlacement[]): Wanted {
  const { arpProxy, addresses } = proxyOf(zone, node, vms);
  const row = {
    name: switchToRouter(node.name),
    type: "router",
    addresses,
    options: { "router-port": routerToSwitch(node.name), arp_proxy: arpProxy },
    external_ids: topologyMarks(node.name),
  };
  return wanted("Logical_Switch_Port", row, { within: node.name });
}

function management(
  { name, subnets, managementMac }: ZoneNode,
  external_ids: Record<string, string>,
): readonly Wanted[] {
  if (managementMac === undefined) return [];
  const addresses = [[managementMac, ...subnets.map(managementAddress)].join(" ")];
  const row = { name: managementPort(name), type: "", addresses, external_ids };
  return [wanted("Logical_Switch_Port", row, { within: name })];
}
