// The gateway router of a node: between the join switch and the node's physical network, and the source address of what
// leaves. It masks whole cluster subnets, not pods one by one: a VM that moves leaves nothing behind on it.
import {
  externalSwitch,
  externalToRouter,
  gatewayRouter,
  joinSwitch,
  joinToRouter,
  routerToExternal,
  routerToJoin,
} from "../names.ts";
import { topologyMarks } from "../rows/marks.ts";
import { type Wanted, wanted } from "../rows/wanted.ts";
import { macOf, onSubnet, routerAddress } from "../zone/addresses.ts";
import { type Gateway, ofFamily, type Zone, type ZoneNode } from "../zone/zone.ts";
import { plug } from "./cluster-router.ts";

export function gatewayRows(zone: Zone, node: ZoneNode): readonly Wanted[] {
  const { gateway, name: of, joinAddresses } = node;
  const [join] = joinAddresses;
  if (gateway === undefined || join === undefined) return [];
  const name = gatewayRouter(of);
  const external_ids = topologyMarks(of);
  const options = {
    chassis: node.chassis,
    // Neighbours are asked for when they are needed: no entry for each of all nodes, pods and VMs.
    always_learn_from_arp_request: "false",
    dynamic_neigh_routers: "true",
    "snat-ct-zone": "0",
    // What a Service's client is turned into, so that the answer comes back here.
    lb_force_snat_ip: "router_ip",
  };
  const networks = joinAddresses.map((each) => onSubnet(each, zone.joinSubnets));
  const port = { name: routerToJoin(name), mac: macOf(join), networks, external_ids };
  return [
    wanted("Logical_Router", { name, options, external_ids }),
    wanted("Logical_Router_Port", port, { within: name }),
    plug(joinSwitch, joinToRouter(name), routerToJoin(name), external_ids),
    ...outside(node, gateway),
    ...routesOf(zone, node, gateway),
    ...nat(zone, node, gateway),
  ];
}

function outside({ name: of }: ZoneNode, gateway: Gateway): readonly Wanted[] {
  const external_ids = topologyMarks(of);
  const on = externalSwitch(of);
  const networks = gateway.addresses.map(({ address, prefix }) => `${address}/${prefix.length}`);
  const port = { name: routerToExternal(of), mac: gateway.mac, networks, external_ids };
  const localnet = {
    name: gateway.interfaceId,
    type: "localnet",
    addresses: ["unknown"],
    options: { network_name: gateway.physicalNetwork },
    tag_request: gateway.vlan,
    external_ids,
  };
  return [
    wanted("Logical_Switch", { name: on, external_ids }),
    wanted("Logical_Router_Port", port, { within: gatewayRouter(of) }),
    plug(on, externalToRouter(of), routerToExternal(of), external_ids),
    wanted("Logical_Switch_Port", localnet, { within: on }),
  ];
}

function routesOf(zone: Zone, { name: of }: ZoneNode, gateway: Gateway): readonly Wanted[] {
  const within = gatewayRouter(of);
  const external_ids = topologyMarks(of);
  const route = (ip_prefix: string, nexthop: string, output_port: string) => {
    const row = { ip_prefix, nexthop, policy: "dst-ip", output_port, external_ids } as const;
    return wanted("Logical_Router_Static_Route", row, { within });
  };
  const inward = zone.clusterSubnets.flatMap((subnet) => {
    const join = ofFamily(zone.joinSubnets, subnet.family);
    return join === undefined ? [] : [route(subnet.toString(), routerAddress(join).toString(), routerToJoin(within))];
  });
  const outward = gateway.nextHops.map((hop) =>
    route(hop.family === 4 ? "0.0.0.0/0" : "::/0", hop.toString(), routerToExternal(of)),
  );
  return [...inward, ...outward];
}

function nat(zone: Zone, { name: of, joinAddresses }: ZoneNode, { addresses, masks }: Gateway): readonly Wanted[] {
  if (!masks) return [];
  const sources = [...zone.clusterSubnets, ...joinAddresses];
  return sources.flatMap((source) => {
    const own = addresses.find(({ address }) => address.family === source.family)?.address;
    if (own === undefined) return [];
    const row = { type: "snat", logical_ip: source.toString(), external_ip: own.toString() } as const;
    return [wanted("NAT", { ...row, external_ids: topologyMarks(of) }, { within: gatewayRouter(of) })];
  });
}
