// Multicast listener reports (MLDv2, RFC 3810 section 5.2): which groups the interface takes. A switch or a bridge that
// snoops forwards a group only to ports that it has heard one from, and the kernel says nothing for a packet socket.
//
// Unasked, and again within the time after which a listener is forgotten: so no query has to be heard.
import { putUint16 } from "../../../frame/bytes.ts";
import { fold, sumWords } from "../../../frame/checksum.ts";
import { ethernetBytes, etherType } from "../../../frame/ethernet.ts";
import { ipv6Bytes, protocol, pseudoSum, writeIpv6 } from "../../../frame/ipv6.ts";
import { multicastMac } from "../../../frame/multicast.ts";
import { addressBytes } from "../bytes.ts";

/** Section 9.4: two queries, 125 s apart, and ten seconds. */
export const listenerReportEveryMs = 60_000;

const reportType = 143;
/** MODE_IS_EXCLUDE of no sources: all of the group. */
const isExclude = 2;
const recordBytes = 4 + addressBytes;
const headBytes = 8;
/** ff02::16: all routers that know MLDv2. */
const reportsTo = Uint8Array.from([0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x16]);
/** Hop-by-hop options: ICMPv6 follows, eight bytes; a router looks at it (RFC 2711), and two bytes of padding. */
const hopByHop = [protocol.icmp, 0, 5, 2, 0, 0, 1, 0] as const;
const hopByHopProtocol = 0;

/** A whole frame without a tag. `source`: the link-local address of the interface, whose MAC is `mac`. */
export function listenerReport(groups: readonly Uint8Array[], source: Uint8Array, mac: Uint8Array): Uint8Array {
  const message = new Uint8Array(headBytes + recordBytes * groups.length);
  message[0] = reportType;
  putUint16(message, 6, groups.length);
  for (const [index, group] of groups.entries()) {
    message[headBytes + recordBytes * index] = isExclude;
    message.set(group, headBytes + recordBytes * index + 4);
  }
  const ends = { source, destination: reportsTo, hopLimit: 1 };
  const sum = pseudoSum({ ...ends, protocol: protocol.icmp }) + message.length;
  putUint16(message, 2, fold(sumWords(message, 0, message.length, sum)));
  const frame = new Uint8Array(ethernetBytes + ipv6Bytes + hopByHop.length + message.length);
  frame.set(multicastMac(reportsTo), 0);
  frame.set(mac, 6);
  putUint16(frame, 12, etherType.ipv6);
  writeIpv6(frame, ethernetBytes, { ...ends, protocol: hopByHopProtocol }, hopByHop.length + message.length);
  frame.set(hopByHop, ethernetBytes + ipv6Bytes);
  frame.set(message, ethernetBytes + ipv6Bytes + hopByHop.length);
  return frame;
}
