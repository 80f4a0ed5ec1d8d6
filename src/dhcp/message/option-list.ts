// The options of a received message, as places in its bytes. Several appearances are one option, put together in the
// order of appearance: options field, file, sname (RFC 3396 section 7).

/** Numbers that each option takes in `places`. */
const stride = 3;

export class OptionList {
  readonly #bytes: Uint8Array;
  /** Code, start of the data, bytes; for each appearance. A datagram of 64 KiB has 32,768 appearances at most. */
  readonly #places: readonly number[];
  /** A field ended within an option: what stands here was read before that. */
  readonly isTruncated: boolean;

  constructor(bytes: Uint8Array, places: readonly number[], isTruncated: boolean) {
    this.#bytes = bytes;
    this.#places = places;
    this.isTruncated = isTruncated;
  }

  has(code: number): boolean {
    return this.#find(code, 0) >= 0;
  }

  /** A view of the message where the option appears once, else a copy. */
  get(code: number): Uint8Array | undefined {
    const first = this.#find(code, 0);
    if (first < 0) return undefined;
    const second = this.#find(code, first + stride);
    return second < 0 ? this.#view(first) : this.#concatenate(code, first);
  }

  /** The number in an option of exactly so many bytes; undefined where it is absent or of another length. */
  uint(code: number, width: 1 | 2 | 4): number | undefined {
    const at = this.#find(code, 0);
    if (at < 0) return undefined;
    const single = this.#places[at + 2] === width && this.#find(code, at + stride) < 0;
    const data = single ? this.#bytes : this.get(code)!;
    if (!single && data.length !== width) return undefined;
    let value = 0;
    const from = single ? this.#places[at + 1]! : 0;
    for (let i = from; i < from + width; i++) value = value * 256 + data[i]!;
    return value;
  }

  /** Each code once, in the order of first appearance. */
  codes(): number[] {
    const codes = new Set<number>();
    for (let at = 0; at < this.#places.length; at += stride) codes.add(this.#places[at]!);
    return [...codes];
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

  #concatenate(code: number, first: number): Uint8Array {
    const parts: Uint8Array[] = [];
    let length = 0;
    for (let at = first; at >= 0; at = this.#find(code, at + stride)) {
      parts.push(this.#view(at));
      length += this.#places[at + 2]!;
    }
    const whole = new Uint8Array(length);
    let end = 0;
    for (const part of parts) {
      whole.set(part, end);
      end += part.length;
    }
    return whole;
  }
}
