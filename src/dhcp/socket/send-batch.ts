// Many frames or datagrams with one call, sendmmsg(2), from memory that is used again. Each place has a writer of its
// own, so that a reply is made where it is sent from.
import { AF_INET, allocate, lastErrno, libc, MSG_DONTWAIT } from "../../linux/libc.ts";
import { frameBufferBytes } from "../frame/frame.ts";
import { ReplyWriter } from "../server/send.ts";
import { batchMessages } from "./receive-batch.ts";

const placeBytes = 2048;
/** As of ReceiveBatch. */
const headerBytes = 64;
const iovecBytes = 16;
/** struct sockaddr_in. */
const nameBytes = 16;

const iovecsAt = batchMessages * headerBytes;
const namesAt = iovecsAt + batchMessages * iovecBytes;
const placesAt = namesAt + batchMessages * nameBytes;

export class SendBatch {
  readonly #memory = allocate(placesAt + batchMessages * placeBytes);
  readonly #bytes = this.#memory.bytes;
  readonly #view = new DataView(this.#bytes.buffer, this.#bytes.byteOffset);
  readonly #writers: ReplyWriter[];
  #count = 0;

  constructor() {
    for (let i = 0; i < batchMessages; i++) {
      this.#pointer(i * headerBytes + 16, iovecsAt + i * iovecBytes);
      this.#view.setBigUint64(i * headerBytes + 24, 1n, true);
    }
    this.#writers = Array.from({ length: batchMessages }, (_, i) => {
      const at = placesAt + i * placeBytes;
      return new ReplyWriter(this.#bytes.subarray(at, at + frameBufferBytes));
    });
  }

  get isFull(): boolean {
    return this.#count === batchMessages;
  }

  get count(): number {
    return this.#count;
  }

  /** Of the next place: what it writes can be added without a copy. Not while the batch is full. */
  get writer(): ReplyWriter {
    return this.#writers[this.#count]!;
  }

  /** A whole frame: the writer's, or any other of at most 2,048 bytes. */
  addFrame(frame: Uint8Array): void {
    this.#place(frame);
    this.#pointer(this.#header(), 0);
    this.#view.setUint32(this.#header() + 8, 0, true);
    this.#count += 1;
  }

  /** A datagram for a UDP socket. */
  addDatagram(datagram: Uint8Array, address: number, port: number): void {
    this.#place(datagram);
    const name = namesAt + this.#count * nameBytes;
    this.#view.setUint16(name, AF_INET, true);
    this.#view.setUint16(name + 2, port);
    this.#view.setUint32(name + 4, address);
    this.#pointer(this.#header(), name);
    this.#view.setUint32(this.#header() + 8, nameBytes, true);
    this.#count += 1;
  }

  /** Sends all of them. What the kernel refuses is lost, the rest is sent; returns how many were. */
  flush(fd: number): number {
    let sent = 0;
    let from = 0;
    while (from < this.#count) {
      const at = this.#memory.address + BigInt(from * headerBytes);
      const count = libc.sendmmsg(fd, at, this.#count - from, MSG_DONTWAIT);
      if (count > 0) {
        sent += count;
        from += count;
      } else if (lastErrno() !== "EINTR") from += 1;
    }
    this.#count = 0;
    return sent;
  }

  clear(): void {
    this.#count = 0;
  }

  #header(): number {
    return this.#count * headerBytes;
  }

  #place(bytes: Uint8Array): void {
    const iovec = iovecsAt + this.#count * iovecBytes;
    let at = bytes.byteOffset - this.#bytes.byteOffset;
    if (bytes.buffer !== this.#bytes.buffer) {
      at = placesAt + this.#count * placeBytes;
      this.#bytes.set(bytes, at);
    }
    this.#pointer(iovec, at);
    this.#view.setUint32(iovec + 8, bytes.length, true);
  }

  /** Place 0 stands for no pointer: the first header is there, and nothing points to it. */
  #pointer(at: number, to: number): void {
    this.#view.setBigUint64(at, to === 0 ? 0n : this.#memory.address + BigInt(to), true);
  }
}
