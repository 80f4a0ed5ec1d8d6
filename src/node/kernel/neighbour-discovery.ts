// IPv6: duplicate address detection by neighbour solicitation (RFC 4862 section 5.4, messages of RFC 4861 section 4).
// The solicitation has the unspecified source, so whoever has the address answers to all nodes. Another node that
// solicits the same address from the unspecified source is about to take it: that is a conflict too.
import { V6Address } from "../../net/address.ts";
import { type Mac, macFromBytes, macToBytes } from "../../net/mac.ts";
import { addressBytes, bytesAt, ethernetHeader, otherMac, type Protocol, type Question } from "./question.ts";

const etherType = 0x86dd;
const allNodes = "33:33:00:00:00:01" as Mac;
const unspecified = new Uint8Array(16);
const icmpV6 = 58;
const solicitation = 135;
const advertisement = 136;
/** A router lowers it, so 255 proves that the sender is on this link (RFC 4861 section 7.1). */
const onLink = 255;
const targetLinkLayer = 2;

const at = { ip: 14, length: 18, next: 20, hops: 21, source: 22, to: 38, icmp: 54, target: 62, options: 78 } as const;
const messageBytes = at.options - at.icmp;

export const neighbourDiscovery: Protocol<V6Address> = {
  etherType,
  groups: (address) => [allNodes, groupMac(groupOf(address))],
  frame,
  conflict,
};

/** ff02::1:ffXX:XXXX (RFC 4291 section 2.7.1). */
function groupOf(address: V6Address): Uint8Array {
  return addressBytes(new V6Address(0xff02_0000, 0, 1, (0xff00_0000 | (address.w3 & 0x00ff_ffff)) >>> 0));
}

/** 33:33 and the group's last 32 bits (RFC 2464 section 7). */
function groupMac(group: Uint8Array): Mac {
  return macFromBytes(Uint8Array.of(0x33, 0x33, ...group.subarray(12)));
}

function frame({ address, mac }: Question<V6Address>): Uint8Array {
  const bytes = new Uint8Array(at.options);
  const group = groupOf(address);
  ethernetHeader(bytes, macToBytes(groupMac(group)), macToBytes(mac), etherType);
  bytes.set([0x60, 0, 0, 0, 0, messageBytes, icmpV6, onLink], at.ip);
  bytes.set(group, at.to);
  bytes[at.icmp] = solicitation;
  bytes.set(addressBytes(address), at.target);
  const sum = checksum(bytes);
  bytes.set([sum >>> 8, sum & 255], at.icmp + 2);
  return bytes;
}

function conflict(bytes: Uint8Array, { address, mac }: Question<V6Address>): Mac | undefined {
  const message = messageOf(bytes);
  if (message === undefined || !bytesAt(message, at.target, addressBytes(address))) return undefined;
  const type = message[at.icmp];
  const other = otherMac(message, 6, mac);
  if (type === solicitation) return bytesAt(message, at.source, unspecified) ? other : undefined;
  if (type !== advertisement || other === undefined) return undefined;
  return linkLayerOf(message, mac) ?? other;
}

/** The frame up to the end of its packet, when it is a valid message of neighbour discovery (RFC 4861 section 7.1). */
function messageOf(bytes: Uint8Array): Uint8Array | undefined {
  if (bytes.length < at.options || !bytesAt(bytes, 12, Uint8Array.of(0x86, 0xdd)) || bytes[at.ip]! >>> 4 !== 6)
    return undefined;
  if (bytes[at.next] !== icmpV6 || bytes[at.hops] !== onLink || bytes[at.icmp + 1] !== 0) return undefined;
  const end = at.icmp + bytes[at.length]! * 256 + bytes[at.length + 1]!;
  if (end < at.options || end > bytes.length) return undefined;
  const message = bytes.subarray(0, end);
  return checksum(message) === 0 ? message : undefined;
}

/** What the advertisement says; the frame itself may have come through a proxy. */
function linkLayerOf(message: Uint8Array, own: Mac): Mac | undefined {
  // An option is at least 8 bytes, so this ends after (1500 - 78) / 8 of them.
  for (let offset: number = at.options; offset + 8 <= message.length;) {
    const length = message[offset + 1]! * 8;
    if (length === 0) return undefined;
    if (message[offset] === targetLinkLayer) return otherMac(message, offset + 2, own);
    offset += length;
  }
  return undefined;
}

/** Over the pseudo-header and the message (RFC 8200 section 8.1); 0 where a received one is right. */
function checksum(bytes: Uint8Array): number {
  let sum = bytes.length - at.icmp + icmpV6;
  for (let i: number = at.source; i < bytes.length; i += 2) sum += bytes[i]! * 256 + (bytes[i + 1] ?? 0);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
}
