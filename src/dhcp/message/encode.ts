// From a message to a datagram (RFC 2131 sections 2 and 4.1), into a reused buffer. Strict: END is there, the rest is
// zero, nothing is shorter than BOOTP's 300 bytes or longer than the receiver takes.
import { putUint32 } from "../../frame/bytes.ts";
import { code } from "../options/codes.ts";
import { chaddrBytes, field, fileBytes, type Header, magicCookie, snameBytes } from "./header.ts";
import { wireBytes, writeOption } from "./option-field.ts";
import { type BootTexts, overloadOptionBytes, place, placeAll, type RawOption } from "./placement.ts";

export interface Outgoing extends Header, BootTexts {
  /** Whether file and sname may have options: those of a NAK may not (RFC 2131 section 4.3.1, table 3). */
  readonly mayOverload: boolean;
  /** Each code once; 53 is the first. */
  readonly options: readonly RawOption[];
  /** Data of option 82, sent as the last of the options field and never in another (RFC 3046 section 2.2). */
  readonly relayAgent?: Uint8Array | undefined;
}

export interface Encoded {
  readonly bytes: Uint8Array;
  /** Codes of options that had no room. */
  readonly leftOut: readonly number[];
}

/** BOOTP's minimum: some relays drop shorter messages (RFC 951 section 3, RFC 1542 section 2.1). */
const messageBytesMin = 300;
/** What option 57 may say at least: the datagram that every host must take (RFC 2132 section 9.10). */
export const datagramBytesMin = 576;
/** What is sent at most: an Ethernet frame without fragments. */
export const datagramBytesMax = 1500;
/** IPv4 and UDP headers: option 57 counts them. */
const headersBytes = 28;

/** `datagramBytes` is option 57 of the client; the buffer has room for 1,472 bytes behind `at`. */
export function encodeMessage(message: Outgoing, datagramBytes: number, buffer: Uint8Array, at: number): Encoded {
  const limit = Math.min(Math.max(datagramBytes, datagramBytesMin), datagramBytesMax) - headersBytes;
  // One byte is END.
  let room = limit - field.options - 1;
  let relayAgent = message.relayAgent;
  // Message type, server identifier and lease time go first: better no option 82 than no reply (RFC 3046 section 2.2).
  if (relayAgent !== undefined && wireBytes(relayAgent.length) > room - essentialBytes) relayAgent = undefined;
  if (relayAgent !== undefined) room -= wireBytes(relayAgent.length);

  const isRoomy = bytesOf(message.options) <= room;
  const placement = isRoomy ? placeAll(message.options) : place(message.options, room, message);
  const { overload } = placement;
  writeHeader(message, buffer, at);
  let end = writeOptions(placement.inOptions, buffer, at + field.options);
  if (overload !== 0) {
    // Last: some readers go into file and sname where they meet it, and would put pieces together in the wrong order.
    buffer[end] = code.overload;
    buffer[end + 1] = 1;
    buffer[end + 2] = overload;
    end += overloadOptionBytes;
  }
  if (overload === 0) writeText(message.file, buffer, at + field.file, fileBytes);
  else buffer[writeOptions(placement.inFile, buffer, at + field.file)] = code.end;
  if (overload !== 3) writeText(message.sname, buffer, at + field.sname, snameBytes);
  else buffer[writeOptions(placement.inSname, buffer, at + field.sname)] = code.end;
  if (relayAgent !== undefined) end = writeOption(buffer, end, code.relayAgent, relayAgent);
  buffer[end] = code.end;
  end += 1;
  const shortest = at + messageBytesMin;
  if (end < shortest) {
    buffer.fill(0, end, shortest);
    end = shortest;
  }
  const isLost = relayAgent === undefined && message.relayAgent !== undefined;
  const leftOut = isLost ? [...placement.leftOut, code.relayAgent] : placement.leftOut;
  return { bytes: buffer.subarray(at, end), leftOut };
}

/** Message type 3, overload 3, server identifier 6, lease time 6. */
const essentialBytes = 18;

function writeHeader(message: Outgoing, buffer: Uint8Array, at: number): void {
  buffer.fill(0, at, at + field.options);
  buffer[at + field.op] = message.op;
  buffer[at + field.htype] = message.htype;
  buffer[at + field.hlen] = message.chaddr.length;
  buffer[at + field.hops] = message.hops;
  putUint32(buffer, at + field.xid, message.xid);
  buffer[at + field.secs] = message.secs >>> 8;
  buffer[at + field.secs + 1] = message.secs;
  buffer[at + field.flags] = message.flags >>> 8;
  buffer[at + field.flags + 1] = message.flags;
  putUint32(buffer, at + field.ciaddr, message.ciaddr);
  putUint32(buffer, at + field.yiaddr, message.yiaddr);
  putUint32(buffer, at + field.siaddr, message.siaddr);
  putUint32(buffer, at + field.giaddr, message.giaddr);
  for (let i = 0; i < Math.min(message.chaddr.length, chaddrBytes); i++) {
    buffer[at + field.chaddr + i] = message.chaddr[i]!;
  }
  putUint32(buffer, at + field.cookie, magicCookie);
}

/** A text that does not leave room for its NUL is not sent here; as an option it may be longer. */
function writeText(text: Uint8Array | undefined, buffer: Uint8Array, at: number, fieldBytes: number): void {
  if (text !== undefined && text.length < fieldBytes) buffer.set(text, at);
}

function writeOptions(options: readonly RawOption[], buffer: Uint8Array, at: number): number {
  let end = at;
  for (const option of options) end = writeOption(buffer, end, option.code, option.data);
  return end;
}

function bytesOf(options: readonly RawOption[]): number {
  let bytes = 0;
  for (const option of options) bytes += wireBytes(option.data.length);
  return bytes;
}
