// IPv6: duplicate address detection by neighbour solicitation (RFC 4862 section 5.4, messages of RFC 4861 section 4).
// The solicitation has the unspecified source, so whoever has the address answers to all nodes. Another node that
// solicits the same address from the unspecified source is about to take it: that is a conflict too.
import { uint16 } from "../../frame/bytes.ts";
import { fold, sumWords } from "../../frame/checksum.ts";
import { ethernetBytes, etherType } from "../../frame/ethernet.ts";
import { icmpFrame, neighborType, onLink, targetLinkLayer } from "../../frame/icmp.ts";
import { ipv6Bytes, protocol } from "../../frame/ipv6.ts";
import { multicast, multicastMac, solicitedNodeOf } from "../../frame/multicast.ts";
import { addressToBytes, type V6Address } from "../../net/address.ts";
import { type Mac, macFromBytes, macToBytes } from "../../net/mac.ts";
import { otherMac, type Protocol, type Question } from "./question.ts";

const unspecified = new Uint8Array(16);
const at = { ip: ethernetBytes, source: 22, icmp: ethernetBytes + ipv6Bytes, target: 62, options: 78 } as const;

export const neighbourDiscovery: Protocol<V6Address> = {
  etherType: etherType.ipv6,
  groups: (address) => [multicast.allNodes, groupOf(address)].map((group) => macFromBytes(multicastMac(group))),
  frame,
  conflict,
};

const groupOf = (address: V6Address): Uint8Array => solicitedNodeOf(addressToBytes(address));

function frame({ address, mac }: Question<V6Address>): Uint8Array {
  const destination = groupOf(address);
  const message = Uint8Array.of(neighborType.solicitation, 0, 0, 0, 0, 0, 0, 0, ...addressToBytes(address));
  return icmpFrame({ source: unspecified, destination, mac: multicastMac(destination), message }, macToBytes(mac));
}

function conflict(bytes: Uint8Array, { address, mac }: Question<V6Address>): Mac | undefined {
  const message = messageOf(bytes);
  if (message === undefined || !isAt(message, at.target, addressToBytes(address))) return undefined;
  const type = message[at.icmp];
  const other = otherMac(message, 6, mac);
  if (type === neighborType.solicitation) return isAt(message, at.source, unspecified) ? other : undefined;
  if (type !== neighborType.advertisement || other === undefined) return undefined;
  return linkLayerOf(message, mac) ?? other;
}

function isAt(message: Uint8Array, offset: number, wanted: Uint8Array): boolean {
  return wanted.every((byte, index) => message[offset + index] === byte);
}

/** The frame up to the end of its packet, when it is a valid message of neighbour discovery (RFC 4861 section 7.1). */
function messageOf(bytes: Uint8Array): Uint8Array | undefined {
  if (bytes.length < at.options || uint16(bytes, at.ip - 2) !== etherType.ipv6 || bytes[at.ip]! >>> 4 !== 6)
    return undefined;
  if (bytes[at.ip + 6] !== protocol.icmp || bytes[at.ip + 7] !== onLink || bytes[at.icmp + 1] !== 0) return undefined;
  const end = at.icmp + uint16(bytes, at.ip + 4);
  if (end < at.options || end > bytes.length) return undefined;
  // Over the pseudo-header and the message (RFC 8200 section 8.1).
  return fold(sumWords(bytes, at.source, end, end - at.icmp + protocol.icmp)) === 0
    ? bytes.subarray(0, end)
    : undefined;
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
