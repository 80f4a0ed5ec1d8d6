// One probe under way: three questions, the last with half of the time left for its answer, on a packet socket
// (packet(7)): whole Ethernet frames of one type on one interface. Never blocks; the clock is the caller's. Not
// promised: every frame; the kernel drops what does not fit its buffer.
import type { Address } from "../../net/address.ts";
import { type Mac, macToBytes } from "../../net/mac.ts";
import { arp } from "./arp.ts";
import { KernelError, lastErrno, libc, refused } from "./libc.ts";
import { bringUp, type Link, linkOf } from "./link.ts";
import { neighbourDiscovery } from "./neighbour-discovery.ts";
import type { Protocol } from "./question.ts";

const AF_PACKET = 17;
const SOCK_RAW = 3;
const SOCK_CLOEXEC = 0o2000000;
const SOCK_NONBLOCK = 0o4000;
const SOL_PACKET = 263;
const PACKET_ADD_MEMBERSHIP = 1;
const PACKET_MR_MULTICAST = 0;
const MSG_DONTWAIT = 0x40;

/** PROBE_NUM of RFC 5227, as parts of the time there is: a frame or its answer may be lost. */
const askAt = [0, 0.25, 0.5] as const;
/** Read in one go, so that a storm on one interface does not keep the others waiting. */
const framesPerTurn = 64;
/** An ARP packet has 42 bytes, a neighbour's message fits the smallest IPv6 MTU; the rest of a frame is of no use. */
const frameBytes = 2048;
/** Link down, its queue full, or nothing beyond it: a probe lost on the way, which the next one makes good. */
const passing: ReadonlySet<string> = new Set(["ENETDOWN", "ENETUNREACH", "ENOBUFS", "EAGAIN", "EINTR"]);

export class Inquiry {
  readonly fd: number;
  readonly #link: Link;
  readonly #frame: Uint8Array;
  readonly #conflict: (frame: Uint8Array) => Mac | undefined;
  readonly #received = Buffer.alloc(frameBytes);
  readonly #startMs: number;
  readonly #timeoutMs: number;
  #asked = 0;

  /** In the namespace that the calling thread is in, where its socket stays; afterwards the thread may be anywhere. */
  constructor(name: string, address: Address, startMs: number, timeoutMs: number) {
    const protocol: Protocol<Address> = address.family === 4 ? arp : neighbourDiscovery;
    const { fd, link } = openSocket(name, protocol.etherType, protocol.groups(address));
    this.fd = fd;
    this.#link = link;
    const question = { address, mac: link.mac };
    this.#frame = protocol.frame(question);
    this.#conflict = (frame) => protocol.conflict(frame, question);
    this.#startMs = startMs;
    this.#timeoutMs = timeoutMs;
  }

  get dueMs(): number {
    return this.#startMs + this.#timeoutMs * (askAt[this.#asked] ?? 1);
  }

  /** Asks what is due and reads what has come: another's MAC, `"nobody"` when the time is up, undefined: not yet. */
  turn(nowMs: number): Mac | "nobody" | undefined {
    const mac = this.#read();
    if (mac !== undefined) return mac;
    if (nowMs >= this.#startMs + this.#timeoutMs) return "nobody";
    if (nowMs >= this.dueMs) {
      if (libc.send(this.fd, this.#frame, this.#frame.length, MSG_DONTWAIT) < 0) this.#failed("send on");
      this.#asked += 1;
    }
    return undefined;
  }

  close(): void {
    libc.close(this.fd);
  }

  #read(): Mac | undefined {
    for (let count = 0; count < framesPerTurn; count++) {
      const length = libc.recv(this.fd, this.#received, frameBytes, MSG_DONTWAIT);
      if (length < 0) return this.#failed("receive from");
      const mac = this.#conflict(this.#received.subarray(0, length));
      if (mac !== undefined) return mac;
    }
    return undefined;
  }

  #failed(what: string): undefined {
    const errno = lastErrno();
    if (passing.has(errno)) return undefined;
    const code = errno === "ENXIO" || errno === "ENODEV" ? "no-interface" : "system-call";
    throw new KernelError(code, `cannot ${what} the interface ${this.#link.name}: ${errno}. Did it go away?`);
  }
}

function openSocket(name: string, etherType: number, groups: readonly Mac[]): { fd: number; link: Link } {
  // Protocol 0 receives nothing until it is bound: no frames of other interfaces slip in between.
  const fd = libc.socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) throw refused("cannot open a packet socket", "The daemon needs CAP_NET_RAW for probes.");
  try {
    const link = linkOf(fd, name);
    if (!link.isUp) bringUp(fd, name);
    for (const group of groups) join(fd, link, group);
    bindTo(fd, link, etherType);
    return { fd, link };
  } catch (error) {
    libc.close(fd);
    throw error;
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
