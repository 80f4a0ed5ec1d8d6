// Link-local addresses that are made from a MAC (RFC 4291 section 2.5.6 and appendix A): fe80::, the halves of the MAC
// around ff:fe, one bit turned. Where the kernel makes one for the interface, it is the same.
import { addressBytes, isLinkLocal } from "./bytes.ts";

export function linkLocalOf(mac: Uint8Array): Uint8Array {
  const address = new Uint8Array(addressBytes);
  address.set([0xfe, 0x80]);
  address.set([mac[0]! ^ 0x02, mac[1]!, mac[2]!, 0xff, 0xfe, mac[3]!, mac[4]!, mac[5]!], 8);
  return address;
}

/** Undefined where the address was made otherwise. */
export function macOfLinkLocal(address: Uint8Array): Uint8Array | undefined {
  if (!isLinkLocal(address) || address[11] !== 0xff || address[12] !== 0xfe) return undefined;
  return Uint8Array.of(address[8]! ^ 0x02, address[9]!, address[10]!, address[13]!, address[14]!, address[15]!);
}
