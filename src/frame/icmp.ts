// An ICMPv6 message of one link (RFC 4861), as a value, and the frame that it becomes.
import { putUint16 } from "./bytes.ts";
import { fold, sumWords } from "./checksum.ts";
import { ethernetBytes, etherType, tagBytes, writeEthernetBefore } from "./ethernet.ts";
import { ipv6Bytes, protocol, pseudoSum, writeIpv6 } from "./ipv6.ts";

/** A router lowers it, so 255 proves that the sender is on this link (section 7.1). */
export const onLink = 255;
export const neighborType = { solicitation: 135, advertisement: 136 } as const;

export interface IcmpPacket {
  readonly source: Uint8Array;
  readonly destination: Uint8Array;
  /** Where the frame goes to. */
  readonly mac: Uint8Array;
  /** From the type on; whatever its checksum is is made right in the frame. */
  readonly message: Uint8Array;
}

/** `source`: the interface's MAC. `vlan`: where frames are tagged. */
export function icmpFrame(packet: IcmpPacket, source: Uint8Array, vlan?: number): Uint8Array {
  const { message } = packet;
  const ip = { source: packet.source, destination: packet.destination, protocol: protocol.icmp, hopLimit: onLink };
  const ipAt = ethernetBytes + (vlan === undefined ? 0 : tagBytes);
  const at = ipAt + ipv6Bytes;
  const frame = new Uint8Array(at + message.length);
  frame.set(message, at);
  putUint16(frame, at + 2, 0);
  putUint16(frame, at + 2, fold(sumWords(frame, at, frame.length, pseudoSum(ip) + message.length)));
  writeIpv6(frame, ipAt, ip, message.length);
  const macs = { destination: packet.mac, source };
  writeEthernetBefore(frame, ipAt, vlan === undefined ? macs : { ...macs, vlan }, etherType.ipv6);
  return frame;
}

const advertisementFlag = { solicited: 0x40, override: 0x20 } as const;
export const targetLinkLayer = 2;

/** "The address is at this MAC", in place of what was known (sections 4.4 and 7.2); `solicited`: somebody has asked. */
export function neighborAdvertisement(target: Uint8Array, mac: Uint8Array, solicited: boolean): Uint8Array {
  const flags = solicited ? advertisementFlag.solicited | advertisementFlag.override : advertisementFlag.override;
  return Uint8Array.of(neighborType.advertisement, 0, 0, 0, flags, 0, 0, 0, ...target, targetLinkLayer, 1, ...mac);
}
