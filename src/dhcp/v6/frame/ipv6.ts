// Received IPv6 headers (RFC 8200 section 3). Extension headers are refused, fragments with them: no DHCP client sends
// them, and neighbour discovery must not (RFC 6980 section 5).
import { uint16 } from "../../../frame/bytes.ts";
import { ipv6Bytes, type OutgoingIpv6 } from "../../../frame/ipv6.ts";
import { type Fault, fault } from "../../fault.ts";
import { addressBytes } from "../bytes.ts";

export interface Ipv6 extends OutgoingIpv6 {
  /** Where the payload begins. */
  readonly from: number;
  /** Where it ends: a frame may be padded behind it. */
  readonly to: number;
}

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
