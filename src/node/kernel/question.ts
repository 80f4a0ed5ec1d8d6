// What a probe asks on the wire: "does anybody here have this address?", and what makes an answer.
import type { Address, V4Address, V6Address } from "../../net/address.ts";
import { type Mac, macFromBytes } from "../../net/mac.ts";

/** An answer that begins at the same hardware address is our own frame, come back over a loop or a mirror port. */
export interface Question<A extends Address = Address> {
  readonly address: A;
  readonly mac: Mac;
}

export interface Protocol<A extends Address> {
  readonly etherType: number;
  /** Hardware addresses to listen on beside our own and broadcast. */
  groups(address: A): readonly Mac[];
  frame(question: Question<A>): Uint8Array;
  /** The MAC of whoever else has the address, or is about to take it; undefined for every other frame. Never throws. */
  conflict(frame: Uint8Array, question: Question<A>): Mac | undefined;
}

export function ethernetHeader(bytes: Uint8Array, to: Uint8Array, from: Uint8Array, etherType: number): void {
  bytes.set(to, 0);
  bytes.set(from, 6);
  bytes.set([etherType >>> 8, etherType & 255], 12);
}

/** Another's MAC at `offset`: not ours, and one that an interface can have. */
export function otherMac(frame: Uint8Array, offset: number, own: Mac): Mac | undefined {
  const bytes = frame.subarray(offset, offset + 6);
  if (bytes.length < 6 || bytes.every((byte) => byte === 0)) return undefined;
  const mac = macFromBytes(bytes);
  return mac === own ? undefined : mac;
}

/** Most significant byte first, as on the wire. */
export function addressBytes(address: V4Address | V6Address): Uint8Array {
  const words = address.family === 4 ? [address.value] : [address.w0, address.w1, address.w2, address.w3];
  return Uint8Array.from(words.flatMap((word) => [word >>> 24, (word >>> 16) & 255, (word >>> 8) & 255, word & 255]));
}

export function bytesAt(frame: Uint8Array, offset: number, wanted: Uint8Array): boolean {
  return frame.length >= offset + wanted.length && wanted.every((byte, index) => frame[offset + index] === byte);
}
