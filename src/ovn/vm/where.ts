// Where a VM is, as one zone sees it.
import { isInterconnected, localNodes, nodeOf, type Zone, type ZoneNode } from "../zone/zone.ts";
import type { VmPlacement, VmPort } from "./placement.ts";

/** The node that carries its traffic where that is not the one whose subnet routes to it already. */
export function awayAt(zone: Zone, vm: VmPlacement): ZoneNode | undefined {
  return vm.activeNode === vm.homeNode ? undefined : nodeOf(zone, vm.activeNode);
}

/** Its ports on switches of this zone. */
export function localPorts(zone: Zone, { ports }: VmPlacement): readonly VmPort[] {
  return ports.filter(({ node }) => nodeOf(zone, node)?.isLocal === true);
}

/**
 * Which gateway router a packet leaves by is said for each VM, since each node has one. Of interconnected zones with a
 * node each the zone says it.
 */
export function choosesGateway(zone: Zone): boolean {
  return !isInterconnected(zone) || localNodes(zone).length > 1;
}
