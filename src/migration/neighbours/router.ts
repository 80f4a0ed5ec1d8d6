// What a VM is told of its router in IPv6: a router advertisement (RFC 4861 section 4.2). Pure.
import { icmpFrame } from "../../frame/icmp.ts";
import { multicast } from "../../frame/multicast.ts";
import { addressToBytes, parseAddress } from "../../net/address.ts";
import { type Mac, macToBytes } from "../../net/mac.ts";
import { proxyMac } from "./announcements.ts";

const advertisement = 134;
/** Addresses come by DHCPv6, and other words too: M and O. */
const managed = 0xc0;
const hopLimit = 64;
const [linkLayerOption, mtuOption] = [1, 5];
const router = addressToBytes(parseAddress("fe80::1"));

export interface RouterWords {
  /** The VM that is told; pods of the same switch have a router of their own, and must not hear of this one. */
  readonly to: Mac;
  readonly mtu: number;
  /** 0: the router is one no more. */
  readonly lifetimeSeconds: number;
}

/**
 * From fe80::1, behind which the proxy's MAC is on every node. Without prefix information: no address of the subnet is
 * on the link, so that a guest that moves takes nothing along.
 */
export function routerFrame({ to, mtu, lifetimeSeconds }: RouterWords, sender: Mac): Uint8Array {
  const lifetime = [lifetimeSeconds >> 8, lifetimeSeconds & 255];
  const size = [mtu >>> 24, mtu >>> 16, mtu >>> 8, mtu].map((each) => each & 255);
  const head = [advertisement, 0, 0, 0, hopLimit, managed, ...lifetime, 0, 0, 0, 0, 0, 0, 0, 0];
  const message = Uint8Array.of(...head, linkLayerOption, 1, ...macToBytes(proxyMac), mtuOption, 1, 0, 0, ...size);
  // To all nodes of the link, at the MAC of one (RFC 6085): nobody knows the guest's link-local address.
  const packet = { source: router, destination: multicast.allNodes, mac: macToBytes(to), message };
  return icmpFrame(packet, macToBytes(sender));
}
