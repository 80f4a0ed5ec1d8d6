// From a datagram to a message (RFC 2131 sections 2 and 4.1). Lenient: what cannot mean two things is taken.
//
// The message is a view: it is good as long as nobody writes into the datagram's buffer.
import { uint32 } from "../../frame/bytes.ts";
import { type Fault, fault } from "../fault.ts";
import { code } from "../options/codes.ts";
import { field, fileBytes, type Header, magicCookie, snameBytes } from "./header.ts";
import { messageType } from "./message-type.ts";
import { scanOptionField } from "./option-field.ts";
import { OptionList } from "./option-list.ts";

export interface Message extends Header {
  readonly kind: "message";
  /** Option 53; undefined for plain BOOTP. */
  readonly type: number | undefined;
  readonly options: OptionList;
  /** Bit 1: `file` has options. Bit 2: `sname` has (RFC 2132 section 9.3). */
  readonly overload: number;
  readonly bytes: Uint8Array;
}

const faults = {
  tooShort: fault("message-too-short", "The datagram ends before the options of a DHCP message begin."),
  hardware: fault("bad-hardware-length", "The message has a hardware address of more than 16 bytes."),
  cookie: fault("no-cookie", "The message has no DHCP options: the magic cookie is missing."),
  truncated: fault(
    "truncated",
    "The message ends within an option, and what it asks for is not clear without the rest.",
  ),
  option: fault("bad-option", "Message type, requested address or server identifier have a wrong length."),
};

export function decodeMessage(bytes: Uint8Array): Message | Fault {
  if (bytes.length < field.options) return faults.tooShort;
  const hlen = bytes[field.hlen]!;
  if (hlen > 16) return faults.hardware;
  if (uint32(bytes, field.cookie) !== magicCookie) return faults.cookie;

  const places: number[] = [];
  let isClean = scanOptionField(bytes, field.options, bytes.length, places);
  const overload = overloadOf(bytes, places);
  if (overload & 1) isClean = scanOptionField(bytes, field.file, field.file + fileBytes, places) && isClean;
  if (overload & 2) isClean = scanOptionField(bytes, field.sname, field.sname + snameBytes, places) && isClean;

  const options = new OptionList(bytes, places, !isClean);
  const type = options.uint(code.messageType, 1);
  if (type === undefined && options.has(code.messageType)) return faults.option;
  if (isMalformed(options, code.requestedAddress) || isMalformed(options, code.serverIdentifier)) return faults.option;
  if (!isClean && !isClear(type, options)) return faults.truncated;

  return {
    kind: "message",
    op: bytes[field.op]!,
    htype: bytes[field.htype]!,
    hops: bytes[field.hops]!,
    xid: uint32(bytes, field.xid),
    secs: (bytes[field.secs]! << 8) | bytes[field.secs + 1]!,
    flags: (bytes[field.flags]! << 8) | bytes[field.flags + 1]!,
    ciaddr: uint32(bytes, field.ciaddr),
    yiaddr: uint32(bytes, field.yiaddr),
    siaddr: uint32(bytes, field.siaddr),
    giaddr: uint32(bytes, field.giaddr),
    chaddr: bytes.subarray(field.chaddr, field.chaddr + hlen),
    type,
    options,
    overload,
    bytes,
  };
}

/** Server's name and boot file of the fixed part, up to the first NUL; empty where the field has options instead. */
export function bootTexts({ bytes, overload }: Message): { readonly sname: Uint8Array; readonly file: Uint8Array } {
  const text = (from: number, length: number, isTaken: number) => {
    if (isTaken) return new Uint8Array(0);
    const whole = bytes.subarray(from, from + length);
    const end = whole.indexOf(0);
    return end < 0 ? whole : whole.subarray(0, end);
  };
  return { sname: text(field.sname, snameBytes, overload & 2), file: text(field.file, fileBytes, overload & 1) };
}

/** The first overload option of the options field counts; a value that the RFC does not have counts as none. */
function overloadOf(bytes: Uint8Array, places: readonly number[]): number {
  for (let at = 0; at < places.length; at += 3) {
    if (places[at] !== code.overload) continue;
    const value = places[at + 2] === 1 ? bytes[places[at + 1]!]! : 0;
    return value <= 3 ? value : 0;
  }
  return 0;
}

/** An address option that is there and cannot be read: the state of a REQUEST hangs on it, so nothing is guessed. */
function isMalformed(options: OptionList, optionCode: number): boolean {
  return options.has(optionCode) && options.uint(optionCode, 4) === undefined;
}

/**
 * Whether a message means the same whatever was cut off. DISCOVER and INFORM do. A REQUEST does with server identifier
 * and requested address; without them it may be one of another state.
 */
function isClear(type: number | undefined, options: OptionList): boolean {
  if (type === messageType.discover || type === messageType.inform) return true;
  return type === messageType.request && options.has(code.serverIdentifier) && options.has(code.requestedAddress);
}
