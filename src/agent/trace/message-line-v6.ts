// A DHCPv6 message, or one of neighbour discovery, as one line for people: when, who to whom, what, and every option by
// its name. Pure.
import { addressFrom } from "../../dhcp/v6/bytes.ts";
import { type DatagramFrame, decodeFrameV6, type IcmpFrame } from "../../dhcp/v6/frame/frame.ts";
import { decodeEnvelope } from "../../dhcp/v6/message/decode.ts";
import { messageTypeNameV6, messageTypeV6 } from "../../dhcp/v6/message/message-type.ts";
import { OptionListV6 } from "../../dhcp/v6/message/option-list.ts";
import { macOfClient } from "../../dhcp/v6/server/client.ts";
import { portV6 } from "../../dhcp/v6/server/reply.ts";
import { uint16 } from "../../frame/bytes.ts";
import { frameHead, hex, type TracedMessage } from "./frame-head.ts";
import { optionText } from "./option-text-v6.ts";

const dhcpPorts: readonly number[] = Object.values(portV6);
/** Router solicitation and advertisement, neighbour solicitation and advertisement (RFC 4861 section 4). */
const icmpOptionsAt = new Map([
  [133, 8],
  [134, 16],
  [135, 24],
  [136, 24],
]);
const relayHeadBytes = 34;
const messageHeadBytes = 4;
/** As many as a message may have come through, and more than any has. */
const relaysMax = 16;

/** Undefined: the frame has neither a datagram of DHCPv6's ports nor such a message of ICMPv6. */
export function describeFrameV6(frame: Uint8Array, atMs: number): TracedMessage | undefined {
  const decoded = decodeFrameV6(frame, { acceptPartialChecksum: true });
  if (decoded.kind === "fault") return undefined;
  if (decoded.kind === "datagram") return describeDatagram(decoded, atMs);
  const optionsAt = icmpOptionsAt.get(decoded.payload[0]!);
  return optionsAt === undefined ? undefined : describeIcmp(decoded, optionsAt, atMs);
}

function describeDatagram(frame: DatagramFrame, atMs: number): TracedMessage | undefined {
  const { ethernet, source, destination, sourcePort, destinationPort, payload } = frame;
  if (!dhcpPorts.includes(sourcePort) && !dhcpPorts.includes(destinationPort)) return undefined;
  const way = `[${addressFrom(source)}]:${sourcePort} > [${addressFrom(destination)}]:${destinationPort}`;
  const head = `${frameHead(ethernet, atMs)} ${way}`;
  const ends = [hex(ethernet.source, ":"), hex(ethernet.destination, ":")];
  const envelope = decodeEnvelope(payload);
  if (envelope.kind === "fault") return { macs: ends, line: `${head} malformed: ${envelope.message}` };
  const relayed = macOfRelayed(payload);
  return { macs: relayed === undefined ? ends : [...ends, relayed], line: `${head} ${describeMessage(payload)}` };
}

/** The client's, where a relay says it. */
function macOfRelayed(payload: Uint8Array): string | undefined {
  const envelope = decodeEnvelope(payload);
  if (envelope.kind === "fault" || envelope.relays.length === 0) return undefined;
  const mac = macOfClient(envelope, { sourceMac: undefined, sourceAddress: envelope.relays[0]!.peerAddress });
  return mac === undefined ? undefined : hex(mac, ":");
}

/** `RELAY-FORW hops 0 link fd00:: peer fe80::1; interface id=01 (SOLICIT xid abc123; ...)`. */
function describeMessage(bytes: Uint8Array, depth = 0): string {
  const type = bytes[0]!;
  const name = messageTypeNameV6(type) ?? `type ${type}`;
  const isRelay = type === messageTypeV6.relayForward || type === messageTypeV6.relayReply;
  const options = OptionListV6.scan(bytes, isRelay ? relayHeadBytes : messageHeadBytes);
  if (options === undefined || depth > relaysMax) return `${name} malformed`;
  const head = isRelay
    ? `${name} hops ${bytes[1]} link ${addressFrom(bytes, 2)} peer ${addressFrom(bytes, 18)}`
    : `${name} xid ${hex(bytes.subarray(1, 4))}`;
  const inner = isRelay ? options.get(9) : undefined;
  const shown = Array.from(options.all(), ([code, data]) => [code, data] as const)
    .filter(([code]) => inner === undefined || code !== 9)
    .map(([code, data]) => optionText(code, data));
  const rest = inner === undefined ? "" : ` (${inner.length === 0 ? "nothing" : describeMessage(inner, depth + 1)})`;
  return `${head}${shown.length === 0 ? "" : `; ${shown.join(", ")}`}${rest}`;
}

function describeIcmp({ ethernet, source, destination, payload }: IcmpFrame, at: number, atMs: number): TracedMessage {
  const head = `${frameHead(ethernet, atMs)} ${addressFrom(source)} > ${addressFrom(destination)}`;
  const macs = [hex(ethernet.source, ":"), hex(ethernet.destination, ":")];
  if (payload.length < at) return { macs, line: `${head} malformed: ICMPv6 type ${payload[0]} is cut off.` };
  const options = icmpOptions(payload, at).map((each) => `, ${each}`);
  return { macs, line: `${head} ${icmpText(payload)}${options.join("")}` };
}

function icmpText(payload: Uint8Array): string {
  const type = payload[0]!;
  if (type === 133) return "ROUTER SOLICITATION";
  if (type === 134) {
    const flags = `${payload[5]! & 0x80 ? " M" : ""}${payload[5]! & 0x40 ? " O" : ""}`;
    return `ROUTER ADVERTISEMENT lifetime ${uint16(payload, 6)}${flags}`;
  }
  const target = addressFrom(payload, 8);
  if (type === 135) return `NEIGHBOR SOLICITATION for ${target}`;
  return `NEIGHBOR ADVERTISEMENT of ${target}${payload[4]! & 0x40 ? " solicited" : ""}`;
}

/** RFC 4861 section 4.6, RFC 8106 section 5. */
function icmpOptions(payload: Uint8Array, from: number): string[] {
  const texts: string[] = [];
  for (let at = from; at < payload.length;) {
    const bytes = 8 * (payload[at + 1] ?? 0);
    if (bytes === 0 || at + bytes > payload.length) return [...texts, "malformed option"];
    texts.push(icmpOption(payload.subarray(at, at + bytes)));
    at += bytes;
  }
  return texts;
}

function icmpOption(option: Uint8Array): string {
  const type = option[0]!;
  if (type === 1 || type === 2) return `${type === 1 ? "source" : "target"} MAC=${hex(option.subarray(2, 8), ":")}`;
  if (type === 3 && option.length === 32) {
    const flags = `${option[3]! & 0x80 ? " L" : ""}${option[3]! & 0x40 ? " A" : ""}`;
    return `prefix=${addressFrom(option, 16)}/${option[2]}${flags}`;
  }
  if (type === 5) return `MTU=${((option[4]! << 24) | (option[5]! << 16) | uint16(option, 6)) >>> 0}`;
  if (type === 25) return optionText(23, option.subarray(8));
  if (type === 31) return optionText(24, withoutPadding(option.subarray(8)));
  return `(${type})=${hex(option.subarray(2))}`;
}

/** Names end with one empty label; more of them are padding. */
function withoutPadding(names: Uint8Array): Uint8Array {
  let end = names.length;
  while (end > 1 && names[end - 1] === 0 && names[end - 2] === 0) end -= 1;
  return names.subarray(0, end);
}
