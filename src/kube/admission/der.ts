// DER (X.690), the writing half, as far as a certificate needs it. Values in, bytes out.

const tags = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  oid: 0x06,
  utf8: 0x0c,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;

/** Tag, length, content. Lengths above 127 are written as the count of their bytes, then the bytes (8.1.3). */
function tagged(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(contents);
  if (content.length < 0x80) return Buffer.concat([Buffer.from([tag, content.length]), content]);
  const length = bigEndian(content.length);
  return Buffer.concat([Buffer.from([tag, 0x80 | length.length]), Buffer.from(length), content]);
}

export const sequence = (...parts: readonly Uint8Array[]) => tagged(tags.sequence, ...parts);
export const set = (...parts: readonly Uint8Array[]) => tagged(tags.set, ...parts);
export const octetString = (content: Uint8Array) => tagged(tags.octetString, content);
export const utf8 = (text: string) => tagged(tags.utf8, Buffer.from(text, "utf8"));
export const boolean = (value: boolean) => tagged(tags.boolean, Buffer.from([value ? 0xff : 0]));

/** [n], constructed. */
export const explicit = (n: number, ...parts: readonly Uint8Array[]) => tagged(0xa0 | n, ...parts);
/** [n], in place of the type's own tag, for types that are not constructed. */
export const implicit = (n: number, content: Uint8Array) => tagged(0x80 | n, content);

/** A number, or the bytes of a non-negative one. A leading zero only where the first bit would mean "negative". */
export function integer(value: number | Uint8Array): Buffer {
  const bytes = [...(typeof value === "number" ? bigEndian(value) : value)];
  while (bytes.length > 1 && bytes[0] === 0) bytes.shift();
  if (bytes.length === 0 || bytes[0]! >= 0x80) bytes.unshift(0);
  return tagged(tags.integer, Buffer.from(bytes));
}

/** Whole bytes, or the given count of unused bits in the last. */
export function bitString(content: Uint8Array, unusedBits = 0): Buffer {
  return tagged(tags.bitString, Buffer.from([unusedBits]), content);
}

/** The first two arcs share a byte; the others are in base 128, all bytes but the last with the high bit set (8.19). */
export function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  return tagged(tags.oid, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

/** Two-digit years until 2049, four digits from 2050 on (RFC 5280, 4.1.2.5). */
export function time(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replace(/[-:T]|\.\d+/g, "");
  const isUtc = new Date(ms).getUTCFullYear() < 2050;
  return tagged(isUtc ? tags.utcTime : tags.generalizedTime, Buffer.from(isUtc ? digits.slice(2) : digits, "ascii"));
}

function bigEndian(value: number): number[] {
  const bytes: number[] = [];
  for (let rest = value; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256);
  return bytes;
}

function base128(arc: number): number[] {
  const bytes = [arc % 128];
  for (let rest = Math.floor(arc / 128); rest > 0; rest = Math.floor(rest / 128)) bytes.unshift(0x80 | (rest % 128));
  return bytes;
}
