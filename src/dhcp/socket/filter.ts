// Which frames the kernel hands over: a program of classic BPF (Documentation/networking/filter.rst of Linux). The rest
// of an interface's traffic costs this process nothing.
//
// Taken: ARP; ICMP echo requests; UDP to port 67, and from 67 to 68 (other servers' answers); with `ipv6`, UDP to port
// 547 and ICMPv6 of neighbour discovery. Never taken: what this machine sends, what is for another MAC, and fragments
// but the first. One 802.1Q tag may stand in the frame; most often the kernel has taken it off.

/** struct sock_filter: code 16 bits, jt, jf 8 bits, k 32 bits. */
const instructionBytes = 8;

const loadWord = 0x20;
const loadHalf = 0x28;
const loadByte = 0x30;
/** At X and a constant. */
const loadHalfAtX = 0x48;
const loadByteAtX = 0x50;
/** X becomes four times the low half of the byte at a constant: the length of an IPv4 header. */
const loadXHeaderLength = 0xb1;
const jumpEqual = 0x15;
const jumpAtLeast = 0x35;
const jumpSet = 0x45;
const give = 0x06;

/** SKF_AD_OFF + SKF_AD_PKTTYPE. */
const packetType = 0xffff_f000 + 4;
/** To us 0, broadcast 1, multicast 2; then what is for others and what is sent. */
const packetTypeOtherHost = 3;
const wholeFrame = 0x4_0000;

const type = { ipv4: 0x0800, arp: 0x0806, tag: 0x8100, ipv6: 0x86dd } as const;
const protocol = { icmp: 1, udp: 17, icmpv6: 58 } as const;

/** A jump goes to a label, or to the next step. */
interface Step {
  readonly label?: string;
  readonly code: number;
  readonly k: number;
  readonly yes?: string;
  readonly no?: string;
}

export function dhcpFilter({ ipv6 }: { readonly ipv6: boolean }): Uint8Array {
  return assemble([
    { code: loadWord, k: packetType },
    { code: jumpAtLeast, k: packetTypeOtherHost, yes: "drop" },
    { code: loadHalf, k: 12 },
    { code: jumpEqual, k: type.tag, yes: "tagged" },
    ...packet("plain", 14, ipv6),
    { label: "tagged", code: loadHalf, k: 16 },
    ...packet("tagged", 18, ipv6),
    { label: "take", code: give, k: wholeFrame },
    { label: "drop", code: give, k: 0 },
  ]);
}

/**
 * For traces, both directions: UDP from or to 67 and 68, 546 and 547; ICMPv6 of routers and neighbours (133 to 136). No
 * fragments but the first.
 */
export function traceFilter(): Uint8Array {
  return assemble([
    { code: loadHalf, k: 12 },
    { code: jumpEqual, k: type.tag, yes: "tagged" },
    ...tracedPacket("plain", 14),
    { label: "tagged", code: loadHalf, k: 16 },
    ...tracedPacket("tagged", 18),
    { label: "take", code: give, k: wholeFrame },
    { label: "drop", code: give, k: 0 },
  ]);
}

function tracedPacket(name: string, at: number): Step[] {
  const label = (part: string) => `${name} ${part}`;
  return [
    { code: jumpEqual, k: type.ipv6, yes: label("ipv6") },
    { code: jumpEqual, k: type.ipv4, no: "drop" },
    { code: loadHalf, k: at + 6 },
    { code: jumpSet, k: 0x1fff, yes: "drop" },
    { code: loadByte, k: at + 9 },
    { code: jumpEqual, k: protocol.udp, no: "drop" },
    { code: loadXHeaderLength, k: at },
    ...eitherPort(loadHalfAtX, at, [67, 68]),
    { label: label("ipv6"), code: loadByte, k: at + 6 },
    { code: jumpEqual, k: protocol.udp, yes: label("udp6") },
    { code: jumpEqual, k: protocol.icmpv6, no: "drop" },
    { code: loadByte, k: at + 40 },
    { code: jumpAtLeast, k: 137, yes: "drop" },
    { code: jumpAtLeast, k: 133, yes: "take", no: "drop" },
    ...withLabel(label("udp6"), eitherPort(loadHalf, at + 40, [546, 547])),
  ];
}

