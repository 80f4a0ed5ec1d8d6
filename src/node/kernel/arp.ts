// IPv4: ARP probes and what counts as a conflict (RFC 5227 section 2.1.1, on RFC 826 packets). A probe's sender is
// 0.0.0.0: no cache learns from it. The caller says how long: the RFC's 4 to 8 seconds would delay a pod's start.
import type { V4Address } from "../../net/address.ts";
import { type Mac, macToBytes } from "../../net/mac.ts";
import { addressBytes, bytesAt, ethernetHeader, otherMac, type Protocol, type Question } from "./question.ts";

const etherType = 0x0806;
const broadcast = new Uint8Array(6).fill(255);
/** Ethernet and IPv4 with their lengths: the begin of every ARP packet between them. */
const kind = Uint8Array.of(0, 1, 8, 0, 6, 4);
const nobody = new Uint8Array(4);
const request = 1;
const reply = 2;

const at = { kind: 14, operation: 20, senderMac: 22, senderAddress: 28, targetAddress: 38, end: 42 } as const;

export const arp: Protocol<V4Address> = { etherType, groups: () => [], frame, conflict };

function frame({ address, mac }: Question<V4Address>): Uint8Array {
  const bytes = new Uint8Array(at.end);
  ethernetHeader(bytes, broadcast, macToBytes(mac), etherType);
  bytes.set(kind, at.kind);
  bytes.set([0, request], at.operation);
  bytes.set(macToBytes(mac), at.senderMac);
  bytes.set(addressBytes(address), at.targetAddress);
  return bytes;
}

/** Any packet, request or reply, sent from the address; or another's probe for it. */
function conflict(bytes: Uint8Array, { address, mac }: Question<V4Address>): Mac | undefined {
  if (bytes.length < at.end || !bytesAt(bytes, 12, Uint8Array.of(8, 6)) || !bytesAt(bytes, at.kind, kind))
    return undefined;
  const operation = (bytes[at.operation] ?? 0) * 256 + (bytes[at.operation + 1] ?? 0);
  if (operation !== request && operation !== reply) return undefined;
  const wanted = addressBytes(address);
  const has = bytesAt(bytes, at.senderAddress, wanted);
  const probes =
    operation === request && bytesAt(bytes, at.senderAddress, nobody) && bytesAt(bytes, at.targetAddress, wanted);
  return has || probes ? otherMac(bytes, at.senderMac, mac) : undefined;
}
