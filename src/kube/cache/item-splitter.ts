// Splits a Kubernetes list, as its bytes arrive, into the texts of its items and the envelope around them.
//
// A list of 50,000 objects is 50-500 MB of JSON: one string plus one parse would hold it three times over. The splitter
// keeps the item at hand and the envelope (kind, apiVersion, metadata). It only finds borders; JSON.parse judges.

/** In ASCII. */
export const signs = { quote: 0x22, backslash: 0x5c, comma: 0x2c, colon: 0x3a, openBrace: 0x7b } as const;
const { quote, backslash, comma, colon, openBrace } = signs;
const openBracket = 0x5b;
const closeBrace = 0x7d;
const closeBracket = 0x5d;

export const isOpening = (code: number) => code === openBrace || code === openBracket;
export const isClosing = (code: number) => code === closeBrace || code === closeBracket;

/** etcd stores at most 1.5 MiB per object by default; its JSON may be 3 times as large; doubled for raised limits. */
const defaultMaxItemBytes = 10 * 1024 * 1024;
/** kind, apiVersion, resourceVersion and a continue token: some hundred bytes. */
const maxEnvelopeBytes = 1024 * 1024;

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

export class ItemSplitter {
  readonly #onItem: (text: string) => void;
  readonly #maxItemBytes: number;
  readonly #envelope: Uint8Array[] = [];
  #envelopeBytes = 0;
  /** Parts of the item at hand that came in earlier chunks. */
  #partial: Uint8Array[] = [];
  #partialBytes = 0;

  #depth = 0;
  #inString = false;
  #escaped = false;
  #topIsObject = false;
  /** At depth 1: a string that begins now is a key. */
  #expectKey = false;
  #key: number[] = [];
  #keyIsItems = false;
  #afterColon = false;
  /** Inside the array of items; depth then counts from the array. */
  #inItems = false;
  #items = 0;

  constructor(onItem: (text: string) => void, maxItemBytes = defaultMaxItemBytes) {
    this.#onItem = onItem;
    this.#maxItemBytes = maxItemBytes;
  }

  push(chunk: Uint8Array): void {
    let at = 0;
    while (at < chunk.length) at = this.#inItems ? this.#scanItems(chunk, at) : this.#scanEnvelope(chunk, at);
  }

  /** The list without its items. Throws SyntaxError if the text was cut short or was not JSON. */
  end(): unknown {
    if (this.#inItems) throw new SyntaxError("The list ended inside its items.");
    return JSON.parse(decode(this.#envelope));
  }

  /** Reads up to the border of the next item, or the end of the chunk. */
  #scanItems(chunk: Uint8Array, start: number): number {
    let depth = this.#depth;
    let inString = this.#inString;
    let escaped = this.#escaped;
    let at = start;
    for (; at < chunk.length; at++) {
      const byte = chunk[at]!;
      if (inString) {
        if (escaped) escaped = false;
        else if (byte === backslash) escaped = true;
        else if (byte === quote) inString = false;
      } else if (byte === quote) inString = true;
      else if (isOpening(byte)) depth++;
      else if (isClosing(byte)) {
        if (depth === 0) break;
        depth--;
      } else if (byte === comma && depth === 0) break;
    }
    this.#depth = depth;
    this.#inString = inString;
    this.#escaped = escaped;
    this.#keep(chunk.subarray(start, at));
    if (at === chunk.length) return at;
    return this.#closeItem(chunk[at]!, at);
  }

  #closeItem(byte: number, at: number): number {
    const text = decode(this.#partial);
    this.#partial = [];
    this.#partialBytes = 0;
    if (byte === comma || this.#items > 0 || text.trim() !== "") {
      this.#items++;
      this.#onItem(text);
    }
    if (byte === comma) return at + 1;
    if (byte === closeBrace) throw new SyntaxError("The list's items are closed by a brace.");
    this.#inItems = false;
    this.#depth = 2; // the closing bracket is the envelope's to read
    return at;
  }

  #keep(part: Uint8Array): void {
    if (part.length === 0) return;
    this.#partialBytes += part.length;
    if (this.#partialBytes > this.#maxItemBytes) {
      throw new RangeError(`An item of the list is larger than ${this.#maxItemBytes} bytes.`);
    }
    this.#partial.push(part);
  }

  /** Reads up to the first item, or the end of the chunk. */
  #scanEnvelope(chunk: Uint8Array, start: number): number {
    let at = start;
    while (at < chunk.length && !this.#inItems) this.#envelopeByte(chunk[at++]!);
    this.#envelopeBytes += at - start;
    if (this.#envelopeBytes > maxEnvelopeBytes) {
      throw new RangeError(`The list's envelope is larger than ${maxEnvelopeBytes} bytes.`);
    }
    this.#envelope.push(chunk.slice(start, at));
    return at;
  }

  #envelopeByte(byte: number): void {
    if (this.#inString) return this.#stringByte(byte);
    if (byte <= 0x20) return;
    const isItems = this.#afterColon && this.#keyIsItems && byte === openBracket;
    this.#afterColon = false;
    if (byte === quote) {
      this.#inString = true;
      this.#key = [];
    } else if (isOpening(byte)) {
      if (this.#depth++ === 0) this.#topIsObject = this.#expectKey = byte === openBrace;
      if (isItems) {
        this.#inItems = true;
        this.#depth = 0;
        this.#items = 0;
      }
    } else if (isClosing(byte)) this.#depth--;
    else if (this.#depth === 1 && byte === comma) this.#expectKey = this.#topIsObject;
    else if (this.#depth === 1 && byte === colon) this.#afterColon = true;
  }

  #stringByte(byte: number): void {
    const isKey = this.#depth === 1 && this.#expectKey;
    if (!this.#escaped && byte === quote) {
      this.#inString = false;
      if (!isKey) return;
      this.#expectKey = false;
      this.#keyIsItems = JSON.parse(`"${decode([Uint8Array.from(this.#key)])}"`) === "items";
      return;
    }
    this.#escaped = !this.#escaped && byte === backslash;
    if (isKey) this.#key.push(byte);
  }
}

function decode(parts: readonly Uint8Array[]): string {
  if (parts.length === 1) return decoder.decode(parts[0]);
  return decoder.decode(Buffer.concat(parts));
}
