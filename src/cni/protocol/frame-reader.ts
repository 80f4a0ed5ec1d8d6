// Puts a frame together from chunks cut anywhere: a fixed header that says how long the rest is, then the rest.
import { FrameError } from "./frame-error.ts";

export interface FrameShape {
  /** For messages: "request" or "reply". */
  readonly name: string;
  /** Three letters and the version. */
  readonly magic: readonly [number, number, number, number];
  readonly headerBytes: number;
}

export abstract class FrameReader<Frame> {
  readonly #shape: FrameShape;
  #header: DataView | undefined;
  /** Of the part that is being read, header or body. Invariant: their lengths add up to `#kept` < what the part takes. */
  #chunks: Uint8Array[] = [];
  #kept = 0;
  #bodyBytes = 0;
  #frame: Frame | undefined;

  constructor(shape: FrameShape) {
    this.#shape = shape;
  }

  /** Judges the lengths of the header: the bytes that follow it, or a FrameError. */
  protected abstract bodyBytes(header: DataView): number;

  protected abstract decode(header: DataView, body: Uint8Array): Frame;

  /** The frame once it is whole, undefined before. A FrameError is final: push nothing more. The chunk is not kept. */
  push(chunk: Uint8Array): Frame | undefined {
    let rest = chunk;
    if (this.#header === undefined) {
      const header = this.#fill(rest, this.#shape.headerBytes);
      this.#assertMagic(header.part ?? this.#joined());
      if (header.part === undefined) return undefined;
      this.#header = new DataView(header.part.buffer, header.part.byteOffset, header.part.length);
      this.#bodyBytes = this.bodyBytes(this.#header);
      rest = header.rest;
    }
    if (this.#frame === undefined) {
      const body = this.#fill(rest, this.#bodyBytes);
      if (body.part === undefined) return undefined;
      this.#frame = this.decode(this.#header, body.part);
      rest = body.rest;
    }
    if (rest.length > 0) {
      throw new FrameError(
        "trailing-bytes",
        `${rest.length} bytes follow the ${this.#shape.name}: one connection carries one.`,
      );
    }
    return this.#frame;
  }

  /** The other side has closed: a FrameError where something is missing. */
  end(): void {
    if (this.#frame !== undefined) return;
    const place =
      this.#header === undefined
        ? `${this.#kept} bytes into its header`
        : `with ${this.#kept} of ${this.#bodyBytes} bytes`;
    throw new FrameError("truncated", `the ${this.#shape.name} ended ${place}: the other side closed the connection.`);
  }

  #fill(chunk: Uint8Array, wanted: number): { part: Uint8Array | undefined; rest: Uint8Array } {
    const missing = wanted - this.#kept;
    const taken = chunk.subarray(0, missing);
    if (taken.length > 0) this.#chunks.push(new Uint8Array(taken)); // a Buffer's own slice() would be a view
    this.#kept += taken.length;
    if (this.#kept < wanted) return { part: undefined, rest: chunk.subarray(taken.length) };
    const part = this.#joined();
    this.#chunks = [];
    this.#kept = 0;
    return { part, rest: chunk.subarray(taken.length) };
  }

  #joined(): Uint8Array {
    const [first, second] = this.#chunks;
    if (first !== undefined && second === undefined) return first;
    const joined = new Uint8Array(this.#kept);
    let offset = 0;
    for (const chunk of this.#chunks) {
      joined.set(chunk, offset);
      offset += chunk.length;
    }
    return joined;
  }

  /** As early as its bytes allow: a stranger is sent away before it has sent a header. */
  #assertMagic(header: Uint8Array): void {
    const { magic, name } = this.#shape;
    for (let index = 0; index < Math.min(4, header.length); index++) {
      if (header[index] === magic[index]) continue;
      if (index < 3) {
        throw new FrameError("bad-magic", `this is no ${name} of Holdfast: its first bytes are ${hex(header)}.`);
      }
      throw new FrameError(
        "bad-version",
        `the ${name} is of version ${header[index]}, this side speaks ${magic[index]}: run \`holdfast cni install\` of the daemon's release.`,
      );
    }
  }
}

function hex(bytes: Uint8Array): string {
  return [...bytes.subarray(0, 4)].map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
}
