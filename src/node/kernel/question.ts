// What a probe asks on the wire: "does anybody here have this address?", and what makes an answer.
import type { Address } from "../../net/address.ts";
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

/** Another's MAC at `offset`: not ours, and one that an interface can have. */
export function otherMac(frame: Uint8Array, offset: number, own: Mac): Mac | undefined {
  const bytes = frame.subarray(offset, offset + 6);
  if (bytes.length < 6 || bytes.every((byte) => byte === 0)) return undefined;
  const mac = macFromBytes(bytes);
  return mac === own ? undefined : mac;
}
