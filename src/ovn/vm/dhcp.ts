// DHCP_Options: OVN answers the guest's DHCP by itself, on every node alike. They live as long as a port of the VM does
// in the zone: the source of a migration can be asked until it ends.
import type { Address } from "../../net/address.ts";
import type { VmName } from "../rows/marks.ts";
import { dhcpMarks } from "../rows/marks.ts";
import { type Wanted, wanted } from "../rows/wanted.ts";
import { dhcpv6ServerId, proxyAddress4, proxyMac } from "../zone/addresses.ts";
import type { Zone } from "../zone/zone.ts";
import type { VmAddress } from "./placement.ts";

const leaseSeconds = 3500;

export function dhcpOf(zone: Zone, vm: VmName, { address, subnet }: VmAddress): Wanted {
  const row = {
    cidr: subnet.toString(),
    options: address.family === 4 ? optionsOf4(zone, vm) : optionsOf6(zone, vm),
    external_ids: dhcpMarks(vm, subnet.toString()),
  };
  return wanted("DHCP_Options", row);
}

/** The router is no address of a subnet: no node other than the home could answer for that one. */
function optionsOf4(zone: Zone, { name }: VmName): Record<string, string> {
  return {
    ...dnsOf(zone, 4),
    hostname: quoted(name),
    lease_time: String(leaseSeconds),
    mtu: String(zone.mtu),
    router: proxyAddress4,
    server_id: proxyAddress4,
    server_mac: proxyMac,
  };
}

function optionsOf6(zone: Zone, { name }: VmName): Record<string, string> {
  return {
    ...dnsOf(zone, 6),
    ...(zone.features.hasDhcpv6Fqdn ? { fqdn: quoted(name) } : {}),
    server_id: dhcpv6ServerId,
  };
}

/** ovn-nb(5): several are a set in braces. */
function dnsOf({ dnsServers }: Zone, family: Address["family"]): Record<string, string> {
  const servers = dnsServers.filter((each) => each.family === family).map(String);
  if (servers.length === 0) return {};
  return { dns_server: servers.length === 1 ? servers[0]! : `{${servers.join(", ")}}` };
}

/** The value stands in a logical flow as a string does there. */
function quoted(text: string): string {
  return `"${text}"`;
}
