// A packet socket (packet(7)) on one interface of one namespace: whole Ethernet frames of one type. Never blocks. Not promised:
// every frame; the kernel drops what does not fit its buffer.
import { type Mac, macToBytes } from "../../net/mac.ts";
import { KernelError } from "./error.ts";
import { lastErrno, libc, refused } from "./libc.ts";
import { bringUp, type Link, linkOf } from "./link.ts";

const AF_PACKET = 17;
const SOCK_RAW = 3;
const SOCK_CLOEXEC = 0o2000000;
const SOCK_NONBLOCK = 0o4000;
const SOL_PACKET = 263;
const PACKET_ADD_MEMBERSHIP = 1;
const PACKET_MR_MULTICAST = 0;
const MSG_DONTWAIT = 0x40;

/** An ARP packet has 42 bytes and a neighbour's message fits the smallest IPv6 MTU; of a larger frame the rest is of no use. */
const frameBytes = 2048;
/** Link down, its queue full, or nothing beyond it: a probe lost on the way, which the next one makes good. */
const passing: ReadonlySet<string> = new Set(["ENETDOWN", "ENETUNREACH", "ENOBUFS", "EAGAIN", "EINTR"]);

export class PacketSocket {
  readonly fd: number;
  readonly link: Link;
  readonly #frame = Buffer.alloc(frameBytes);

  private constructor(fd: number, link: Link) {
    this.fd = fd;
    this.link = link;
  }

  /** Made in the namespace that the calling thread is in, and stays there. */
  static open(name: string, etherType: number, groups: readonly Mac[]): PacketSocket {
    // Protocol 0 receives nothing until it is bound: no frames of other interfaces slip in between.
    const fd = libc.socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) throw refused("cannot open a packet socket", "The daemon needs CAP_NET_RAW for probes.");
    try {
      const link = linkOf(fd, name);
      if (!link.isUp) bringUp(fd, name);
      for (const group of groups) join(fd, link, group);
      bindTo(fd, link, etherType);
      return new PacketSocket(fd, link);
    } catch (error) {
      libc.close(fd);
      throw error;
    }
  }

  /** False when it was lost at once, and may be tried again. */
  send(frame: Uint8Array): boolean {
    if (libc.send(this.fd, frame, frame.length, MSG_DONTWAIT) >= 0) return true;
    this.#failed("send on");
    return false;
  }

  /** The next frame that waits; valid until the next call. */
  receive(): Uint8Array | undefined {
    const length = libc.recv(this.fd, this.#frame, frameBytes, MSG_DONTWAIT);
    if (length >= 0) return this.#frame.subarray(0, length);
    this.#failed("receive from");
    return undefined;
  }

  close(): void {
    libc.close(this.fd);
  }

  #failed(what: string): void {
    const errno = lastErrno();
    if (passing.has(errno)) return;
    const code = errno === "ENXIO" || errno === "ENODEV" ? "no-interface" : "system-call";
    throw new KernelError(code, `cannot ${what} the interface ${this.link.name}: ${errno}. Did it go away?`);
  }
}

function bindTo(fd: number, link: Link, etherType: number): void {
  const address = Buffer.alloc(20); // struct sockaddr_ll
  address.writeUInt16LE(AF_PACKET, 0);
  address.writeUInt16BE(etherType, 2);
  address.writeInt32LE(link.index, 4);
  if (libc.bind(fd, address, address.length) < 0)
    throw refused(`cannot listen on the interface ${link.name}`, "Did it go away?");
}

function join(fd: number, link: Link, group: Mac): void {
  const request = Buffer.alloc(16); // struct packet_mreq
  request.writeInt32LE(link.index, 0);
  request.writeUInt16LE(PACKET_MR_MULTICAST, 4);
  request.writeUInt16LE(6, 6);
  request.set(macToBytes(group), 8);
  if (libc.setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, request, request.length) < 0)
    throw refused(`cannot listen to ${group} on the interface ${link.name}`, "Did it go away?");
}
