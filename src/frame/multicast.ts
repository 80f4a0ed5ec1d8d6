// Multicast addresses of neighbour discovery (RFC 4291 section 2.7.1) and of DHCPv6 (RFC 8415 section 7.1), and their
// Ethernet addresses (RFC 2464 section 7).
const addressBytes = 16;

const group = (scope: number, ...tail: readonly number[]): Uint8Array => {
  const bytes = new Uint8Array(addressBytes);
  bytes.set([0xff, scope]);
  bytes.set(tail, addressBytes - tail.length);
  return bytes;
};

export const multicast = {
  /** ff02::1 */
  allNodes: group(2, 1),
  /** ff02::2 */
  allRouters: group(2, 2),
  /** ff02::1:2: where clients send to. */
  dhcpAgents: group(2, 1, 0, 2),
} as const;

/** ff02::1:ffXX:XXXX, where neighbours ask for an address (RFC 4291 section 2.7.1). */
export function solicitedNodeOf(address: Uint8Array): Uint8Array {
  return group(2, 1, 0xff, address[13]!, address[14]!, address[15]!);
}

/** 33:33 and the last four bytes of the group. */
export function multicastMac(address: Uint8Array): Uint8Array {
  return Uint8Array.of(0x33, 0x33, ...address.subarray(12));
}
