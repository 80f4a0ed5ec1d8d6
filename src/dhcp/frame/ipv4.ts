// IPv4 headers (RFC 791 section 3.1). Received options are skipped; fragments are refused: none are reassembled here.
import { uint16 } from "../../frame/bytes.ts";
import { fold, sumWords } from "../../frame/checksum.ts";
import { type Fault, fault } from "../fault.ts";

export const ipv4Bytes = 20;
export const udpProtocol = 17;

export interface Ipv4 {
  readonly source: number;
  readonly destination: number;
  /** Where the payload begins. */
  readonly from: number;
  /** Where it ends: a frame may be padded behind it. */
  readonly to: number;
}

const timeToLive = 64;
const dontFragment = 0x40;
/** Of the bytes that hold flags and offset, all but "don't fragment" and the reserved bit. */
const fragmentMask = 0x3fff;

const faults = {
  header: fault("bad-ip-header", "The IPv4 header is cut off, or says lengths that are not there."),
  checksum: fault("bad-ip-checksum", "The checksum of the IPv4 header is wrong."),
  fragment: fault("fragment", "The packet is a fragment."),
  protocol: fault("not-udp", "The packet is not UDP."),
};

export function decodeIpv4(bytes: Uint8Array, at: number): Ipv4 | Fault {
  if (bytes.length < at + ipv4Bytes || bytes[at]! >> 4 !== 4) return faults.header;
  const headerBytes = 4 * (bytes[at]! & 0x0f);
  const totalBytes = uint16(bytes, at + 2);
  if (headerBytes < ipv4Bytes || totalBytes < headerBytes || at + totalBytes > bytes.length) return faults.header;
  if (fold(sumWords(bytes, at, at + headerBytes, 0)) !== 0) return faults.checksum;
  if ((uint16(bytes, at + 6) & fragmentMask) !== 0) return faults.fragment;
  if (bytes[at + 9] !== udpProtocol) return faults.protocol;
  return {
    source: uint16(bytes, at + 12) * 0x1_0000 + uint16(bytes, at + 14),
    destination: uint16(bytes, at + 16) * 0x1_0000 + uint16(bytes, at + 18),
    from: at + headerBytes,
    to: at + totalBytes,
  };
}

/** Writes a header of 20 bytes, not to be fragmented: its identification means nothing (RFC 6864 section 4.1). */
export function writeIpv4(into: Uint8Array, at: number, source: number, destination: number, payload: number): void {
  const total = ipv4Bytes + payload;
  into[at] = 0x45;
  into[at + 1] = 0;
  into[at + 2] = total >> 8;
  into[at + 3] = total;
  into[at + 4] = 0;
  into[at + 5] = 0;
  into[at + 6] = dontFragment;
  into[at + 7] = 0;
  into[at + 8] = timeToLive;
  into[at + 9] = udpProtocol;
  into[at + 10] = 0;
  into[at + 11] = 0;
  for (let i = 0; i < 4; i++) {
    into[at + 12 + i] = source >>> (24 - 8 * i);
    into[at + 16 + i] = destination >>> (24 - 8 * i);
  }
  const checksum = fold(sumWords(into, at, at + ipv4Bytes, 0));
  into[at + 10] = checksum >> 8;
  into[at + 11] = checksum;
}
