// An announcement as frames: gratuitous ARP (RFC 5227 section 3), as a request and as a reply, since some stacks learn
// from one and some from the other; unsolicited neighbour advertisement (RFC 4861 sections 4.4 and 7.2.6). Pure.
import { type Address, mapped, type V4Address, type V6Address } from "../../net/address.ts";
import { type Mac, macToBytes } from "../../net/mac.ts";
import type { Announcement } from "./announcements.ts";

const etherType = { arp: 0x0806, ipv6: 0x86dd } as const;
const operation = { request: 1, reply: 2 } as const;
/** Ethernet and IPv4, with their lengths. */
const arpKind = [0, 1, 8, 0, 6, 4] as const;
const everybody = new Uint8Array(6).fill(0xff);
const nobody = new Uint8Array(6);
const icmp = 58;
const advertisement = 136;
/** It takes the place of what is known. Not solicited, and no router speaks of itself. */
const override = 0x20;
const targetLinkLayer = 2;
/** All nodes of the link: ff02::1 and its MAC. */
const allNodes = Uint8Array.from([0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
const allNodesMac = Uint8Array.from([0x33, 0x33, 0, 0, 0, 1]);

/** Whole frames without a tag. `sender`: the MAC of the interface that they leave by. */
export function framesOf({ address, mac, to }: Announcement, sender: Mac): readonly Uint8Array[] {
  if (address.family === 6) return [advertise(address, mac, to, sender)];
  return [operation.request, operation.reply].map((each) => arp(each, address, mac, to?.mac, sender));
}

/** Sender and target address are the same: that makes it gratuitous, and beats the kernel's lock on a fresh entry. */
function arp(op: number, { value }: V4Address, mac: Mac, to: Mac | undefined, sender: Mac): Uint8Array {
  const destination = to === undefined ? everybody : macToBytes(to);
  const octets = [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255];
  const target = op === operation.reply ? destination : nobody;
  const packet = [...arpKind, 0, op, ...macToBytes(mac), ...octets, ...target, ...octets];
  return ethernet(destination, sender, etherType.arp, packet);
}

/** From the address itself, with the hop limit without which it is thrown away (section 7.1.2). */
function advertise(address: V6Address, mac: Mac, to: Announcement["to"], sender: Mac): Uint8Array {
  const source = bytesOf(address);
  const destination = to === undefined ? allNodes : bytesOf(to.address);
  const message = [advertisement, 0, 0, 0, override, 0, 0, 0, ...source, targetLinkLayer, 1, ...macToBytes(mac)];
  const sum = checksum([...source, ...destination, 0, 0, 0, message.length, 0, 0, 0, icmp, ...message]);
  message[2] = sum >> 8;
  message[3] = sum & 255;
  const header = [0x60, 0, 0, 0, 0, message.length, icmp, 255, ...source, ...destination];
  const at = to === undefined ? allNodesMac : macToBytes(to.mac);
  return ethernet(at, sender, etherType.ipv6, [...header, ...message]);
}

function ethernet(to: Uint8Array, from: Mac, type: number, packet: readonly number[]): Uint8Array {
  return Uint8Array.from([...to, ...macToBytes(from), type >> 8, type & 255, ...packet]);
}

function bytesOf(address: Address): Uint8Array {
  const { w0, w1, w2, w3 } = mapped(address);
  return Uint8Array.from([w0, w1, w2, w3].flatMap((word) => [word >>> 24, word >>> 16, word >>> 8, word]));
}

/** RFC 1071, of an even number of bytes: 86 here, far below where the sum would leave 32 bits. */
function checksum(bytes: readonly number[]): number {
  let sum = 0;
  for (let at = 0; at < bytes.length; at += 2) sum += (bytes[at]! << 8) | bytes[at + 1]!;
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
}
