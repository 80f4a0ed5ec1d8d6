// ARP for IPv4 on Ethernet (RFC 826), with the probes and announcements of RFC 5227. Frames are made whole.
import { ethernetBytes, etherType, tagBytes } from "../frame/ethernet.ts";

export const arpEtherType = 0x0806;
export const operation = { request: 1, reply: 2 } as const;

/** Ethernet and IPv4 with their lengths: the begin of every ARP packet between them. */
const kind = [0, 1, 8, 0, 6, 4] as const;
const packetBytes = 28;
const everybody = new Uint8Array(6).fill(0xff);
const nobody = new Uint8Array(6);

export interface Arp {
  readonly operation: number;
  /** A view of the frame. */
  readonly senderMac: Uint8Array;
  readonly senderAddress: number;
  readonly targetAddress: number;
}

/** Undefined for everything else than ARP between Ethernet and IPv4. `at` is where the packet begins. */
export function decodeArp(frame: Uint8Array, at: number): Arp | undefined {
  if (frame.length < at + packetBytes) return undefined;
  for (let i = 0; i < kind.length; i++) if (frame[at + i] !== kind[i]) return undefined;
  return {
    operation: (frame[at + 6]! << 8) | frame[at + 7]!,
    senderMac: frame.subarray(at + 8, at + 14),
    senderAddress: uint32(frame, at + 14),
    targetAddress: uint32(frame, at + 24),
  };
}

/** "Who has it?", from nobody: no cache learns from it (RFC 5227 section 2.1.1). */
export function arpProbe(mac: Uint8Array, address: number, vlan: number | undefined): Uint8Array {
  return frameOf({ operation: operation.request, to: everybody, target: nobody }, mac, 0, address, vlan);
}

/** "I have it": every cache that has the address learns the MAC (RFC 5227 section 2.3). */
export function arpAnnouncement(mac: Uint8Array, address: number, vlan: number | undefined): Uint8Array {
  return frameOf({ operation: operation.request, to: everybody, target: nobody }, mac, address, address, vlan);
}

/** An answer to whoever asked. */
export function arpReply(mac: Uint8Array, address: number, asker: Arp, vlan: number | undefined): Uint8Array {
  const shape = { operation: operation.reply, to: asker.senderMac, target: asker.senderMac };
  return frameOf(shape, mac, address, asker.senderAddress, vlan);
}

interface Shape {
  readonly operation: number;
  readonly to: Uint8Array;
  readonly target: Uint8Array;
}

function frameOf(
  shape: Shape,
  mac: Uint8Array,
  senderAddress: number,
  targetAddress: number,
  vlan: number | undefined,
): Uint8Array {
  const at = ethernetBytes + (vlan === undefined ? 0 : tagBytes);
  const frame = new Uint8Array(at + packetBytes);
  frame.set(shape.to, 0);
  frame.set(mac, 6);
  if (vlan !== undefined) frame.set([etherType.tag >> 8, etherType.tag & 0xff, vlan >> 8, vlan], 12);
  frame.set([arpEtherType >> 8, arpEtherType & 0xff], at - 2);
  frame.set(kind, at);
  frame[at + 7] = shape.operation;
  frame.set(mac, at + 8);
  writeUint32(frame, at + 14, senderAddress);
  frame.set(shape.target, at + 18);
  writeUint32(frame, at + 24, targetAddress);
  return frame;
}

function uint32(bytes: Uint8Array, at: number): number {
  return ((bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!) >>> 0;
}

function writeUint32(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >>> 24;
  bytes[at + 1] = value >>> 16;
  bytes[at + 2] = value >>> 8;
  bytes[at + 3] = value;
}