/** Source port and destination port stand first in the datagram. */
function eitherPort(load: number, at: number, [one, other]: readonly [number, number]): Step[] {
  return [
    { code: load, k: at },
    { code: jumpEqual, k: one, yes: "take" },
    { code: jumpEqual, k: other, yes: "take" },
    { code: load, k: at + 2 },
    { code: jumpEqual, k: one, yes: "take" },
    { code: jumpEqual, k: other, yes: "take", no: "drop" },
  ];
}

function withLabel(label: string, [first, ...rest]: readonly Step[]): Step[] {
  return [{ ...first!, label }, ...rest];
}

/** The accumulator has the type of the packet, which begins at `at`. */
function packet(name: string, at: number, ipv6: boolean): Step[] {
  const label = (part: string) => `${name} ${part}`;
  return [
    { code: jumpEqual, k: type.arp, yes: "take" },
    ...(ipv6 ? [{ code: jumpEqual, k: type.ipv6, yes: label("ipv6") }] : []),
    { code: jumpEqual, k: type.ipv4, no: "drop" },
    { code: loadHalf, k: at + 6 },
    { code: jumpSet, k: 0x1fff, yes: "drop" },
    { code: loadXHeaderLength, k: at },
    { code: loadByte, k: at + 9 },
    { code: jumpEqual, k: protocol.udp, yes: label("udp") },
    { code: jumpEqual, k: protocol.icmp, no: "drop" },
    { code: loadByteAtX, k: at },
    { code: jumpEqual, k: 8, yes: "take", no: "drop" },
    { label: label("udp"), code: loadHalfAtX, k: at + 2 },
    { code: jumpEqual, k: 67, yes: "take" },
    { code: jumpEqual, k: 68, no: "drop" },
    { code: loadHalfAtX, k: at },
    { code: jumpEqual, k: 67, yes: "take", no: "drop" },
    ...(ipv6 ? packetOfIpv6(label, at) : []),
  ];
}

/** Messages behind extension headers are not taken: neither clients nor neighbour discovery send any. */
function packetOfIpv6(label: (part: string) => string, at: number): Step[] {
  return [
    { label: label("ipv6"), code: loadByte, k: at + 6 },
    { code: jumpEqual, k: protocol.udp, yes: label("udp6") },
    { code: jumpEqual, k: protocol.icmpv6, no: "drop" },
    { code: loadByte, k: at + 40 },
    // Router solicitation 133, router advertisement 134, neighbour solicitation 135 and advertisement 136.
    { code: jumpAtLeast, k: 137, yes: "drop" },
    { code: jumpAtLeast, k: 133, yes: "take", no: "drop" },
    { label: label("udp6"), code: loadHalf, k: at + 42 },
    { code: jumpEqual, k: 547, yes: "take", no: "drop" },
  ];
}

function assemble(steps: readonly Step[]): Uint8Array {
  const places = new Map(steps.flatMap(({ label }, index) => (label === undefined ? [] : [[label, index] as const])));
  const program = new DataView(new ArrayBuffer(steps.length * instructionBytes));
  for (const [index, { code, k, yes, no }] of steps.entries()) {
    const distance = (label: string | undefined) => (label === undefined ? 0 : places.get(label)! - index - 1);
    program.setUint16(index * instructionBytes, code, true);
    program.setUint8(index * instructionBytes + 2, distance(yes));
    program.setUint8(index * instructionBytes + 3, distance(no));
    program.setUint32(index * instructionBytes + 4, k, true);
  }
  return new Uint8Array(program.buffer);
}
