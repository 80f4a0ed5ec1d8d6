// A UDP datagram in its Ethernet frame, both ways: what a packet socket receives and sends.
import {
  decodeEthernet,
  type Ethernet,
  ethernetBytes,
  etherType,
  tagBytes,
  writeEthernetBefore,
} from "../../frame/ethernet.ts";
import { type Fault, fault } from "../fault.ts";
import { decodeIpv4, ipv4Bytes, writeIpv4 } from "./ipv4.ts";
import { decodeUdp, pseudoSum, type Udp, udpBytes, writeUdp } from "./udp.ts";

export interface FrameHeaders {
  readonly ethernet: Ethernet;
  readonly sourceAddress: number;
  readonly destinationAddress: number;
  readonly sourcePort: number;
  readonly destinationPort: number;
}

export interface Frame extends FrameHeaders {
  readonly kind: "frame";
  /** A view of the frame. */
  readonly payload: Udp["payload"];
}

/** Room for all headers: the payload of a frame to be sent stands here in its buffer, so that nothing is copied. */
export const payloadAt = ethernetBytes + tagBytes + ipv4Bytes + udpBytes;
/** A buffer for `encodeFrame`: the headers, and the largest message (1,500 - 28 bytes). */
export const frameBufferBytes = payloadAt + 1472;

const tooShort = fault("frame-too-short", "The frame ends within its Ethernet header.");
const notIpv4 = fault("not-ipv4", "The frame has no IPv4 packet.");

export interface ReceiverOptions {
  /** The kernel says this frame's checksum is not ready (PACKET_AUXDATA, TP_STATUS_CSUMNOTREADY), or nobody can say. */
  readonly acceptPartialChecksum: boolean;
}

export function decodeFrame(bytes: Uint8Array, { acceptPartialChecksum }: ReceiverOptions): Frame | Fault {
  const ethernet = decodeEthernet(bytes);
  if (ethernet === undefined) return tooShort;
  if (ethernet.etherType !== etherType.ipv4) return notIpv4;
  const ip = decodeIpv4(bytes, ethernet.end);
  if ("kind" in ip) return ip;
  const udp = decodeUdp(bytes, ip.from, ip.to, pseudoSum(ip.source, ip.destination), acceptPartialChecksum);
  if ("kind" in udp) return udp;
  return {
    kind: "frame",
    ethernet,
    sourceAddress: ip.source,
    destinationAddress: ip.destination,
    sourcePort: udp.sourcePort,
    destinationPort: udp.destinationPort,
    payload: udp.payload,
  };
}

/** The payload stands at `payloadAt` of the buffer already. Returns the frame as a view of the buffer. */
export function encodeFrame(headers: FrameHeaders, payloadBytes: number, buffer: Uint8Array): Uint8Array {
  const { ethernet, sourceAddress, destinationAddress, sourcePort, destinationPort } = headers;
  const udpAt = payloadAt - udpBytes;
  const ipAt = udpAt - ipv4Bytes;
  const pseudo = pseudoSum(sourceAddress, destinationAddress);
  writeUdp(buffer, udpAt, { source: sourcePort, destination: destinationPort }, payloadBytes, pseudo);
  writeIpv4(buffer, ipAt, sourceAddress, destinationAddress, udpBytes + payloadBytes);
  const start = writeEthernetBefore(buffer, ipAt, ethernet);
  return buffer.subarray(start, payloadAt + payloadBytes);
}
