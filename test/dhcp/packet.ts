// Datagrams written and read byte by byte: the tests' packets do not go through the codec that they test.
import { parseAddress, V4Address } from "../../src/net/address.ts";
import { type Mac, macToBytes, parseMac } from "../../src/net/mac.ts";

export const hex = (text: string) => Uint8Array.from(Buffer.from(text.replaceAll(/\s/g, ""), "hex"));
export const toHex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");
export const ip = (text: string) => parseAddress(text) as V4Address;
/** The four bytes of an address, as hexadecimal text. */
export const ipHex = (text: string) => ip(text).value.toString(16).padStart(8, "0");

/** Key: the option's code; value: its data in hexadecimal. Sent in the order of their codes. */
export type Options = Readonly<Record<number, string>>;

export interface Packet {
  readonly op?: number;
  readonly htype?: number;
  readonly hlen?: number;
  readonly hops?: number;
  readonly xid?: number;
  readonly secs?: number;
  readonly flags?: number;
  readonly ciaddr?: string;
  readonly yiaddr?: string;
  readonly siaddr?: string;
  readonly giaddr?: string;
  readonly mac?: Mac;
  readonly sname?: Uint8Array;
  readonly file?: Uint8Array;
  /** Pairs, where the order matters or a code comes twice. */
  readonly options?: Options | readonly (readonly [number, string])[];
  /** Instead of END and nothing. */
  readonly tail?: string;
}

export const clientMac = parseMac("02:00:00:00:00:11");

export function packet(fields: Packet = {}): Uint8Array {
  const head = new Uint8Array(240);
  const view = new DataView(head.buffer);
  head[0] = fields.op ?? 1;
  head[1] = fields.htype ?? 1;
  head[2] = fields.hlen ?? 6;
  head[3] = fields.hops ?? 0;
  view.setUint32(4, fields.xid ?? 0x1234_5678);
  view.setUint16(8, fields.secs ?? 0);
  view.setUint16(10, fields.flags ?? 0);
  for (const [index, name] of (["ciaddr", "yiaddr", "siaddr", "giaddr"] as const).entries()) {
    view.setUint32(12 + 4 * index, ip(fields[name] ?? "0.0.0.0").value);
  }
  head.set(macToBytes(fields.mac ?? clientMac), 28);
  head.set(fields.sname ?? [], 44);
  head.set(fields.file ?? [], 108);
  view.setUint32(236, 0x6382_5363);
  const pairs = Array.isArray(fields.options)
    ? fields.options
    : Object.entries(fields.options ?? {}).map(([code, data]) => [Number(code), data] as const);
  const bytes = pairs.flatMap(([code, data]) => [code, hex(data).length, ...hex(data)]);
  return Uint8Array.from([...head, ...bytes, ...hex(fields.tail ?? "ff")]);
}

export interface Unpacked {
  readonly op: number;
  readonly htype: number;
  readonly hlen: number;
  readonly hops: number;
  readonly xid: number;
  readonly secs: number;
  readonly flags: number;
  readonly ciaddr: string;
  readonly yiaddr: string;
  readonly siaddr: string;
  readonly giaddr: string;
  readonly chaddr: string;
  readonly sname: Uint8Array;
  readonly file: Uint8Array;
  /** Of the options field, in order; file and sname are read by who wants to. */
  readonly options: readonly (readonly [number, string])[];
}

/** Strict: throws for anything that a careful server does not send. */
export function unpack(bytes: Uint8Array): Unpacked {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  if (bytes.length < 300) throw new Error(`a message of ${bytes.length} bytes is too short`);
  if (view.getUint32(236) !== 0x6382_5363) throw new Error("no magic cookie");
  const address = (at: number) => String(new V4Address(view.getUint32(at)));
  return {
    op: bytes[0]!,
    htype: bytes[1]!,
    hlen: bytes[2]!,
    hops: bytes[3]!,
    xid: view.getUint32(4),
    secs: view.getUint16(8),
    flags: view.getUint16(10),
    ciaddr: address(12),
    yiaddr: address(16),
    siaddr: address(20),
    giaddr: address(24),
    chaddr: toHex(bytes.subarray(28, 44)),
    sname: bytes.slice(44, 108),
    file: bytes.slice(108, 236),
    options: unpackOptions(bytes.subarray(240)),
  };
}

/** Up to END, which must be there, and nothing but zeros behind it. */
export function unpackOptions(field: Uint8Array): (readonly [number, string])[] {
  const options: (readonly [number, string])[] = [];
  for (let at = 0; ;) {
    const code = field[at];
    if (code === 0) throw new Error("a pad before END");
    if (code === 255) {
      if (field.subarray(at + 1).some((byte) => byte !== 0)) throw new Error("something behind END");
      return options;
    }
    const length = field[at + 1];
    if (code === undefined || length === undefined || at + 2 + length > field.length) throw new Error("no END");
    options.push([code, toHex(field.subarray(at + 2, at + 2 + length))]);
    at += 2 + length;
  }
}
