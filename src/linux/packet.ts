// The parts of a packet socket (packet(7)) that everybody needs who sends and receives whole Ethernet frames.
import { allocate, libc, refused, SOCK_CLOEXEC, SOCK_NONBLOCK } from "./libc.ts";

const AF_PACKET = 17;
const SOCK_RAW = 3;
const SOL_SOCKET = 1;
const SO_ATTACH_FILTER = 26;
export const SOL_PACKET = 263;
const PACKET_ADD_MEMBERSHIP = 1;
const PACKET_MR_MULTICAST = 0;
const PACKET_IGNORE_OUTGOING = 23;
/** Frames of every type. */
export const ETH_P_ALL = 3;

/** Link down, its queue full, nothing beyond it, or nothing there: the next frame makes it good. */
const passing: ReadonlySet<string> = new Set(["ENETDOWN", "ENETUNREACH", "ENOBUFS", "EAGAIN", "EINTR"]);

export function isPassing(errno: string): boolean {
  return passing.has(errno);
}

/** Protocol 0 receives nothing until it is bound: no frames of other interfaces slip in before the filter. */
export function packetSocket(remedy: string): number {
  const fd = libc.socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) throw refused("open a packet socket", remedy);
  return fd;
}

/** From here on it receives frames of this type on this interface. */
export function listenOn(fd: number, name: string, index: number, etherType: number): void {
  const address = Buffer.alloc(20); // struct sockaddr_ll
  address.writeUInt16LE(AF_PACKET, 0);
  address.writeUInt16BE(etherType, 2);
  address.writeInt32LE(index, 4);
  if (libc.bind(fd, address, address.length) < 0) throw refused(`listen on the interface ${name}`, "Did it go away?");
}

/** Frames to this group of Ethernet are received too. */
export function joinGroup(fd: number, name: string, index: number, group: ArrayLike<number>): void {
  const request = Buffer.alloc(16); // struct packet_mreq
  request.writeInt32LE(index, 0);
  request.writeUInt16LE(PACKET_MR_MULTICAST, 4);
  request.writeUInt16LE(6, 6);
  request.set(group, 8);
  if (libc.setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, request, request.length) < 0)
    throw refused(`listen to a multicast group on the interface ${name}`, "Did it go away?");
}

/** Frames that this machine sends by the interface are not received from it. */
export function ignoreOwn(fd: number): void {
  const yes = Buffer.from([1, 0, 0, 0]);
  if (libc.setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, yes, yes.length) < 0)
    throw refused("tell frames that are sent from those that come", "Linux can since 4.20: update the kernel.");
}

/** struct sock_fprog: count, pointer. */
const programHeaderBytes = 16;
/** struct sock_filter */
const instructionBytes = 8;

/** A program of BPF where the kernel can read it, until the thread ends. */
export function filterProgram(program: Uint8Array): bigint {
  const { address, bytes } = allocate(programHeaderBytes + program.length);
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  bytes.set(program, programHeaderBytes);
  view.setUint16(0, program.length / instructionBytes, true);
  view.setBigUint64(8, address + BigInt(programHeaderBytes), true);
  return address;
}

export function attachFilter(fd: number, program: bigint): void {
  if (libc.setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, program, programHeaderBytes) < 0)
    throw refused("attach a filter to a packet socket", "The kernel needs CONFIG_FILTER or CONFIG_BPF.");
}
