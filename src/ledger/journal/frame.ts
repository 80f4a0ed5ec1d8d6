// The lines of a journal: `~`, length, sequence number, checksum of the payload, checksum of the header, payload,
// newline. Pure. The header has its own checksum, so a length can be believed: a line that ends early was torn by a
// crash and never answered, while a whole line that does not add up is damage, and may hide an answered record. Gaps in
// the sequence numbers show missing lines. Promised: `scan` never throws, whatever the bytes are.
import { crc32 } from "node:zlib";

/** 1 + 6 (length) + 12 (sequence) + 8 (payload) + 8 (header), in hexadecimal. */
const headerBytes = 35;
const signedBytes = headerBytes - 8;
/** Six hexadecimal digits. A grant with 100,000 taken intervals has 4 MB. */
export const payloadBytesMax = 0xff_ffff;
const tilde = 0x7e;
const newline = 0x0a;

export function encodeFrame(sequence: number, payload: string): Buffer {
  const length = Buffer.byteLength(payload);
  if (length > payloadBytesMax) throw new RangeError(`a record of ${length} bytes does not fit a journal's line`);
  const frame = Buffer.allocUnsafe(headerBytes + length + 1);
  frame.write(payload, headerBytes);
  frame[headerBytes + length] = newline;
  const sum = crc32(frame.subarray(headerBytes, headerBytes + length));
  frame.write(`~${hex(length, 6)}${hex(sequence, 12)}${hex(sum, 8)}`, 0, "latin1");
  frame.write(hex(crc32(frame.subarray(0, signedBytes)), 8), signedBytes, "latin1");
  return frame;
}

export interface Frame {
  readonly sequence: number;
  /** Undefined: damaged. */
  readonly payload?: string;
  /** Where it begins in the file. */
  readonly at: number;
}

/** Meets damaged lines too; a stretch without a header is one of sequence -1. Returns where the next line goes. */
export function scan(bytes: Buffer, meet: (frame: Frame) => void): number {
  let end = bytes.length;
  // File systems fill with zeros what was allocated and not written before a power cut. No line ends in one.
  while (end > 0 && bytes[end - 1] === 0) end -= 1;
  let at = 0;
  while (at < end) {
    if (end - at < headerBytes) return at;
    const header = readHeader(bytes, at);
    if (header === undefined) {
      meet({ sequence: -1, at });
      const next = nextHeader(bytes, at + 1, end);
      if (next === undefined) return end;
      at = next;
      continue;
    }
    const { length, sequence, sum } = header;
    const from = at + headerBytes;
    if (from + length + 1 > end) return at;
    const body = bytes.subarray(from, from + length);
    const isWhole = bytes[from + length] === newline && crc32(body) === sum;
    meet(isWhole ? { sequence, at, payload: bytes.toString("utf8", from, from + length) } : { sequence, at });
    at = from + length + 1;
  }
  return end;
}

function readHeader(bytes: Buffer, at: number) {
  if (bytes[at] !== tilde) return undefined;
  if (parse(bytes, at + signedBytes, 8) !== crc32(bytes.subarray(at, at + signedBytes))) return undefined;
  return { length: parse(bytes, at + 1, 6), sequence: parse(bytes, at + 7, 12), sum: parse(bytes, at + 19, 8) };
}

/** The next place where a header adds up. Each byte is looked at once: linear in what is damaged. */
function nextHeader(bytes: Buffer, from: number, end: number): number | undefined {
  for (let at = bytes.indexOf(tilde, from); at >= 0 && at + headerBytes <= end; at = bytes.indexOf(tilde, at + 1)) {
    if (readHeader(bytes, at) !== undefined) return at;
  }
  return undefined;
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, "0");
}

/** Hexadecimal digits as of `hex`, without a string: three times a line, a million lines. NaN: other characters. */
function parse(bytes: Buffer, from: number, digits: number): number {
  let value = 0;
  for (let at = from; at < from + digits; at++) {
    const code = bytes[at]!;
    if (code >= 0x30 && code <= 0x39) value = value * 16 + code - 0x30;
    else if (code >= 0x61 && code <= 0x66) value = value * 16 + code - 0x57;
    else return Number.NaN;
  }
  return value;
}
