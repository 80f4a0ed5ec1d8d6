// An IP address as a value: immutable, compared by number, printed canonically. Arithmetic is exact over the whole
// space of its family and never wraps: what would leave the space is `undefined`. Hot loops use V4Address.value and
// number offsets; a bigint appears only where a caller asks for one.
import { NetError } from "./error.ts";
import { formatV4, scanV4 } from "./v4.ts";
import { formatV6, scanV6 } from "./v6.ts";

export type Family = 4 | 6;
export type Address = V4Address | V6Address;

const two32 = 0x1_0000_0000;

export class V4Address {
  /** 0 to 2^32 - 1. */
  readonly value: number;

  constructor(value: number) {
    this.value = value;
  }
  get family(): 4 {
    return 4;
  }
  toString(): string {
    return formatV4(this.value);
  }
  toJSON(): string {
    return this.toString();
  }
}

export class V6Address {
  /** Most significant first; each 0 to 2^32 - 1. */
  readonly w0: number;
  readonly w1: number;
  readonly w2: number;
  readonly w3: number;

  constructor(w0: number, w1: number, w2: number, w3: number) {
    this.w0 = w0;
    this.w1 = w1;
    this.w2 = w2;
    this.w3 = w3;
  }
  get family(): 6 {
    return 6;
  }
  toString(): string {
    return formatV6(this.w0, this.w1, this.w2, this.w3);
  }
  toJSON(): string {
    return this.toString();
  }
}

export interface ParseOptions {
  /** Leading zeros allowed, read as decimal (IPv4) or hexadecimal (IPv6): what whereabouts accepts in `range`. */
  readonly sloppy?: boolean;
  /** `::ffff:10.0.0.1` becomes 10.0.0.1, as Go's net.IP treats it. Default: it stays IPv6. */
  readonly unmap?: boolean;
}

export function parseAddress(text: string, options: ParseOptions = {}): Address {
  const sloppy = options.sloppy ?? false;
  if (!text.includes(":")) {
    const value = scanV4(text, sloppy);
    if (typeof value === "number") return new V4Address(value);
    throw new NetError("bad-address", `${JSON.stringify(text)} is not an IP address: ${value}.`);
  }
  const words = scanV6(text, sloppy);
  if (typeof words === "string")
    throw new NetError("bad-address", `${JSON.stringify(text)} is not an IPv6 address: ${words}.`);
  const address = new V6Address(...words);
  return options.unmap ? unmapped(address) : address;
}

/** The IPv4 address inside `::ffff:0:0/96`, or the address itself (RFC 4291 section 2.5.5.2). */
export function unmapped(address: Address): Address {
  if (address.family === 4 || address.w0 !== 0 || address.w1 !== 0 || address.w2 !== 0xffff) return address;
  return new V4Address(address.w3);
}

/** `::ffff:a.b.c.d` of an IPv4 address; an IPv6 address is itself. */
export function mapped(address: Address): V6Address {
  return address.family === 6 ? address : new V6Address(0, 0, 0xffff, address.value);
}

/** Order: IPv4 before IPv6, then by number. Negative, zero or positive, as Array.sort wants it. */
export function compare(a: Address, b: Address): number {
  if (a.family === 4) return b.family === 4 ? a.value - b.value : -1;
  if (b.family === 4) return 1;
  return a.w0 - b.w0 || a.w1 - b.w1 || a.w2 - b.w2 || a.w3 - b.w3;
}

export function equal(a: Address, b: Address): boolean {
  return compare(a, b) === 0;
}

export function next(address: Address): Address | undefined {
  return plus(address, 1);
}

export function previous(address: Address): Address | undefined {
  return minus(address, 1);
}

/** `address + count`, or undefined past the end of the space. `count` is a whole number, not negative. */
export function plus(address: Address, count: number | bigint): Address | undefined {
  if (count > Number.MAX_SAFE_INTEGER) return fromBigIntOrNothing(address.family, toBigInt(address) + BigInt(count));
  const n = Number(count);
  if (address.family === 4) {
    const sum = address.value + n;
    return sum < two32 ? new V4Address(sum) : undefined;
  }
  // n < 2^53: two words say it.
  const low = n % two32;
  return addWords(address, 0, 0, (n - low) / two32, low);
}

