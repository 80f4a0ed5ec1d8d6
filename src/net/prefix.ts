// A prefix (CIDR block): a network address and a length (RFC 4632, RFC 4291 section 2.3). Canonical: no host bits.
import {
  type Address,
  bitsOf,
  compare,
  equal,
  type Family,
  parseAddress,
  type ParseOptions,
  unmapped,
  V4Address,
  V6Address,
} from "./address.ts";
import { NetError } from "./error.ts";

export class Prefix {
  readonly network: Address;
  readonly length: number;

  private constructor(network: Address, length: number) {
    this.network = network;
    this.length = length;
  }

  /** The prefix of that length around the address: host bits are cleared. */
  static around(address: Address, length: number): Prefix {
    const bits = bitsOf(address.family);
    if (!Number.isInteger(length) || length < 0 || length > bits)
      throw new NetError("bad-prefix", `/${length} is no prefix length for ${address}: it goes from 0 to ${bits}.`);
    return new Prefix(masked(address, length, 0), length);
  }

  get family(): Family {
    return this.network.family;
  }
  /** The first address; the network's own address in IPv4, the subnet-router anycast address in IPv6. */
  get first(): Address {
    return this.network;
  }
  /** The last address; the broadcast address in IPv4. */
  get last(): Address {
    return masked(this.network, this.length, 0xffff_ffff);
  }
  /** Number of host bits. */
  get hostBits(): number {
    return bitsOf(this.family) - this.length;
  }
  /** 2^hostBits. */
  get size(): bigint {
    return 1n << BigInt(this.hostBits);
  }
  toString(): string {
    return `${this.network}/${this.length}`;
  }
  toJSON(): string {
    return this.toString();
  }
}

/** An address as it stands on an interface: `10.0.0.7/24` keeps both the 7 and the /24. */
export interface Cidr {
  readonly address: Address;
  readonly prefix: Prefix;
}

/** Reads `address/length`, host bits allowed, as Go's ParseCIDR does. Sloppy allows leading zeros in both. */
export function parseCidr(text: string, options: ParseOptions = {}): Cidr {
  const slash = text.indexOf("/");
  if (slash < 0) {
    const example = text.includes(":") ? "fd00::/64" : "10.0.0.0/24";
    const words = `${JSON.stringify(text)} has no prefix length: write it as address/length, like ${example}.`;
    throw new NetError("bad-prefix", words);
  }
  const digits = text.slice(slash + 1);
  const wellFormed = options.sloppy ? /^\d{1,9}$/ : /^(0|[1-9]\d{0,2})$/;
  if (!wellFormed.test(digits)) {
    const words = `${JSON.stringify(text)} has no valid prefix length: ${JSON.stringify(digits)} is not a plain decimal number.`;
    throw new NetError("bad-prefix", words);
  }
  const address = parseAddress(text.slice(0, slash), { ...options, unmap: false });
  const cidr = { address, prefix: Prefix.around(address, Number(digits)) };
  return options.unmap ? unmappedCidr(cidr) : cidr;
}

/** `::ffff:10.0.0.7/120` is 10.0.0.7/24, as Go prints it. Below /96 it has more than IPv4, and stays IPv6. */
function unmappedCidr(cidr: Cidr): Cidr {
  const address = unmapped(cidr.address);
  if (address.family === cidr.address.family || cidr.prefix.length < 96) return cidr;
  return { address, prefix: Prefix.around(address, cidr.prefix.length - 96) };
}

/** Reads a prefix and refuses host bits, naming the prefix that was probably meant. */
export function parsePrefix(text: string, options: ParseOptions = {}): Prefix {
  const { address, prefix } = parseCidr(text, options);
  if (equal(address, prefix.network)) return prefix;
  throw new NetError("bad-prefix", `${JSON.stringify(text)} has host bits set: the prefix around it is ${prefix}.`);
}

export function contains(prefix: Prefix, address: Address): boolean {
  return address.family === prefix.family && equal(masked(address, prefix.length, 0), prefix.network);
}

export function containsPrefix(outer: Prefix, inner: Prefix): boolean {
  return inner.length >= outer.length && contains(outer, inner.network);
}

export function overlaps(a: Prefix, b: Prefix): boolean {
  return containsPrefix(a, b) || containsPrefix(b, a);
}

/** Order: by network, then the larger block first. */
export function comparePrefixes(a: Prefix, b: Prefix): number {
  return compare(a.network, b.network) || a.length - b.length;
}

/** The prefix's bits of the address, and all host bits 0 (fill 0) or 1 (fill 0xffffffff). */
function masked(address: Address, length: number, fill: number): Address {
  if (address.family === 4) return new V4Address(maskWord(address.value, length, fill));
  return new V6Address(
    maskWord(address.w0, length, fill),
    maskWord(address.w1, length - 32, fill),
    maskWord(address.w2, length - 64, fill),
    maskWord(address.w3, length - 96, fill),
  );
}

function maskWord(word: number, bits: number, fill: number): number {
  if (bits >= 32) return word;
  if (bits <= 0) return fill >>> 0;
  const host = 0xffff_ffff >>> bits;
  return ((word & ~host) | (fill & host)) >>> 0;
}
