// Bytes, written one after the other and read from a text whose chars they are.
import { tags } from "./tags.ts";

/** Where a reading is. */
export interface Reader {
  readonly packed: string;
  at: number;
}

/** Most objects fit. Kept between two of them; what a large one needed is given back. */
const firstBytes = 16_384;
const latin1 = /^[\0-\u00ff]*$/;
const scratch = new DataView(new ArrayBuffer(8));
const hex = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

export function hexOf(byte: number): string {
  return hex[byte]!;
}

export class Writer {
  #buffer = Buffer.allocUnsafeSlow(firstBytes);
  #length = 0;

  clear(): void {
    this.#length = 0;
  }

  text(): string {
    const text = this.#buffer.toString("latin1", 0, this.#length);
    if (this.#buffer.length > firstBytes) this.#buffer = Buffer.allocUnsafeSlow(firstBytes);
    return text;
  }

  byte(byte: number): void {
    this.#reserve(1);
    this.#buffer[this.#length++] = byte;
  }

  /** Seven bits in each byte, the lowest first. */
  count(count: number): void {
    let rest = count;
    for (; rest > 0x7f; rest >>>= 7) this.byte((rest & 0x7f) | 0x80);
    this.byte(rest);
  }

  double(value: number): void {
    scratch.setFloat64(0, value);
    for (let at = 0; at < 8; at++) this.byte(scratch.getUint8(at));
  }

  chars(text: string): void {
    const isBytes = latin1.test(text);
    this.byte(isBytes ? tags.bytes : tags.units);
    this.count(text.length);
    this.#reserve(2 * text.length);
    this.#length += this.#buffer.write(text, this.#length, isBytes ? "latin1" : "utf16le");
  }

  #reserve(bytes: number): void {
    const wanted = this.#length + bytes;
    if (wanted <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(wanted, 2 * this.#buffer.length));
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#buffer = larger;
  }
}

export function readCount(from: Reader): number {
  let count = 0;
  for (let shift = 0; ; shift += 7) {
    const byte = from.packed.charCodeAt(from.at++);
    count |= (byte & 0x7f) << shift;
    if (byte < 0x80) return count;
  }
}

export function readDouble(from: Reader): number {
  for (let at = 0; at < 8; at++) scratch.setUint8(at, from.packed.charCodeAt(from.at++));
  return scratch.getFloat64(0);
}

export function readChars(from: Reader, tag: number): string {
  const length = readCount(from);
  const bytes = tag === tags.bytes ? length : 2 * length;
  const packed = from.packed.slice(from.at, from.at + bytes);
  from.at += bytes;
  // Through bytes: a slice of V8's would keep the whole packed text.
  const buffer = Buffer.from(packed, "latin1");
  return tag === tags.bytes ? buffer.toString("latin1") : buffer.toString("utf16le");
}
