// ARP for IPv4 on Ethernet (RFC 826), with the probes and announcements of RFC 5227. Frames are made whole.
import { putUint16, putUint32, uint16, uint32 } from "./bytes.ts";
import { type Ethernet, ethernetBytes, etherType, tagBytes, writeEthernetBefore } from "./ethernet.ts";

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
    operation: uint16(frame, at + 6),
    senderMac: frame.subarray(at + 8, at + 14),
    senderAddress: uint32(frame, at + 14),
    targetAddress: uint32(frame, at + 24),
  };
}

/** "Who has it?", from nobody: no cache learns from it (RFC 5227 section 2.1.1). */
export function arpProbe(mac: Uint8Array, address: number, vlan?: number): Uint8Array {
  return frameOf(operation.request, macsOf(everybody, mac, vlan), { mac, address: 0 }, { mac: nobody, address });
}

/** "I have it": every cache that has the address learns the MAC (RFC 5227 section 2.3). */
export function arpAnnouncement(mac: Uint8Array, address: number, vlan?: number): Uint8Array {
  return frameOf(operation.request, macsOf(everybody, mac, vlan), { mac, address }, { mac: nobody, address });
}

/** An answer to whoever asked. */
export function arpReply(mac: Uint8Array, address: number, asker: Arp, vlan?: number): Uint8Array {
  const target = { mac: asker.senderMac, address: asker.senderAddress };
  return frameOf(operation.reply, macsOf(asker.senderMac, mac, vlan), { mac, address }, target);
}

/**
 * "It has it", of another: sender and target address are the same, which makes it gratuitous. As a request and as a
 * reply, since some stacks learn from one and some from the other. `to` undefined: everybody. `from`: our own MAC.
 */
export function gratuitousArps(
  mac: Uint8Array,
  address: number,
  from: Uint8Array,
  to: Uint8Array = everybody,
): Uint8Array[] {
  const macs = macsOf(to, from, undefined);
  return [
    frameOf(operation.request, macs, { mac, address }, { mac: nobody, address }),
    frameOf(operation.reply, macs, { mac, address }, { mac: to, address }),
  ];
}

interface End {
  readonly mac: Uint8Array;
  readonly address: number;
}

function macsOf(destination: Uint8Array, source: Uint8Array, vlan: number | undefined): Ethernet {
  return vlan === undefined ? { destination, source } : { destination, source, vlan };
}

function frameOf(what: number, ethernet: Ethernet, sender: End, target: End): Uint8Array {
  const at = ethernetBytes + (ethernet.vlan === undefined ? 0 : tagBytes);
  const frame = new Uint8Array(at + packetBytes);
  writeEthernetBefore(frame, at, ethernet, etherType.arp);
  frame.set(kind, at);
  putUint16(frame, at + 6, what);
  frame.set(sender.mac, at + 8);
  putUint32(frame, at + 14, sender.address);
  frame.set(target.mac, at + 18);
  putUint32(frame, at + 24, target.address);
  return frame;
}
