// ICMP echo (RFC 792, page 14): the answer to a ping of an address that this wire answers for.
import { uint32 } from "../../frame/bytes.ts";
import { fold, sumWords } from "../../frame/checksum.ts";
import { ethernetBytes, etherType, tagBytes } from "../../frame/ethernet.ts";
import { ipv4Bytes } from "../frame/ipv4.ts";

const icmpProtocol = 1;
const echoRequest = 8;
const icmpBytesMin = 8;

/** Where an echo request is for; undefined for what is none, or is damaged. `at` is where the IPv4 packet begins. */
export function echoTarget(frame: Uint8Array, at: number): number | undefined {
  const packet = packetOf(frame, at);
  return packet === undefined ? undefined : uint32(frame, at + 16);
}

/** The whole answer, made anew; its IPv4 header has no options. `echoTarget` has said that it is a request. */
export function echoReply(frame: Uint8Array, at: number, mac: Uint8Array, vlan: number | undefined): Uint8Array {
  const { from, to } = packetOf(frame, at)!;
  const start = ethernetBytes + (vlan === undefined ? 0 : tagBytes);
  const reply = new Uint8Array(start + ipv4Bytes + to - from);
  reply.set(frame.subarray(6, 12), 0);
  reply.set(mac, 6);
  if (vlan !== undefined) reply.set([etherType.tag >> 8, etherType.tag & 0xff, vlan >> 8, vlan], 12);
  reply.set([etherType.ipv4 >> 8, etherType.ipv4 & 0xff], start - 2);
  const bytes = ipv4Bytes + to - from;
  reply.set([0x45, 0, bytes >> 8, bytes & 0xff, 0, 0, 0x40, 0, 64, icmpProtocol], start);
  reply.set(frame.subarray(at + 16, at + 20), start + 12);
  reply.set(frame.subarray(at + 12, at + 16), start + 16);
  writeSum(reply, start, start + ipv4Bytes, start + 10);
  const icmp = start + ipv4Bytes;
  reply.set(frame.subarray(from, to), icmp);
  reply.set([0, 0, 0, 0], icmp);
  writeSum(reply, icmp, reply.length, icmp + 2);
  return reply;
}

/** Where the ICMP message is. Its own checksum is the sender's to get right: it is made anew. */
function packetOf(frame: Uint8Array, at: number): { from: number; to: number } | undefined {
  if (frame.length < at + ipv4Bytes || frame[at]! >> 4 !== 4 || frame[at + 9] !== icmpProtocol) return undefined;
  const from = at + 4 * (frame[at]! & 0x0f);
  const to = at + ((frame[at + 2]! << 8) | frame[at + 3]!);
  if (from < at + ipv4Bytes || to > frame.length || to - from < icmpBytesMin) return undefined;
  const isFragment = (((frame[at + 6]! << 8) | frame[at + 7]!) & 0x3fff) !== 0;
  const isWhole = fold(sumWords(frame, at, from, 0)) === 0;
  return !isFragment && isWhole && frame[from] === echoRequest && frame[from + 1] === 0 ? { from, to } : undefined;
}

function writeSum(bytes: Uint8Array, from: number, to: number, at: number): void {
  const sum = fold(sumWords(bytes, from, to, 0));
  bytes[at] = sum >> 8;
  bytes[at + 1] = sum;
}
