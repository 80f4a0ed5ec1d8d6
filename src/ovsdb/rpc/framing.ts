// Messages out of a byte stream. RFC 7047 section 4 puts JSON texts on it one after another, with nothing between.
//
// Promised: any cut of the stream gives the same messages, also within a character of several bytes; a message is never
// kept beyond the limit. After a throw the stream is lost: where the next message begins cannot be known.
import { OvsdbError } from "../error.ts";

/** RFC 7047's messages nest about ten deep; ovsdb-server itself stops at 1,000. */
const deepest = 200;

const [quote, backslash, openBrace, closeBrace, openBracket, closeBracket] = [0x22, 0x5c, 0x7b, 0x7d, 0x5b, 0x5d];

export class MessageReader {
  readonly #maxBytes: number;
  readonly #decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  /** The message under way, as it came. */
  #chunks: Uint8Array[] = [];
  #bytes = 0;
  #depth = 0;
  #inString = false;
  #escaped = false;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The messages that the chunk completes. */
  push(chunk: Uint8Array): unknown[] {
    const messages: unknown[] = [];
    let start = 0;
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at]!;
      if (this.#depth === 0) {
        if (isSpace(byte)) {
          start = at + 1;
          continue;
        }
        if (byte !== openBrace) throw malformed("something that is no JSON object");
        start = at;
        this.#depth = 1;
      } else if (this.#read(byte)) {
        this.#keep(chunk.subarray(start, at + 1));
        messages.push(this.#take());
        start = at + 1;
      }
    }
    if (this.#depth > 0) this.#keep(chunk.subarray(start));
    return messages;
  }

  /** True if the byte ends the message. Bytes of characters beyond ASCII are 0x80 or more: they are none of these. */
  #read(byte: number): boolean {
    if (this.#inString) {
      if (this.#escaped) this.#escaped = false;
      else if (byte === backslash) this.#escaped = true;
      else if (byte === quote) this.#inString = false;
    } else if (byte === quote) this.#inString = true;
    else if (byte === openBrace || byte === openBracket) {
      if (++this.#depth > deepest) throw malformed(`JSON that nests deeper than ${deepest}`);
    } else if (byte === closeBrace || byte === closeBracket) return --this.#depth === 0;
    return false;
  }

  #keep(part: Uint8Array): void {
    this.#bytes += part.length;
    if (this.#bytes > this.#maxBytes) {
      throw new OvsdbError(
        "too-large",
        `The server sends a message of more than ${this.#maxBytes} bytes: follow fewer tables or columns, or raise maxMessageBytes.`,
      );
    }
    this.#chunks.push(part);
  }

  #take(): unknown {
    const bytes = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks);
    this.#chunks = [];
    this.#bytes = 0;
    try {
      return JSON.parse(this.#decoder.decode(bytes)) as unknown;
    } catch (error) {
      throw malformed("bytes that are no JSON", error);
    }
  }
}

const isSpace = (byte: number) => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

function malformed(what: string, cause?: unknown): OvsdbError {
  return new OvsdbError("malformed", `The server sent ${what}: is this the port of an OVSDB server?`, { cause });
}
