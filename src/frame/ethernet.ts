// Ethernet II headers, with at most one 802.1Q tag (RFC 894; IEEE 802.1Q section 9).

const macBytes = 6;
export const ethernetBytes = 14;
export const tagBytes = 4;

export const etherType = { ipv4: 0x0800, arp: 0x0806, tag: 0x8100, ipv6: 0x86dd } as const;

export interface Ethernet {
  readonly destination: Uint8Array;
  readonly source: Uint8Array;
  /** 1 to 4094. Undefined without a tag, and with one of priority alone (0). */
  readonly vlan?: number;
}

export interface DecodedEthernet extends Ethernet {
  readonly etherType: number;
  /** Where the packet begins. */
  readonly end: number;
}

/** Undefined where the frame ends within its header. The MACs are views of the frame. */
export function decodeEthernet(frame: Uint8Array): DecodedEthernet | undefined {
  if (frame.length < ethernetBytes) return undefined;
  const outer = (frame[12]! << 8) | frame[13]!;
  const macs = { destination: frame.subarray(0, macBytes), source: frame.subarray(macBytes, 2 * macBytes) };
  if (outer !== etherType.tag) return { ...macs, etherType: outer, end: ethernetBytes };
  if (frame.length < ethernetBytes + tagBytes) return undefined;
  const vlan = ((frame[14]! & 0x0f) << 8) | frame[15]!;
  const inner = (frame[16]! << 8) | frame[17]!;
  return { ...macs, ...(vlan === 0 ? {} : { vlan }), etherType: inner, end: ethernetBytes + tagBytes };
}

/** Writes the header so that it ends before `end`, and returns where it begins. */
export function writeEthernetBefore(
  into: Uint8Array,
  end: number,
  { destination, source, vlan }: Ethernet,
  type: number = etherType.ipv4,
): number {
  const at = end - ethernetBytes - (vlan === undefined ? 0 : tagBytes);
  for (let i = 0; i < macBytes; i++) {
    into[at + i] = destination[i]!;
    into[at + macBytes + i] = source[i]!;
  }
  if (vlan !== undefined) {
    into[end - 6] = etherType.tag >> 8;
    into[end - 5] = etherType.tag & 0xff;
    into[end - 4] = vlan >> 8;
    into[end - 3] = vlan;
  }
  into[end - 2] = type >> 8;
  into[end - 1] = type & 0xff;
  return at;
}
