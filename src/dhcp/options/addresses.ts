// One address, or a list of them, the preferred first (RFC 2132 sections 3.3, 3.5, 3.8 and many more; RFC 5859).
import { V4Address } from "../../net/address.ts";
import { type Fault, fault } from "../fault.ts";
import { readUint, uintBytes } from "./bytes.ts";

const bad = fault("bad-value", "A list of addresses is empty, or its length is no multiple of four.");

export function encodeAddresses(addresses: readonly V4Address[]): Uint8Array {
  const bytes = new Uint8Array(4 * addresses.length);
  for (const [index, { value }] of addresses.entries()) bytes.set(uintBytes(value, 4), 4 * index);
  return bytes;
}

export function decodeAddresses(bytes: Uint8Array): readonly V4Address[] | Fault {
  if (bytes.length === 0 || bytes.length % 4 !== 0) return bad;
  return Array.from({ length: bytes.length / 4 }, (_, index) => new V4Address(readUint(bytes, 4 * index, 4)));
}
