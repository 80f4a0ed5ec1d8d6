// What the cluster router has for a VM that is not on the node of its subnet: a way to it, its neighbour entry, and its
// way out by the gateway of the node where it is.
import { clusterRouter, routerToSwitch } from "../names.ts";
import { vmMarks } from "../rows/marks.ts";
import { type Wanted, wanted } from "../rows/wanted.ts";
import { ofFamily, type Zone, type ZoneNode } from "../zone/zone.ts";
import type { VmAddress, VmPlacement } from "./placement.ts";
import { choosesGateway } from "./where.ts";

/** Before the priorities of who may be kept from it: traffic within the cluster (topology/cluster-router.ts). */
const reroutePriority = 10;

export function routesTo(zone: Zone, vm: VmPlacement, node: ZoneNode): readonly Wanted[] {
  const rows = vm.addresses.map((each) =>
    node.isLocal ? localRows(zone, vm, each, node) : remoteRows(vm, each, node),
  );
  return rows.flat();
}

function localRows(zone: Zone, vm: VmPlacement, { address }: VmAddress, node: ZoneNode): Wanted[] {
  const ip = address.toString();
  const port = routerToSwitch(node.name);
  const marks = vmMarks(vm, "local");
  const route = { ip_prefix: ip, nexthop: ip, policy: "dst-ip", output_port: port, external_ids: marks } as const;
  const rows = [
    wanted("Logical_Router_Static_Route", route, { within: clusterRouter }),
    // The address is of another subnet than the port's: the router would have to ask for it, and hold packets back.
    wanted("Static_MAC_Binding", { logical_port: port, ip, mac: vm.mac, override_dynamic_mac: true }),
  ];
  const gateway = ofFamily(node.joinAddresses, address.family);
  if (gateway === undefined || !choosesGateway(zone)) return rows;
  const policy = {
    priority: reroutePriority,
    match: `ip${address.family}.src == ${ip}`,
    action: "reroute",
    nexthops: [gateway.toString()],
    external_ids: marks,
  } as const;
  return [...rows, wanted("Logical_Router_Policy", policy, { within: clusterRouter })];
}

/** Over the transit switch, to the cluster router of the zone where it is. */
function remoteRows(vm: VmPlacement, { address }: VmAddress, node: ZoneNode): Wanted[] {
  const nexthop = ofFamily(node.transitAddresses, address.family);
  if (nexthop === undefined) return [];
  const route = {
    ip_prefix: address.toString(),
    nexthop: nexthop.toString(),
    policy: "dst-ip",
    output_port: undefined,
    external_ids: vmMarks(vm, "remote"),
  } as const;
  return [wanted("Logical_Router_Static_Route", route, { within: clusterRouter })];
}
