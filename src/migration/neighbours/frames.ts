// An announcement as frames: gratuitous ARP (RFC 5227 section 3), and unsolicited neighbour advertisements (RFC 4861
// section 7.2.6). Pure.
import { gratuitousArps } from "../../frame/arp.ts";
import { icmpFrame, neighborAdvertisement } from "../../frame/icmp.ts";
import { multicast, multicastMac } from "../../frame/multicast.ts";
import { addressToBytes } from "../../net/address.ts";
import { type Mac, macToBytes } from "../../net/mac.ts";
import type { Announcement } from "./announcements.ts";

/** Whole frames without a tag. `sender`: the MAC of the interface that they leave by. */
export function framesOf({ address, mac, to }: Announcement, sender: Mac): readonly Uint8Array[] {
  const [its, from, told] = [macToBytes(mac), macToBytes(sender), to && macToBytes(to.mac)];
  if (address.family === 4) return gratuitousArps(its, address.value, from, told);
  const source = addressToBytes(address);
  const destination = to === undefined ? multicast.allNodes : addressToBytes(to.address);
  const message = neighborAdvertisement(source, its, false);
  return [icmpFrame({ source, destination, mac: told ?? multicastMac(destination), message }, from)];
}
