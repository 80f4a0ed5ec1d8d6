// The cluster router, the join switch, and the routes between nodes, gateways and zones.
import type { Prefix } from "../../net/prefix.ts";
import { OvnError } from "../error.ts";
import { clusterRouter, joinSwitch, joinToRouter, routerToJoin, routerToSwitch } from "../names.ts";
import { topologyMarks } from "../rows/marks.ts";
import { type Wanted, wanted } from "../rows/wanted.ts";
import { macOf, managementAddress, onSubnet, routerAddress } from "../zone/addresses.ts";
import { localNodes, ofFamily, type Zone, type ZoneNode } from "../zone/zone.ts";

/** Traffic within the cluster is not for gateways: it stands before the reroutes of VMs. */
const allowPriority = 102;
/** A pod reaches its own node by the node's port, not by the gateway. */
const hostPriority = 1004;

const external_ids = topologyMarks("cluster");
const within = clusterRouter;

export function clusterRows(zone: Zone): readonly Wanted[] {
  const name = routerToJoin(clusterRouter);
  const joins = zone.joinSubnets.map(routerAddress);
  if (joins.length === 0)
    throw new OvnError("bad-zone", "The zone has no join subnet: give one for each address family.");
  const networks = joins.map((each) => onSubnet(each, zone.joinSubnets));
  return [
    wanted("Logical_Router", { name: clusterRouter, external_ids }),
    wanted("Logical_Switch", { name: joinSwitch, external_ids }),
    wanted("Logical_Router_Port", { name, mac: macOf(joins[0]!), networks, external_ids }, { within }),
    plug(joinSwitch, joinToRouter(clusterRouter), name, external_ids),
    ...zone.clusterSubnets.flatMap((subnet) => allows(zone, subnet)),
    ...catchAll(zone),
    ...zone.nodes.flatMap((node) => (node.isLocal ? toGateway(node) : toOtherZone(node))),
  ];
}

/** The switch's side of a router port. */
export function plug(
  on: string,
  name: string,
  routerPort: string,
  marks: Record<string, string>,
  options: Record<string, string> = {},
): Wanted {
  const row = { name, type: "router", addresses: ["router"], options: { "router-port": routerPort, ...options } };
  return wanted("Logical_Switch_Port", { ...row, external_ids: marks }, { within: on });
}

function allows(zone: Zone, subnet: Prefix): readonly Wanted[] {
  const { family } = subnet;
  const targets = [...zone.clusterSubnets, ...zone.joinSubnets].filter((each) => each.family === family);
  return targets.map((target) => {
    const match = `ip${family}.src == ${subnet} && ip${family}.dst == ${target}`;
    return wanted(
      "Logical_Router_Policy",
      { priority: allowPriority, match, action: "allow", external_ids },
      { within },
    );
  });
}

/**
 * What no route is found for is dropped before any policy is asked. The source of a VM whose home node is gone is in no
 * node's subnet: this one finds a gateway for it, and the VM's policy then chooses the right one.
 */
function catchAll(zone: Zone): readonly Wanted[] {
  return zone.clusterSubnets.flatMap((subnet) => {
    const gateways = localNodes(zone).filter(({ gateway }) => gateway !== undefined);
    const all = gateways
      .map((node) => ofFamily(node.joinAddresses, subnet.family))
      .filter((each) => each !== undefined);
    return all.length === 0 ? [] : [route("src-ip", subnet.toString(), all[0]!.toString())];
  });
}

function route(policy: "src-ip" | "dst-ip", ip_prefix: string, nexthop: string): Wanted {
  return wanted("Logical_Router_Static_Route", { ip_prefix, nexthop, policy, external_ids }, { within });
}

/** Packets of a node's subnet leave by its own gateway. */
function toGateway({ name, subnets, joinAddresses, gateway, managementMac }: ZoneNode): readonly Wanted[] {
  const host = (family: 4 | 6) => gateway?.addresses.find(({ address }) => address.family === family)?.address;
  const policies = subnets.flatMap((subnet) => {
    const target = host(subnet.family);
    if (target === undefined || managementMac === undefined) return [];
    const match = `inport == "${routerToSwitch(name)}" && ip${subnet.family}.dst == ${target} /* ${name} */`;
    const nexthops = [managementAddress(subnet).toString()];
    const row = { priority: hostPriority, match, action: "reroute", nexthops, external_ids } as const;
    return [wanted("Logical_Router_Policy", row, { within })];
  });
  if (gateway === undefined) return policies;
  const routes = joinAddresses.flatMap((join) => {
    const subnet = ofFamily(subnets, join.family);
    const self = route("dst-ip", join.toString(), join.toString());
    return subnet === undefined ? [self] : [self, route("src-ip", subnet.toString(), join.toString())];
  });
  return [...routes, ...policies];
}

function toOtherZone({ subnets, joinAddresses, transitAddresses }: ZoneNode): readonly Wanted[] {
  return transitAddresses.flatMap((transit) => {
    const join = ofFamily(joinAddresses, transit.family);
    const subnet = ofFamily(subnets, transit.family);
    const targets = [subnet?.toString(), join?.toString()].filter((each) => each !== undefined);
    return targets.map((target) => route("dst-ip", target, transit.toString()));
  });
}
