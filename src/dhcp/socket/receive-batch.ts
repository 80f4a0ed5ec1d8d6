// Many frames or datagrams with one call, recvmmsg(2), into memory that is used again. One batch serves every socket of
// a thread: what was received is dealt with before the next call.
import { allocate, libc, MSG_DONTWAIT } from "../../linux/libc.ts";
import { SOL_PACKET } from "../../linux/packet.ts";

/** A call costs as much as handling half a frame: beyond this many it is not felt. */
export const batchMessages = 64;
/** An Ethernet frame with its tag has 1,518 bytes. What is longer is no DHCP message that could be answered. */
const frameBytes = 2048;
/** struct mmsghdr: a pointer to the sender's address and its length, to iovecs, to control data; then the length. */
const headerBytes = 64;
const iovecBytes = 16;
const nameBytes = 32;
/** struct cmsghdr of 16 bytes, struct tpacket_auxdata of 20. */
const controlBytes = 64;
const PACKET_AUXDATA = 8;
const TP_STATUS_CSUMNOTREADY = 1 << 3;
const TP_STATUS_VLAN_VALID = 1 << 4;
const TP_STATUS_CSUM_VALID = 1 << 7;

const namesAt = batchMessages * (headerBytes + iovecBytes);
const controlsAt = namesAt + batchMessages * nameBytes;
const framesAt = controlsAt + batchMessages * controlBytes;

export class ReceiveBatch {
  readonly #memory = allocate(framesAt + batchMessages * frameBytes);
  readonly #bytes = this.#memory.bytes;
  readonly #words = new Uint32Array(this.#bytes.buffer, this.#bytes.byteOffset, framesAt / 4);

  constructor() {
    const view = new DataView(this.#bytes.buffer, this.#bytes.byteOffset);
    const pointer = (at: number, to: number) => view.setBigUint64(at, this.#memory.address + BigInt(to), true);
    for (let i = 0; i < batchMessages; i++) {
      const header = i * headerBytes;
      const iovec = batchMessages * headerBytes + i * iovecBytes;
      pointer(header, namesAt + i * nameBytes);
      pointer(header + 16, iovec);
      view.setBigUint64(header + 24, 1n, true);
      pointer(header + 32, controlsAt + i * controlBytes);
      pointer(iovec, framesAt + i * frameBytes);
      view.setBigUint64(iovec + 8, BigInt(frameBytes), true);
      this.#arm(i);
    }
  }

  /** How many have come; below 0 an error, and errno says which. */
  receive(fd: number): number {
    const count = libc.recvmmsg(fd, this.#memory.address, batchMessages, MSG_DONTWAIT, 0n);
    return count;
  }

  /** A view that is good until the next call. */
  frame(index: number): Uint8Array {
    const at = framesAt + index * frameBytes;
    return this.#bytes.subarray(at, at + this.#words[(index * headerBytes + 56) >> 2]!);
  }

  /** The tag that the kernel has taken off the frame: 1 to 4094; 0 for none, or one of priority alone. */
  vlan(index: number): number {
    const status = this.#status(index);
    return (status & TP_STATUS_VLAN_VALID) === 0 ? 0 : this.#words[this.#auxiliary(index) + 4]! & 0x0fff;
  }

  /** The checksum is left to hardware that is not there (a guest on this machine), or the kernel has looked at it. */
  isChecksumGiven(index: number): boolean {
    return (this.#status(index) & (TP_STATUS_CSUMNOTREADY | TP_STATUS_CSUM_VALID)) !== 0;
  }

  /** Of a UDP socket: the sender's address. */
  senderAddress(index: number): number {
    const word = this.#words[(namesAt + index * nameBytes + 4) >> 2]!;
    return (((word & 0xff) << 24) | ((word & 0xff00) << 8) | ((word >>> 8) & 0xff00) | (word >>> 24)) >>> 0;
  }

  /** Of a UDP socket: the sender's port. */
  senderPort(index: number): number {
    const word = this.#words[(namesAt + index * nameBytes) >> 2]!;
    return ((word >>> 8) & 0xff00) | (word >>> 24);
  }

  /** The kernel writes lengths where it found room: they are set back for those that it has used. */
  done(count: number): void {
    for (let i = 0; i < count; i++) this.#arm(i);
  }

  #arm(index: number): void {
    const words = this.#words;
    const header = (index * headerBytes) >> 2;
    words[header + 2] = nameBytes;
    words[header + 10] = controlBytes;
    words[(controlsAt + index * controlBytes) >> 2] = 0;
  }

  /** 0 where the kernel has said nothing. */
  #status(index: number): number {
    const control = (controlsAt + index * controlBytes) >> 2;
    const words = this.#words;
    const isAuxiliary =
      words[control] !== 0 && words[control + 2] === SOL_PACKET && words[control + 3] === PACKET_AUXDATA;
    return isAuxiliary ? words[control + 4]! : 0;
  }

  #auxiliary(index: number): number {
    return ((controlsAt + index * controlBytes) >> 2) + 4;
  }
}
