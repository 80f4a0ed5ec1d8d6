// From a reply to a datagram, into a reused buffer (RFC 8415 sections 8, 9.2 and 19.3).
//
// A message has at most 1,232 bytes (IPv6's least MTU of 1,280, less the headers of IPv6 and UDP) unless the link takes
// more. What a client must have always fits: type 4, client identifier 134, server identifier 22, preference 5, rapid
// commit 4, status 38, IAs 8 x (16 + status 38) and leases 16 x 29 + 28 = 1,131 bytes. Parameters take what is left.
import { putUint16 } from "../../../frame/bytes.ts";
import { addressBytes } from "../bytes.ts";
import { codeV6 } from "../options/codes.ts";
import { type RawOptionV6, wireBytesV6, writeOptionV6 } from "../options/option.ts";
import { interfaceIdBytesMax, messageHeadBytes, type Relay, relayHeadBytes, relaysMax } from "./decode.ts";
import { messageTypeV6 } from "./message-type.ts";
import { optionHeadBytes } from "./option-list.ts";

export interface OutgoingV6 {
  readonly type: number;
  readonly transactionId: number;
  /** Those that have to be there. */
  readonly options: readonly RawOptionV6[];
  /** Those that are left out where they do not fit, the largest first. */
  readonly parameters: readonly RawOptionV6[];
  /** As in the envelope: the first gets the datagram. */
  readonly relays: readonly Relay[];
}

export interface EncodedV6 {
  readonly bytes: Uint8Array;
  /** Codes of options that had no room. */
  readonly leftOut: readonly number[];
}

/** What all relays add at most: header, interface identifier and the head of the relay message option. */
export const relaysBytesMax = relaysMax * (relayHeadBytes + 2 * optionHeadBytes + interfaceIdBytesMax);

/** `messageBytes` bounds the client's message, without the headers of relays. */
export function encodeMessageV6(message: OutgoingV6, messageBytes: number, buffer: Uint8Array, at: number): EncodedV6 {
  const lengthsAt: number[] = [];
  let end = at;
  for (const relay of message.relays) {
    end = writeRelay(buffer, end, relay);
    lengthsAt.push(end - 2);
  }
  const { type, transactionId, options } = message;
  buffer[end] = type;
  buffer[end + 1] = transactionId >>> 16;
  putUint16(buffer, end + 2, transactionId & 0xffff);
  const fixedBytes = options.reduce((sum, each) => sum + wireBytesV6(each), messageHeadBytes);
  const { kept, leftOut } = fit(message.parameters, messageBytes - fixedBytes);
  end += messageHeadBytes;
  for (const option of options) end = writeOptionV6(buffer, end, option);
  for (const option of kept) end = writeOptionV6(buffer, end, option);
  for (const lengthAt of lengthsAt) putUint16(buffer, lengthAt, end - lengthAt - 2);
  return { bytes: buffer.subarray(at, end), leftOut };
}

/** Ends with the head of the relay message option, whose length is not known yet. */
function writeRelay(into: Uint8Array, at: number, { hopCount, linkAddress, peerAddress, interfaceId }: Relay): number {
  into[at] = messageTypeV6.relayReply;
  into[at + 1] = hopCount;
  into.set(linkAddress, at + 2);
  into.set(peerAddress, at + 2 + addressBytes);
  let end = at + relayHeadBytes;
  if (interfaceId !== undefined) end = writeOptionV6(into, end, { code: codeV6.interfaceId, data: interfaceId });
  putUint16(into, end, codeV6.relayMessage);
  return end + optionHeadBytes;
}

/** Some ten options at most. */
function fit(
  options: readonly RawOptionV6[],
  room: number,
): { readonly kept: readonly RawOptionV6[]; readonly leftOut: readonly number[] } {
  const kept = [...options];
  const leftOut: number[] = [];
  let bytes = kept.reduce((sum, each) => sum + wireBytesV6(each), 0);
  while (bytes > room && kept.length > 0) {
    const largest = kept.reduce((one, other) => (other.data.length > one.data.length ? other : one));
    kept.splice(kept.indexOf(largest), 1);
    leftOut.push(largest.code);
    bytes -= wireBytesV6(largest);
  }
  return { kept, leftOut };
}
