// Logical_Switch_Port: one for each pod of the VM, on its node's switch. Only one that carries the traffic has the VM's
// addresses: of the others none may answer for them, since their switches have the proxy for that.
import { podPort } from "../names.ts";
import { portMarks, type VmName } from "../rows/marks.ts";
import { type RowRef, type Wanted, wanted } from "../rows/wanted.ts";
import { nodeOf, type Zone } from "../zone/zone.ts";
import type { VmPlacement, VmPort } from "./placement.ts";

/** Key: the address family. */
export type DhcpRefs = Readonly<Partial<Record<4 | 6, RowRef>>>;

export function portOf(zone: Zone, vm: VmPlacement, port: VmPort, dhcp: DhcpRefs): Wanted {
  const own = addressesOf(vm);
  const row = {
    name: podPort(vm.namespace, port.podName),
    type: "",
    addresses: port.isActive ? [own] : [],
    port_security: [`${own}${linkLocalOf(vm)}`],
    options: { "iface-id-ver": port.podUid, "requested-chassis": nodeOf(zone, port.node)!.chassis },
    external_ids: portMarks(vm satisfies VmName),
  };
  const refs = { dhcpv4_options: dhcp[4], dhcpv6_options: dhcp[6] };
  const others = vm.ports.filter(({ podName }) => podName !== port.podName);
  const as = others.map(
    ({ podName }) => ({ table: "Logical_Switch_Port", key: podPort(vm.namespace, podName) }) as const,
  );
  return wanted("Logical_Switch_Port", row, { within: port.node, refs, joins: { groups: vm.portGroups ?? [], as } });
}

/**
 * A guest makes its link-local address as it likes (RFC 7217): OVN by itself knows the one that follows from the MAC
 * alone, and would drop a neighbour solicitation from any other.
 */
function linkLocalOf({ addresses }: VmPlacement): string {
  return addresses.some(({ address }) => address.family === 6) ? " fe80::/64" : "";
}

/** `0a:58:0a:f4:00:08 10.244.0.8 fd10:244::8`: one string, IPv4 first. */
function addressesOf({ mac, addresses }: VmPlacement): string {
  const sorted = addresses.map(({ address }) => address).sort((one, other) => one.family - other.family);
  return [mac, ...sorted].join(" ");
}
