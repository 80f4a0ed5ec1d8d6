// UDP headers (RFC 768), with the checksum over the pseudo header of IPv4.
import { uint16 } from "../../frame/bytes.ts";
import { fold, sumWords } from "../../frame/checksum.ts";
import { type Fault, fault } from "../fault.ts";
import { udpProtocol } from "./ipv4.ts";

export const udpBytes = 8;

export interface Udp {
  readonly sourcePort: number;
  readonly destinationPort: number;
  readonly payload: Uint8Array;
}

const faults = {
  length: fault("bad-udp-length", "The UDP header is cut off, or says a length that is not there."),
  checksum: fault("bad-udp-checksum", "The UDP checksum is wrong."),
};

/**
 * `from` and `to` are the datagram's. A checksum of zero means none. `acceptPartial` is for a sender on this machine
 * that leaves checksums to a network card that is not there: the field then has the sum of the pseudo header alone.
 */
export function decodeUdp(
  bytes: Uint8Array,
  from: number,
  to: number,
  pseudo: number,
  acceptPartial: boolean,
): Udp | Fault {
  if (to - from < udpBytes) return faults.length;
  const length = uint16(bytes, from + 4);
  if (length < udpBytes || from + length > to) return faults.length;
  const isChecked = uint16(bytes, from + 6) !== 0 && !acceptPartial;
  if (isChecked && fold(sumWords(bytes, from, from + length, pseudo + length)) !== 0) return faults.checksum;
  return {
    sourcePort: uint16(bytes, from),
    destinationPort: uint16(bytes, from + 2),
    payload: bytes.subarray(from + udpBytes, from + length),
  };
}

/** The payload stands behind the header already. */
export function writeUdp(
  into: Uint8Array,
  at: number,
  ports: { readonly source: number; readonly destination: number },
  payloadBytes: number,
  pseudo: number,
): void {
  const length = udpBytes + payloadBytes;
  into[at] = ports.source >> 8;
  into[at + 1] = ports.source;
  into[at + 2] = ports.destination >> 8;
  into[at + 3] = ports.destination;
  into[at + 4] = length >> 8;
  into[at + 5] = length;
  into[at + 6] = 0;
  into[at + 7] = 0;
  // A sum that comes out as zero is sent as its other zero, since zero means "none".
  const checksum = fold(sumWords(into, at, at + length, pseudo + length)) || 0xffff;
  into[at + 6] = checksum >> 8;
  into[at + 7] = checksum;
}

/** The part of the sum that is not in the datagram: both addresses and the protocol. The caller adds the length. */
export function pseudoSum(source: number, destination: number): number {
  return (source >>> 16) + (source & 0xffff) + (destination >>> 16) + (destination & 0xffff) + udpProtocol;
}
