// IPv6 headers to be sent (RFC 8200 section 3), and what of one counts in the checksums of what it carries.
import { putUint16 } from "./bytes.ts";
import { sumWords } from "./checksum.ts";

export const ipv6Bytes = 40;
export const protocol = { udp: 17, icmp: 58 } as const;
const addressBytes = 16;

/** Addresses have 16 bytes. */
export interface OutgoingIpv6 {
  readonly source: Uint8Array;
  readonly destination: Uint8Array;
  readonly protocol: number;
  readonly hopLimit: number;
}

/** No traffic class and no flow label. */
export function writeIpv6(into: Uint8Array, at: number, header: OutgoingIpv6, payloadBytes: number): void {
  into.fill(0, at, at + 4);
  into[at] = 0x60;
  putUint16(into, at + 4, payloadBytes);
  into[at + 6] = header.protocol;
  into[at + 7] = header.hopLimit;
  into.set(header.source, at + 8);
  into.set(header.destination, at + 24);
}

/** The pseudo header's part of a checksum (RFC 8200 section 8.1) without the length, which the caller adds. */
export function pseudoSum({ source, destination, protocol: number }: Omit<OutgoingIpv6, "hopLimit">): number {
  return sumWords(destination, 0, addressBytes, sumWords(source, 0, addressBytes, number));
}
