// A UDP datagram or an ICMPv6 message in its Ethernet frame, both ways: what a packet socket receives and sends.
import { uint16 } from "../../../frame/bytes.ts";
import { fold, sumWords } from "../../../frame/checksum.ts";
import {
  decodeEthernet,
  type Ethernet,
  ethernetBytes,
  etherType,
  tagBytes,
  writeEthernetBefore,
} from "../../../frame/ethernet.ts";
import { ipv6Bytes, type OutgoingIpv6, protocol, pseudoSum, writeIpv6 } from "../../../frame/ipv6.ts";
import { type Fault, fault } from "../../fault.ts";
import type { ReceiverOptions } from "../../frame/frame.ts";
import { decodeUdp, udpBytes, writeUdp } from "../../frame/udp.ts";
import { decodeIpv6, type Ipv6 } from "./ipv6.ts";

/** Addresses and payloads are views of the frame. */
export interface HeadersV6 {
  readonly ethernet: Ethernet;
  readonly source: Uint8Array;
  readonly destination: Uint8Array;
}

export interface DatagramFrame extends HeadersV6 {
  readonly kind: "datagram";
  readonly sourcePort: number;
  readonly destinationPort: number;
  readonly payload: Uint8Array;
}

export interface IcmpFrame extends HeadersV6 {
  readonly kind: "icmp";
  readonly hopLimit: number;
  /** From the type on, with the checksum, which is right. */
  readonly payload: Uint8Array;
}

/** Room for all headers: the payload of a datagram to be sent stands here in its buffer, so that nothing is copied. */
export const datagramAt = ethernetBytes + tagBytes + ipv6Bytes + udpBytes;
/** What every IPv6 link carries (RFC 8200 section 5). */
export const mtuMin = 1280;
/** What is sent at most: an Ethernet frame without fragments. */
export const mtuMax = 1500;
/** IPv6 and UDP headers. */
export const datagramHeadersBytes = ipv6Bytes + udpBytes;
/** A buffer for a frame with the largest payload. */
export const frameBufferBytesV6 = ethernetBytes + tagBytes + mtuMax;

const hopLimit = 64;
const icmpBytesMin = 4;

const faults = {
  tooShort: fault("frame-too-short", "The frame ends within its Ethernet header."),
  notIpv6: fault("not-ipv6", "The frame has no IPv6 packet."),
  protocol: fault("not-udp", "The packet is neither UDP nor ICMPv6, or has extension headers."),
  noChecksum: fault("bad-udp-checksum", "The datagram has no UDP checksum, which IPv6 must have."),
  icmp: fault("bad-icmp-checksum", "The ICMPv6 message is cut off, or its checksum is wrong."),
};

export function decodeFrameV6(
  bytes: Uint8Array,
  { acceptPartialChecksum }: ReceiverOptions,
): DatagramFrame | IcmpFrame | Fault {
  const ethernet = decodeEthernet(bytes);
  if (ethernet === undefined) return faults.tooShort;
  if (ethernet.etherType !== etherType.ipv6) return faults.notIpv6;
  const ip = decodeIpv6(bytes, ethernet.end);
  if ("kind" in ip) return ip;
  if (ip.protocol === protocol.icmp) return icmpOf(bytes, ethernet, ip);
  return ip.protocol === protocol.udp ? datagramOf(bytes, ethernet, ip, acceptPartialChecksum) : faults.protocol;
}

function icmpOf(bytes: Uint8Array, ethernet: Ethernet, ip: Ipv6): IcmpFrame | Fault {
  const length = ip.to - ip.from;
  if (length < icmpBytesMin || fold(sumWords(bytes, ip.from, ip.to, pseudoSum(ip) + length)) !== 0) return faults.icmp;
  const { source, destination } = ip;
  const payload = bytes.subarray(ip.from, ip.to);
  return { kind: "icmp", ethernet, source, destination, hopLimit: ip.hopLimit, payload };
}

/** A checksum of zero means none in IPv4; here such a datagram is discarded (RFC 8200 section 8.1). */
function datagramOf(bytes: Uint8Array, ethernet: Ethernet, ip: Ipv6, acceptPartial: boolean): DatagramFrame | Fault {
  const udp = decodeUdp(bytes, ip.from, ip.to, pseudoSum(ip), acceptPartial);
  if ("kind" in udp) return udp;
  if (uint16(bytes, ip.from + 6) === 0) return faults.noChecksum;
  const { source, destination } = ip;
  return { kind: "datagram", ethernet, source, destination, ...udp };
}

/** The payload stands at `datagramAt` of the buffer already. Returns the frame as a view of the buffer. */
export function encodeDatagram(
  headers: HeadersV6,
  ports: { readonly source: number; readonly destination: number },
  payloadBytes: number,
  buffer: Uint8Array,
): Uint8Array {
  const { ethernet, source, destination } = headers;
  const ip: OutgoingIpv6 = { source, destination, protocol: protocol.udp, hopLimit };
  const udpAt = datagramAt - udpBytes;
  const ipAt = udpAt - ipv6Bytes;
  writeUdp(buffer, udpAt, ports, payloadBytes, pseudoSum(ip));
  writeIpv6(buffer, ipAt, ip, udpBytes + payloadBytes);
  const start = writeEthernetBefore(buffer, ipAt, ethernet, etherType.ipv6);
  return buffer.subarray(start, datagramAt + payloadBytes);
}
