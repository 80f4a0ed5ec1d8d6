// DHCPv6 datagrams written and read byte by byte: the tests' packets do not go through the codec that they test.
import { parseAddress, type V6Address } from "../../../src/net/address.ts";
import { hex, toHex } from "../packet.ts";

export const ip6 = (text: string) => parseAddress(text) as V6Address;
/** The 16 bytes of an address, as hexadecimal text. */
export function ip6Hex(text: string): string {
  const { w0, w1, w2, w3 } = ip6(text);
  return [w0, w1, w2, w3].map((word) => word.toString(16).padStart(8, "0")).join("");
}
export const ip6Bytes = (text: string) => hex(ip6Hex(text));

const number = (value: number, bytes: number) => value.toString(16).padStart(2 * bytes, "0");

/** Code and data in hexadecimal; written in this order. */
export type OptionV6 = readonly [code: number, data: string];

function optionsHex(options: readonly OptionV6[]): string {
  return options.map(([code, data]) => number(code, 2) + number(data.length / 2, 2) + data).join("");
}

export const clientDuid = "0001000130000000020000000011";
const types = {
  SOLICIT: 1,
  ADVERTISE: 2,
  REQUEST: 3,
  CONFIRM: 4,
  RENEW: 5,
  REBIND: 6,
  REPLY: 7,
  RELEASE: 8,
  DECLINE: 9,
  RECONFIGURE: 10,
  "INFORMATION-REQUEST": 11,
  "RELAY-REPL": 13,
  LEASEQUERY: 14,
} as const;
export type TypeName = keyof typeof types;

export function message(type: TypeName | number, options: readonly OptionV6[], transactionId = 0xabc123): Uint8Array {
  const code = typeof type === "number" ? type : types[type];
  return hex(number(code, 1) + number(transactionId, 3) + optionsHex(options));
}

export const clientId: OptionV6 = [1, clientDuid];
export const rapidCommit: OptionV6 = [14, ""];
export const oro = (...codes: readonly number[]): OptionV6 => [6, codes.map((code) => number(code, 2)).join("")];

const lease = (address: string): OptionV6 => [5, ip6Hex(address) + number(0, 8)];
/** An IA_NA with addresses. */
export const na = (iaid: number, ...addresses: readonly string[]): OptionV6 => [
  3,
  number(iaid, 4) + number(0, 8) + optionsHex(addresses.map(lease)),
];
export const ta = (iaid: number, ...addresses: readonly string[]): OptionV6 => [
  4,
  number(iaid, 4) + optionsHex(addresses.map(lease)),
];
/** An IA_PD with prefixes of 56 bits. */
export const pd = (iaid: number, ...prefixes: readonly string[]): OptionV6 => [
  25,
  number(iaid, 4) +
    number(0, 8) +
    optionsHex(prefixes.map((prefix) => [26, number(0, 8) + number(56, 1) + ip6Hex(prefix)])),
];

export interface RelayFields {
  readonly hops?: number;
  readonly link?: string;
  readonly peer?: string;
  readonly options?: readonly OptionV6[];
}

/** A RELAY-FORW around a datagram. */
export function relayed(
  inner: Uint8Array,
  { hops = 0, link = "::", peer = "fe80::99", options = [] }: RelayFields,
): Uint8Array {
  return hex("0c" + number(hops, 1) + ip6Hex(link) + ip6Hex(peer) + optionsHex([...options, [9, toHex(inner)]]));
}

export interface UnpackedV6 {
  readonly type: number;
  readonly transactionId: number;
  readonly options: readonly OptionV6[];
}

/** Strict: throws for anything that a careful server does not send. */
export function unpackV6(bytes: Uint8Array): UnpackedV6 {
  if (bytes.length < 4) throw new Error("a message of less than four bytes");
  const text = toHex(bytes);
  return {
    type: bytes[0]!,
    transactionId: Number.parseInt(text.slice(2, 8), 16),
    options: unpackOptionsV6(text.slice(8)),
  };
}

export interface UnpackedRelay {
  readonly hops: number;
  readonly link: string;
  readonly peer: string;
  readonly options: readonly OptionV6[];
}

/** The RELAY-REPLs around a message, the outermost first, and the message. */
export function unpackRelays(bytes: Uint8Array): {
  readonly relays: readonly UnpackedRelay[];
  readonly inner: Uint8Array;
} {
  const relays: UnpackedRelay[] = [];
  let inner = bytes;
  while (inner[0] === 13) {
    const text = toHex(inner);
    const options = unpackOptionsV6(text.slice(68));
    relays.push({ hops: inner[1]!, link: text.slice(4, 36), peer: text.slice(36, 68), options });
    inner = hex(options.find(([code]) => code === 9)![1]);
  }
  return { relays, inner };
}

export function unpackOptionsV6(text: string): OptionV6[] {
  const options: OptionV6[] = [];
  for (let at = 0; at < text.length;) {
    if (at + 8 > text.length) throw new Error("half an option");
    const end = at + 8 + 2 * Number.parseInt(text.slice(at + 4, at + 8), 16);
    if (end > text.length) throw new Error("an option that is cut off");
    options.push([Number.parseInt(text.slice(at, at + 4), 16), text.slice(at + 8, end)]);
    at = end;
  }
  return options;
}
