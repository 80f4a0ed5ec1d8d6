// A DHCP message as one line for people: when, who to whom, what, and every option by its name. Pure.
import { decodeFrame } from "../../dhcp/frame/frame.ts";
import { decodeMessage, type Message } from "../../dhcp/message/decode.ts";
import { op } from "../../dhcp/message/header.ts";
import { messageTypeName } from "../../dhcp/message/message-type.ts";
import { optionEntry } from "../../dhcp/options/catalog.ts";
import { code } from "../../dhcp/options/codes.ts";
import { decodeOption } from "../../dhcp/options/convert.ts";
import type { OptionValue } from "../../dhcp/options/value.ts";
import { V4Address } from "../../net/address.ts";
import { frameHead, hex, type TracedMessage } from "./frame-head.ts";
import { describeFrameV6 } from "./message-line-v6.ts";

/** Undefined: the frame has no UDP datagram of DHCP's ports, and nothing of IPv6 that is shown. */
export function describeFrame(frame: Uint8Array, atMs: number): TracedMessage | undefined {
  const decoded = decodeFrame(frame, { acceptPartialChecksum: true });
  if (decoded.kind === "fault") return describeFrameV6(frame, atMs);
  const { ethernet, sourceAddress, destinationAddress, sourcePort, destinationPort, payload } = decoded;
  if (![67, 68].includes(destinationPort) && ![67, 68].includes(sourcePort)) return undefined;
  const way = `${new V4Address(sourceAddress)}:${sourcePort} > ${new V4Address(destinationAddress)}:${destinationPort}`;
  const head = `${frameHead(ethernet, atMs)} ${way}`;
  const message = decodeMessage(payload);
  if (message.kind === "fault") return { macs: [], line: `${head} malformed: ${message.message}` };
  return { macs: [hex(message.chaddr, ":")], line: `${head} ${describeMessage(message)}` };
}

function describeMessage(message: Message): string {
  const { type, options } = message;
  const name = type === undefined ? "BOOTP" : (messageTypeName(type) ?? `type ${type}`);
  const side = message.op === op.reply ? "reply" : "request";
  const addresses = (["ciaddr", "yiaddr", "siaddr", "giaddr"] as const)
    .filter((field) => message[field] !== 0)
    .map((field) => ` ${field} ${new V4Address(message[field])}`);
  const shown = options
    .codes()
    .filter((each) => each !== code.messageType)
    .map((each) => ` ${optionEntry(each).name}=${valueText(each, options.get(each)!)}`);
  const xid = message.xid.toString(16).padStart(8, "0");
  const flags = message.flags === 0 ? "" : ` flags ${message.flags.toString(16)}`;
  const chaddr = ` chaddr ${hex(message.chaddr, ":")}`;
  return `${name} (${side}) xid ${xid} secs ${message.secs}${flags}${chaddr}${addresses.join("")};${shown.join(",")}`;
}

function valueText(optionCode: number, bytes: Uint8Array): string {
  const value = decodeOption(optionCode, bytes);
  const name = optionEntry(optionCode).name === "unknown" ? `(${optionCode}) ` : "";
  return name + (value.kind === "fault" ? `${hex(bytes)} (${value.message})` : textOf(value));
}

function textOf(option: OptionValue): string {
  switch (option.kind) {
    case "address":
    case "uint8":
    case "uint16":
    case "uint32":
      return `${option.value}`;
    case "text":
      return JSON.stringify(option.value);
    case "addresses":
    case "domains":
    case "codes":
      return option.value.join(" ");
    case "routes":
      return option.value.map(({ destination, router }) => `${destination} via ${router}`).join(" ");
    case "client-identifier":
      return identifierText(option.value);
    case "relay-agent":
      return option.value.map(({ code: each, data }) => `${each}:${hex(data)}`).join(" ");
    case "bytes":
      return hex(option.value);
  }
}

function identifierText(identifier: Extract<OptionValue, { kind: "client-identifier" }>["value"]): string {
  if (identifier.kind === "hardware") return hex(identifier.address, ":");
  if (identifier.kind === "node") return `iaid ${identifier.iaid.toString(16)} duid ${hex(identifier.duid)}`;
  return hex(identifier.bytes);
}
