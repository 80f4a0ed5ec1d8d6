// Addresses of IPv6 as bytes, in network byte order. On the wire an address is 16 bytes; a V6Address is
// made only for effects and comparisons with prefixes.
import { uint32 } from "../../frame/bytes.ts";
import { V6Address } from "../../net/address.ts";
import { clientKey } from "../options/client-identifier.ts";

export const addressBytes = 16;

export function addressFrom(bytes: Uint8Array, at = 0): V6Address {
  return new V6Address(uint32(bytes, at), uint32(bytes, at + 4), uint32(bytes, at + 8), uint32(bytes, at + 12));
}

/** The bytes as a key of a map. */
export const keyOf: (bytes: Uint8Array) => string = clientKey;

export function isSame(one: Uint8Array, other: Uint8Array): boolean {
  if (one.length !== other.length) return false;
  for (let i = 0; i < one.length; i++) if (one[i] !== other[i]) return false;
  return true;
}

export function concatenate(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let end = 0;
  for (const part of parts) {
    whole.set(part, end);
    end += part.length;
  }
  return whole;
}

/** `::` (RFC 4291 section 2.5.2). */
export function isUnspecified(address: Uint8Array): boolean {
  return address.every((byte) => byte === 0);
}

/** ff00::/8 (RFC 4291 section 2.7). */
export function isMulticast(address: Uint8Array): boolean {
  return address[0] === 0xff;
}

/** fe80::/10 (RFC 4291 section 2.5.6). */
export function isLinkLocal(address: Uint8Array): boolean {
  return address[0] === 0xfe && (address[1]! & 0xc0) === 0x80;
}
