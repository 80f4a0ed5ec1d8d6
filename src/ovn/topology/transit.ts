// The transit switch: one that every zone has of its own, with the same tunnel keys, so that its packets mean the same
// to all. The cluster router of each node's zone has one port on it.
import { clusterRouter, routerToTransit, transitSwitch, transitToRouter } from "../names.ts";
import { topologyMarks } from "../rows/marks.ts";
import { type Wanted, wanted } from "../rows/wanted.ts";
import { macOf, onSubnet } from "../zone/addresses.ts";
import { isInterconnected, type Zone, type ZoneNode } from "../zone/zone.ts";
import { plug } from "./cluster-router.ts";

/** OVN-Kubernetes' own: above those that OVN gives by itself. */
const tunnelKey = 16_711_683;

export function transitRows(zone: Zone): readonly Wanted[] {
  if (!isInterconnected(zone)) return [];
  const other_config = { "interconn-ts": transitSwitch, "requested-tnl-key": String(tunnelKey) };
  const external_ids = topologyMarks("cluster");
  return [
    wanted("Logical_Switch", { name: transitSwitch, other_config, external_ids }),
    ...zone.nodes.flatMap((node) => (node.transitAddresses.length === 0 ? [] : portRows(zone, node))),
  ];
}

function portRows(zone: Zone, node: ZoneNode): readonly Wanted[] {
  const mac = macOf(node.transitAddresses[0]!);
  const networks = node.transitAddresses.map((each) => onSubnet(each, zone.transitSubnets));
  const key = { "requested-tnl-key": String(node.id) };
  const external_ids = topologyMarks(node.name);
  const [name, peer] = [transitToRouter(node.name), routerToTransit(node.name)];
  if (!node.isLocal) {
    const options = { ...key, "requested-chassis": node.chassis };
    const row = { name, type: "remote", addresses: [[mac, ...networks].join(" ")], options, external_ids };
    return [wanted("Logical_Switch_Port", row, { within: transitSwitch })];
  }
  const port = { name: peer, mac, networks, options: key, external_ids };
  return [
    wanted("Logical_Router_Port", port, { within: clusterRouter }),
    plug(transitSwitch, name, peer, external_ids, key),
  ];
}
