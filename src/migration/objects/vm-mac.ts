// The MAC of a pod on an OVN network where none is asked for: it follows from the address, so it needs no record. Pure.
import { createHash } from "node:crypto";

import type { Address } from "../../net/address.ts";
import { type Mac, macFromBytes } from "../../net/mac.ts";

/** Locally administered, and ovn-kubernetes' own: 0a:58. */
const lead = [0x0a, 0x58] as const;

/**
 * 0a:58 and the four octets of the IPv4 address; where there is none, the first four bytes of the SHA-256 of the IPv6
 * address as text. Two IPv6 addresses may have one MAC: one pair in 2^32, and only where they meet on one switch.
 */
export function macOfAddresses(addresses: readonly Address[]): Mac | undefined {
  const address = addresses.find(({ family }) => family === 4) ?? addresses[0];
  if (address === undefined) return undefined;
  return macFromBytes(Uint8Array.from([...lead, ...tailOf(address)]));
}

function tailOf(address: Address): Uint8Array | readonly number[] {
  if (address.family === 6) return createHash("sha256").update(`${address}`).digest().subarray(0, 4);
  const { value } = address;
  return [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255];
}
