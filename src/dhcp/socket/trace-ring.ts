// Frames on their way to whoever watches the wire: bounded, and what is lost is counted.
import { macToBytes } from "../../net/mac.ts";
import { field } from "../message/header.ts";
import type { SilenceReason } from "../server/outcome.ts";
import type { TraceBatch, TracedFrame, TraceOptions } from "./interface.ts";

const framesMax = 4096;
const bytesMax = 1024 * 1024;

export class TraceRing {
  readonly #network: string | undefined;
  readonly #mac: Uint8Array | undefined;
  #frames: TracedFrame[] = [];
  #bytes = 0;
  #dropped = 0;

  constructor({ network, mac }: TraceOptions) {
    this.#network = network;
    this.#mac = mac === undefined ? undefined : macToBytes(mac);
  }

  get isEmpty(): boolean {
    return this.#frames.length === 0 && this.#dropped === 0;
  }

  /** The frame is copied. `payloadAt`: where a DHCP message begins in it, if it has one. */
  push(frame: TracedFrame, payloadAt: number | undefined): void {
    if (this.#network !== undefined && this.#network !== frame.network) return;
    if (!this.#isOfClient(frame.bytes, payloadAt)) return;
    if (this.#frames.length >= framesMax || this.#bytes + frame.bytes.length > bytesMax) {
      this.#dropped += 1;
      return;
    }
    this.#frames.push({ ...frame, bytes: frame.bytes.slice() });
    this.#bytes += frame.bytes.length;
  }

  take(): TraceBatch {
    const batch = { frames: this.#frames, dropped: this.#dropped };
    this.#frames = [];
    this.#bytes = 0;
    this.#dropped = 0;
    return batch;
  }

  #isOfClient(bytes: Uint8Array, payloadAt: number | undefined): boolean {
    if (this.#mac === undefined) return true;
    const places = [0, 6, ...(payloadAt === undefined ? [] : [payloadAt + field.chaddr])];
    return places.some((at) => this.#mac!.every((byte, index) => bytes[at + index] === byte));
  }
}

export function tracedFrame(
  atMs: number,
  network: string,
  direction: "in" | "out",
  bytes: Uint8Array,
  silence?: SilenceReason,
): TracedFrame {
  return { atMs, network, direction, bytes, ...(silence !== undefined && { silence }) };
}
