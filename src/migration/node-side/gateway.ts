// What a machine says of its gateway: the interface with its addresses and its default routes, as the annotation
// k8s.ovn.org/l3-gateway-config has it. Pure: the kernel's tables come in as text.
import type { NetworkInterfaceInfo } from "node:os";

import { V4Address, V6Address } from "../../net/address.ts";

export interface MachineFacts {
  readonly node: string;
  /** A bridge of Open vSwitch, with the node's address. */
  readonly link: string;
  /** os.networkInterfaces() of it. */
  readonly addresses: readonly Pick<NetworkInterfaceInfo, "mac" | "cidr" | "address">[];
  /** /proc/net/route and /proc/net/ipv6_route. */
  readonly routes4: string;
  readonly routes6: string;
  /** Physical network -> bridge, as ovn-controller reads them (ovn-bridge-mappings). */
  readonly mappings: ReadonlyMap<string, string>;
}

/** The annotation, or in a sentence why there is none. */
export function gatewayOf(facts: MachineFacts): { readonly text: string } | { readonly why: string } {
  const { node, link, addresses, routes4, routes6, mappings } = facts;
  const [network] = [...mappings].find(([, bridge]) => bridge === link) ?? [];
  if (network === undefined)
    return {
      why: `${link} is no bridge of ovn-bridge-mappings of this node's Open vSwitch: add it (physnet:${link}).`,
    };
  const own = addresses.filter(({ address }) => !address.startsWith("fe80:"));
  const ips = own.flatMap(({ cidr }) => cidr ?? []);
  const [first] = own;
  if (first === undefined || ips.length === 0) return { why: `The interface ${link} has no address of its own.` };
  const hops = [...nextHops4(routes4, link), ...nextHops6(routes6, link)];
  const gateway = {
    mode: "shared",
    "interface-id": `${link}_${node}`,
    "mac-address": first.mac,
    "ip-addresses": ips,
    "next-hops": hops,
    "vlan-id": "0",
    "physical-network": network,
  };
  return { text: JSON.stringify({ default: gateway }) };
}

/** proc(5): name, destination, gateway; numbers in the machine's order, little endian on x64 and arm64. */
function nextHops4(table: string, link: string): readonly string[] {
  return table.split("\n").flatMap((line) => {
    const [name, destination, gateway = "", , , , , mask] = line.trim().split(/\s+/);
    if (name !== link || destination !== "00000000" || mask !== "00000000" || gateway === "00000000") return [];
    return [`${new V4Address(Buffer.from(gateway, "hex").readUInt32LE())}`];
  });
}

/** proc(5): destination, length, source, length, next hop, ..., name. */
function nextHops6(table: string, link: string): readonly string[] {
  return table.split("\n").flatMap((line) => {
    const [destination = "", length, , , hop = "", , , , , name] = line.trim().split(/\s+/);
    const isDefault = /^0{32}$/.test(destination) && length === "00" && !/^0{32}$/.test(hop);
    if (name !== link || !isDefault) return [];
    const words = [0, 8, 16, 24].map((at) => Number.parseInt(hop.slice(at, at + 8), 16)) as [
      number,
      number,
      number,
      number,
    ];
    return [`${new V6Address(...words)}`];
  });
}
