// The options of a message, of a relay's header or within an IA, as places in their bytes (RFC 8415 section 21.1).

import { uint16 } from "../../../frame/bytes.ts";

/** Code and length. */
export const optionHeadBytes = 4;

/** Numbers that each option takes in `places`. */
const stride = 3;

export class OptionListV6 {
  readonly #bytes: Uint8Array;
  /** Code, start of the data, bytes; for each appearance. A datagram of 64 KiB has 16,384 appearances at most. */
  readonly #places: readonly number[];

  private constructor(bytes: Uint8Array, places: readonly number[]) {
    this.#bytes = bytes;
    this.#places = places;
  }

  /** The options from `from` to the end of the bytes; undefined where the last one is cut off. */
  static scan(bytes: Uint8Array, from: number): OptionListV6 | undefined {
    const places: number[] = [];
    for (let at = from; at < bytes.length;) {
      if (at + optionHeadBytes > bytes.length) return undefined;
      const length = uint16(bytes, at + 2);
      const start = at + optionHeadBytes;
      if (start + length > bytes.length) return undefined;
      places.push(uint16(bytes, at), start, length);
      at = start + length;
    }
    return new OptionListV6(bytes, places);
  }

  has(code: number): boolean {
    return this.#find(code, 0) >= 0;
  }

  isRepeated(code: number): boolean {
    const first = this.#find(code, 0);
    return first >= 0 && this.#find(code, first + stride) >= 0;
  }

  /** A view of the first appearance: options of which there may be several are read by `all`. */
  get(code: number): Uint8Array | undefined {
    const at = this.#find(code, 0);
    return at < 0 ? undefined : this.#view(at);
  }

  /** Every option in its order, as code and view. */
  *all(): Generator<readonly [number, Uint8Array]> {
    for (let at = 0; at < this.#places.length; at += stride) yield [this.#places[at]!, this.#view(at)];
  }

  #find(code: number, from: number): number {
    const places = this.#places;
    for (let at = from; at < places.length; at += stride) if (places[at] === code) return at;
    return -1;
  }

  #view(at: number): Uint8Array {
    const from = this.#places[at + 1]!;
    return this.#bytes.subarray(from, from + this.#places[at + 2]!);
  }
}
