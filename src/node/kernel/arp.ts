// IPv4: ARP probes and what counts as a conflict (RFC 5227 section 2.1.1, on RFC 826 packets). A probe's sender is
// 0.0.0.0: no cache learns from it. The caller says how long: the RFC's 4 to 8 seconds would delay a pod's start.
import { arpProbe, decodeArp, operation } from "../../frame/arp.ts";
import { uint16 } from "../../frame/bytes.ts";
import { ethernetBytes, etherType } from "../../frame/ethernet.ts";
import type { V4Address } from "../../net/address.ts";
import { type Mac, macToBytes } from "../../net/mac.ts";
import { otherMac, type Protocol, type Question } from "./question.ts";

export const arp: Protocol<V4Address> = {
  etherType: etherType.arp,
  groups: () => [],
  frame: ({ address, mac }) => arpProbe(macToBytes(mac), address.value),
  conflict,
};

/** Any packet, request or reply, sent from the address; or another's probe for it. */
function conflict(bytes: Uint8Array, { address, mac }: Question<V4Address>): Mac | undefined {
  if (bytes.length < ethernetBytes || uint16(bytes, ethernetBytes - 2) !== etherType.arp) return undefined;
  const packet = decodeArp(bytes, ethernetBytes);
  if (packet === undefined) return undefined;
  const isRequest = packet.operation === operation.request;
  if (!isRequest && packet.operation !== operation.reply) return undefined;
  const probes = isRequest && packet.senderAddress === 0 && packet.targetAddress === address.value;
  return packet.senderAddress === address.value || probes ? otherMac(packet.senderMac, 0, mac) : undefined;
}
