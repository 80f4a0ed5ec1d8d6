// One probe under way: three questions, the last with half of the time left for its answer. The clock is the caller's.
import type { Address } from "../../net/address.ts";
import type { Mac } from "../../net/mac.ts";
import { arp } from "./arp.ts";
import { neighbourDiscovery } from "./neighbour-discovery.ts";
import { PacketSocket } from "./packet-socket.ts";
import type { Protocol } from "./question.ts";

/** PROBE_NUM of RFC 5227, as parts of the time there is: a frame or its answer may be lost. */
const askAt = [0, 0.25, 0.5] as const;
/** Read in one go, so that a storm on one interface does not keep the others waiting. */
const framesPerTurn = 64;

export class Inquiry {
  readonly #socket: PacketSocket;
  readonly #frame: Uint8Array;
  readonly #conflict: (frame: Uint8Array) => Mac | undefined;
  readonly #startMs: number;
  readonly #timeoutMs: number;
  #asked = 0;

  /** In the namespace that the calling thread is in; afterwards the thread may be anywhere. */
  constructor(link: string, address: Address, startMs: number, timeoutMs: number) {
    const protocol: Protocol<Address> = address.family === 4 ? arp : neighbourDiscovery;
    this.#socket = PacketSocket.open(link, protocol.etherType, protocol.groups(address));
    const question = { address, mac: this.#socket.link.mac };
    this.#frame = protocol.frame(question);
    this.#conflict = (frame) => protocol.conflict(frame, question);
    this.#startMs = startMs;
    this.#timeoutMs = timeoutMs;
  }

  get fd(): number {
    return this.#socket.fd;
  }

  get dueMs(): number {
    return this.#startMs + this.#timeoutMs * (askAt[this.#asked] ?? 1);
  }

  /** Asks what is due and reads what has come: the other's MAC, `"nobody"` when the time is up, or undefined: not yet. */
  turn(nowMs: number): Mac | "nobody" | undefined {
    const mac = this.#read();
    if (mac !== undefined) return mac;
    if (nowMs >= this.#startMs + this.#timeoutMs) return "nobody";
    if (nowMs >= this.dueMs) {
      this.#socket.send(this.#frame);
      this.#asked += 1;
    }
    return undefined;
  }

  close(): void {
    this.#socket.close();
  }

  #read(): Mac | undefined {
    for (let count = 0; count < framesPerTurn; count++) {
      const frame = this.#socket.receive();
      if (frame === undefined) return undefined;
      const mac = this.#conflict(frame);
      if (mac !== undefined) return mac;
    }
    return undefined;
  }
}
