// IPv6 headers (RFC 8200 section 3). Extension headers are refused, fragments with them: no DHCP client sends them, and
// neighbour discovery must not (RFC 6980 section 5).
import { type Fault, fault } from "../../fault.ts";
import { sumWords } from "../../frame/checksum.ts";
import { addressBytes, putUint16, uint16 } from "../bytes.ts";

export const ipv6Bytes = 40;
export const protocol = { udp: 17, icmp: 58 } as const;

export interface Ipv6 {
  readonly source: Uint8Array;
  readonly destination: Uint8Array;
  readonly protocol: number;
  readonly hopLimit: number;
  /** Where the payload begins. */
  readonly from: number;
  /** Where it ends: a frame may be padded behind it. */
  readonly to: number;
}

export type OutgoingIpv6 = Pick<Ipv6, "source" | "destination" | "protocol" | "hopLimit">;

const sourceAt = 8;
const destinationAt = 24;

const badHeader = fault("bad-ip-header", "The IPv6 header is cut off, or says a length that is not there.");

/** The addresses are views. */
export function decodeIpv6(bytes: Uint8Array, at: number): Ipv6 | Fault {
  if (bytes.length < at + ipv6Bytes || bytes[at]! >> 4 !== 6) return badHeader;
  const from = at + ipv6Bytes;
  const to = from + uint16(bytes, at + 4);
  if (to > bytes.length) return badHeader;
  return {
    source: bytes.subarray(at + sourceAt, at + sourceAt + addressBytes),
    destination: bytes.subarray(at + destinationAt, from),
    protocol: bytes[at + 6]!,
    hopLimit: bytes[at + 7]!,
    from,
    to,
  };
}

/** No traffic class and no flow label. */
export function writeIpv6(into: Uint8Array, at: number, header: OutgoingIpv6, payloadBytes: number): void {
  into.fill(0, at, at + 4);
  into[at] = 0x60;
  putUint16(into, at + 4, payloadBytes);
  into[at + 6] = header.protocol;
  into[at + 7] = header.hopLimit;
  into.set(header.source, at + sourceAt);
  into.set(header.destination, at + destinationAt);
}

/** The pseudo header's part of a checksum (RFC 8200 section 8.1) without the length, which the caller adds. */
export function pseudoSum({ source, destination, protocol: number }: OutgoingIpv6): number {
  return sumWords(destination, 0, addressBytes, sumWords(source, 0, addressBytes, number));
}
