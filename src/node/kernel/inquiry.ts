// One probe under way: three questions, the last with half of the time left for its answer, on a packet socket
// (packet(7)): whole Ethernet frames of one type on one interface. Never blocks; the clock is the caller's. Not
// promised: every frame; the kernel drops what does not fit its buffer.
import { deviceOf, setUp } from "../../linux/device.ts";
import { KernelError, lastErrno, libc, MSG_DONTWAIT } from "../../linux/libc.ts";
import { isPassing, joinGroup, listenOn, packetSocket } from "../../linux/packet.ts";
import type { Address } from "../../net/address.ts";
import { type Mac, macFromBytes, macToBytes } from "../../net/mac.ts";
import { arp } from "./arp.ts";
import { neighbourDiscovery } from "./neighbour-discovery.ts";
import type { Protocol } from "./question.ts";

/** PROBE_NUM of RFC 5227, as parts of the time there is: a frame or its answer may be lost. */
const askAt = [0, 0.25, 0.5] as const;
/** Read in one go, so that a storm on one interface does not keep the others waiting. */
const framesPerTurn = 64;
/** An ARP packet has 42 bytes, a neighbour's message fits the smallest IPv6 MTU; the rest of a frame is of no use. */
const frameBytes = 2048;

export class Inquiry {
  readonly fd: number;
  readonly #name: string;
  readonly #frame: Uint8Array;
  readonly #conflict: (frame: Uint8Array) => Mac | undefined;
  readonly #received = Buffer.alloc(frameBytes);
  readonly #startMs: number;
  readonly #timeoutMs: number;
  #asked = 0;

  /** In the namespace that the calling thread is in, where its socket stays; afterwards the thread may be anywhere. */
  constructor(name: string, address: Address, startMs: number, timeoutMs: number) {
    const protocol: Protocol<Address> = address.family === 4 ? arp : neighbourDiscovery;
    const { fd, mac } = openSocket(name, protocol.etherType, protocol.groups(address));
    this.fd = fd;
    this.#name = name;
    const question = { address, mac };
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
    if (isPassing(errno)) return undefined;
    const code = errno === "ENXIO" || errno === "ENODEV" ? "no-interface" : "system-call";
    throw new KernelError(code, `cannot ${what} the interface ${this.#name}: ${errno}. Did it go away?`);
  }
}

function openSocket(name: string, etherType: number, groups: readonly Mac[]): { fd: number; mac: Mac } {
  const fd = packetSocket("The daemon needs CAP_NET_RAW for probes.");
  try {
    const device = deviceOf(fd, name);
    const gone = `the network namespace has no interface ${name}: it went away, or is not made yet.`;
    if (device === undefined) throw new KernelError("no-interface", gone);
    // Up and left up: the plugin that asked for the address does the same a moment later.
    if (!device.isSetUp) setUp(fd, name, true, "The daemon needs CAP_NET_ADMIN for probes.");
    for (const group of groups) joinGroup(fd, name, device.index, macToBytes(group));
    listenOn(fd, name, device.index, etherType);
    return { fd, mac: macFromBytes(device.mac) };
  } catch (error) {
    libc.close(fd);
    throw error;
  }
}
