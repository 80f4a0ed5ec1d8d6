// All rows of one spanning network: its switch, its way to the physical network, a port for each VM and what OVN's DHCP
// tells its guest.
import type { Desired } from "../desired.ts";
import { networkMarks, spanningDhcpMarks, type VmName } from "../rows/marks.ts";
import { type Wanted, wanted } from "../rows/wanted.ts";
import { dhcpv6ServerId, proxyAddress4, proxyMac } from "../zone/addresses.ts";
import type { SpanningNetwork, SpanningVm } from "./network.ts";

const leaseSeconds = 3500;

/** OVN-Kubernetes' names, so that its rows are taken over in place. */
export const spanningSwitch = ({ name, physical }: SpanningNetwork): string =>
  `${name.replaceAll("-", ".")}_ovn_${physical === undefined ? "layer2" : "localnet"}_switch`;
export const spanningPort = ({ definition }: SpanningNetwork, { namespace, name }: VmName): string =>
  `${definition.replaceAll("/", ".")}_${namespace}_${name}`;

/** The whole network: rows of it that are not among these are to go. `vms`: all that run. */
export function desiredSpanning(network: SpanningNetwork, vms: readonly SpanningVm[]): Desired {
  return {
    wanted: [...switchRows(network), ...vms.flatMap((vm) => vmRows(network, vm))],
    scope: { topology: false, vms: [], network: network.name },
    vms: [],
  };
}

function switchRows(network: SpanningNetwork): readonly Wanted[] {
  const external_ids = networkMarks(network.name);
  const name = spanningSwitch(network);
  const row = wanted("Logical_Switch", { name, external_ids });
  if (network.physical === undefined) return [row];
  const localnet = {
    name: `${network.name.replaceAll("-", ".")}_ovn_localnet_port`,
    type: "localnet",
    addresses: ["unknown"],
    options: { network_name: network.physical.network },
    tag_request: network.physical.vlan,
    external_ids,
  };
  return [row, wanted("Logical_Switch_Port", localnet, { within: name })];
}

function vmRows(network: SpanningNetwork, vm: SpanningVm): readonly Wanted[] {
  const { mac, addresses, chassis } = vm;
  if (chassis.length === 0) return [];
  const dhcp = addresses.map(({ address, subnet }) => {
    const marks = spanningDhcpMarks(network.name, vm, subnet.toString());
    const options = address.family === 4 ? optionsOf4(network, vm) : { server_id: dhcpv6ServerId };
    const row = { cidr: subnet.toString(), options, external_ids: marks };
    return [address.family, wanted("DHCP_Options", row)] as const;
  });
  const own = [[mac, ...addresses.map(({ address }) => address).sort((a, b) => a.family - b.family)].join(" ")];
  const port = {
    name: spanningPort(network, vm),
    type: "",
    addresses: own,
    port_security: own,
    // No iface-id-ver: the pods' interfaces differ in their UIDs, and the second chassis would not bind the port.
    options: {
      "requested-chassis": chassis.join(","),
      ...(chassis.length > 1 && { "activation-strategy": "rarp" }),
    },
    external_ids: networkMarks(network.name, vm),
  };
  const byFamily = Object.fromEntries(dhcp);
  const refs = { dhcpv4_options: byFamily[4], dhcpv6_options: byFamily[6] };
  const within = spanningSwitch(network);
  return [...dhcp.map(([, row]) => row), wanted("Logical_Switch_Port", port, { within, refs })];
}

/** Where the network has no router a guest cannot ask the server again by itself: it does by broadcast, later. */
function optionsOf4({ mtu, router }: SpanningNetwork, { name }: SpanningVm): Record<string, string> {
  return {
    hostname: `"${name}"`,
    lease_time: String(leaseSeconds),
    mtu: String(mtu),
    server_id: String(router ?? proxyAddress4),
    server_mac: proxyMac,
    ...(router?.family === 4 && { router: router.toString() }),
  };
}
