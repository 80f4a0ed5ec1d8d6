// A packet socket (packet(7)): whole Ethernet frames of one interface, as the filter lets them through, each with what
// the kernel knows of it beside (its VLAN tag, whether its checksum is there). Never waits.
import type { Device } from "./device.ts";
import { dhcpFilter, instructionBytes } from "./filter.ts";
import { allocate, libc, refused, SOCK_CLOEXEC, SOCK_NONBLOCK } from "./libc.ts";

const AF_PACKET = 17;
const SOCK_RAW = 3;
const ETH_P_ALL = 3;
const SOL_SOCKET = 1;
const SO_RCVBUF = 8;
const SO_ATTACH_FILTER = 26;
const SO_RCVBUFFORCE = 33;
export const SOL_PACKET = 263;
const PACKET_ADD_MEMBERSHIP = 1;
const PACKET_STATISTICS = 6;
const PACKET_AUXDATA = 8;
const PACKET_IGNORE_OUTGOING = 23;
const PACKET_MR_MULTICAST = 0;

/** A frame of 350 bytes counts as 1,280: room for 3,276 that wait, which is a host that boots 1,600 VMs at once. */
const receiveBufferBytes = 4 * 1024 * 1024;

/**
 * All DHCPv6 servers and relays (ff02::1:2), all routers (ff02::2), and all nodes (ff02::1), to whom routers advertise,
 * as Ethernet has them (RFC 2464 section 7).
 */
const ipv6Groups = [
  [0x33, 0x33, 0, 0, 0, 1],
  [0x33, 0x33, 0, 1, 0, 2],
  [0x33, 0x33, 0, 0, 0, 2],
] as const;

/** `groups`: with IPv6, and these groups beside; undefined: IPv4 alone. */
export function openPacketSocket(name: string, device: Device, groups: readonly Uint8Array[] | undefined): number {
  // Protocol 0 receives nothing until it is bound: no frames of other interfaces slip in before the filter.
  const fd = libc.socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) throw refused("open a packet socket", "The agent needs CAP_NET_RAW.");
  try {
    attach(fd, groups !== undefined);
    option(fd, PACKET_AUXDATA, 1);
    option(fd, PACKET_IGNORE_OUTGOING, 1);
    growReceiveBuffer(fd);
    if (groups !== undefined) {
      for (const group of [...ipv6Groups, solicitedNodeMac(device.mac), ...groups]) join(fd, device, group);
    }
    const address = Buffer.alloc(20); // struct sockaddr_ll
    address.writeUInt16LE(AF_PACKET, 0);
    address.writeUInt16BE(ETH_P_ALL, 2);
    address.writeInt32LE(device.index, 4);
    if (libc.bind(fd, address, address.length) < 0) throw refused(`listen on the interface ${name}`, "Did it go away?");
    return fd;
  } catch (error) {
    libc.close(fd);
    throw error;
  }
}

/** Frames lost since the last call because the buffer was full. */
export function droppedFrames(fd: number): number {
  const statistics = Buffer.alloc(8); // struct tpacket_stats: received, dropped
  const length = Buffer.alloc(4);
  length.writeUInt32LE(statistics.length);
  return libc.getsockopt(fd, SOL_PACKET, PACKET_STATISTICS, statistics, length) < 0 ? 0 : statistics.readUInt32LE(4);
}

/** Without CAP_NET_ADMIN the machine's limit holds (net.core.rmem_max, 208 KiB): some 160 frames. */
export function growReceiveBuffer(fd: number): void {
  const size = Buffer.alloc(4);
  size.writeInt32LE(receiveBufferBytes);
  if (libc.setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, size, size.length) >= 0) return;
  libc.setsockopt(fd, SOL_SOCKET, SO_RCVBUF, size, size.length);
}

/** struct sock_fprog: count, pointer. */
const programHeaderBytes = 16;
/** Key: with IPv6 or without. Made once. */
const programs = new Map<boolean, bigint>();

function programAddress(ipv6: boolean): bigint {
  const known = programs.get(ipv6);
  if (known !== undefined) return known;
  const program = dhcpFilter({ ipv6 });
  const { address, bytes } = allocate(programHeaderBytes + program.length);
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  bytes.set(program, programHeaderBytes);
  view.setUint16(0, program.length / instructionBytes, true);
  view.setBigUint64(8, address + BigInt(programHeaderBytes), true);
  programs.set(ipv6, address);
  return address;
}

function attach(fd: number, ipv6: boolean): void {
  if (libc.setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, programAddress(ipv6), programHeaderBytes) < 0)
    throw refused("attach a filter to a packet socket", "The kernel needs CONFIG_FILTER or CONFIG_BPF.");
}

function option(fd: number, name: number, value: number): void {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value);
  if (libc.setsockopt(fd, SOL_PACKET, name, bytes, bytes.length) < 0)
    throw refused(`set option ${name} of a packet socket`, "Linux 4.20 or newer is needed.");
}

/** Where neighbours ask for the link-local address that is made from a MAC: both end with the same three bytes. */
function solicitedNodeMac(mac: Uint8Array): readonly number[] {
  return [0x33, 0x33, 0xff, ...mac.subarray(3)];
}

function join(fd: number, device: Device, group: ArrayLike<number>): void {
  const request = Buffer.alloc(16); // struct packet_mreq
  request.writeInt32LE(device.index, 0);
  request.writeUInt16LE(PACKET_MR_MULTICAST, 4);
  request.writeUInt16LE(6, 6);
  request.set(group, 8);
  if (libc.setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, request, request.length) < 0)
    throw refused("listen to a multicast group", "Did the interface go away?");
}
