// Addresses that follow from others: of a node's router port, of its management port, MACs.
import { createHash } from "node:crypto";

import { type Address, bitsOf, plus, V4Address } from "../../net/address.ts";
import { type Mac, macFromBytes } from "../../net/mac.ts";
import type { Prefix } from "../../net/prefix.ts";
import type { Zone, ZoneNode } from "./zone.ts";

/** What every VM's default route points at, on every node (169.254.1.1, fe80::1), and the MAC that answers for it. */
export const proxyAddress4 = "169.254.1.1";
export const proxyAddress6 = "fe80::1";
export const proxyMac = "0a:58:a9:fe:01:01" as Mac;

/** OVN-Kubernetes' server identifier of DHCPv6: 0a:58 and the first four bytes of SHA-256 of fe80::1. */
export const dhcpv6ServerId = macOf(proxyAddress6);

/** 0a:58 and the four bytes of an IPv4 address, or of the hash of an IPv6 one. */
export function macOf(address: Address | string): Mac {
  const bytes =
    address instanceof V4Address
      ? [address.value >>> 24, (address.value >>> 16) & 0xff, (address.value >>> 8) & 0xff, address.value & 0xff]
      : createHash("sha256").update(address.toString()).digest().subarray(0, 4);
  return macFromBytes(Uint8Array.from([0x0a, 0x58, ...bytes]));
}

/** The subnet's first: the router port of its node. */
export function routerAddress(subnet: Prefix): Address {
  return plus(subnet.network, 1)!;
}

/** The subnet's second: the node itself, by its management port. */
export function managementAddress(subnet: Prefix): Address {
  return plus(subnet.network, 2)!;
}

/**
 * The MAC of a node's router port. Where the proxy can answer with no other (`list`), every node has the proxy's: a
 * guest keeps what it has learned.
 */
export function routerMac(zone: Zone, node: ZoneNode): Mac {
  const [subnet] = node.subnets;
  return zone.features.arpProxy === "list" || subnet === undefined ? proxyMac : macOf(routerAddress(subnet));
}

/** `address/length`, the length being that of the subnet that has it. */
export function onSubnet(address: Address, subnets: readonly Prefix[]): string {
  const subnet = subnets.find(({ family }) => family === address.family);
  return `${address}/${subnet?.length ?? bitsOf(address.family)}`;
}