/** `address - count`, or undefined before the start of the space. `count` is a whole number, not negative. */
export function minus(address: Address, count: number | bigint): Address | undefined {
  if (count > Number.MAX_SAFE_INTEGER) return fromBigIntOrNothing(address.family, toBigInt(address) - BigInt(count));
  const n = Number(count);
  if (address.family === 4) return address.value >= n ? new V4Address(address.value - n) : undefined;
  const low = n % two32;
  return subtractWords(address, 0, 0, (n - low) / two32, low);
}

/** Words most significant first, each below 2^32, so that none carries by more than one. */
export function addWords(to: V6Address, w0: number, w1: number, w2: number, w3: number): V6Address | undefined {
  const s3 = to.w3 + w3;
  const s2 = to.w2 + w2 + (s3 >= two32 ? 1 : 0);
  const s1 = to.w1 + w1 + (s2 >= two32 ? 1 : 0);
  const s0 = to.w0 + w0 + (s1 >= two32 ? 1 : 0);
  return s0 < two32 ? new V6Address(s0, s1 % two32, s2 % two32, s3 % two32) : undefined;
}

export function subtractWords(from: V6Address, w0: number, w1: number, w2: number, w3: number): V6Address | undefined {
  const d3 = from.w3 - w3;
  const d2 = from.w2 - w2 - (d3 < 0 ? 1 : 0);
  const d1 = from.w1 - w1 - (d2 < 0 ? 1 : 0);
  const d0 = from.w0 - w0 - (d1 < 0 ? 1 : 0);
  const wrap = (word: number) => (word < 0 ? word + two32 : word);
  return d0 >= 0 ? new V6Address(d0, wrap(d1), wrap(d2), wrap(d3)) : undefined;
}

/** `to - from`, 0 to 2^53 - 1; undefined: negative, larger, or between families. The hot path of every pool. */
export function offsetBetween(from: Address, to: Address): number | undefined {
  if (from.family === 4) return to.family === 4 && to.value >= from.value ? to.value - from.value : undefined;
  if (to.family === 4) return undefined;
  // Where the upper halves differ, which is rare, the distance may still be small: across a carry.
  const isNear = to.w0 === from.w0 && to.w1 === from.w1;
  const offset = isNear ? (to.w2 - from.w2) * two32 + (to.w3 - from.w3) : Number(toBigInt(to) - toBigInt(from));
  return offset >= 0 && offset <= Number.MAX_SAFE_INTEGER ? offset : undefined;
}

/** `to - from`, exact and signed. Throws between families. */
export function distance(from: Address, to: Address): bigint {
  assertSameFamily(from, to);
  return toBigInt(to) - toBigInt(from);
}

export function toBigInt(address: Address): bigint {
  if (address.family === 4) return BigInt(address.value);
  const high = (BigInt(address.w0) << 32n) | BigInt(address.w1);
  const low = (BigInt(address.w2) << 32n) | BigInt(address.w3);
  return (high << 64n) | low;
}

export function fromBigInt(family: Family, value: bigint): Address {
  const address = fromBigIntOrNothing(family, value);
  if (address !== undefined) return address;
  throw new NetError("out-of-space", `${value} is outside the IPv${family} address space.`);
}

function fromBigIntOrNothing(family: Family, value: bigint): Address | undefined {
  if (value < 0n || value >> BigInt(bitsOf(family)) !== 0n) return undefined;
  if (family === 4) return new V4Address(Number(value));
  const word = (shift: bigint) => Number((value >> shift) & 0xffff_ffffn);
  return new V6Address(word(96n), word(64n), word(32n), word(0n));
}

export function bitsOf(family: Family): 32 | 128 {
  return family === 4 ? 32 : 128;
}

export function assertSameFamily(a: Address, b: Address): void {
  if (a.family === b.family) return;
  const words = `${a} is IPv${a.family} and ${b} is IPv${b.family}: give two of the same family.`;
  throw new NetError("mixed-families", words);
}

/** Most significant byte first, as on the wire: 4 or 16 of them. */
export function addressToBytes(address: Address): Uint8Array {
  const words = address.family === 4 ? [address.value] : [address.w0, address.w1, address.w2, address.w3];
  return Uint8Array.from(words.flatMap((word) => [word >>> 24, (word >>> 16) & 255, (word >>> 8) & 255, word & 255]));
}
