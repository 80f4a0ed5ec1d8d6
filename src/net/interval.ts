// A run of addresses, both ends included: the `A-B` of configurations, and what a prefix spans.
import { type Address, assertSameFamily, compare, distance, parseAddress, type ParseOptions } from "./address.ts";
import { attempt } from "./coded-error.ts";
import { NetError } from "./error.ts";
import { contains, parseCidr, type Prefix } from "./prefix.ts";

/** Invariant: one family, first <= last. */
export interface Interval {
  readonly first: Address;
  readonly last: Address;
}

export function interval(first: Address, last: Address): Interval {
  assertSameFamily(first, last);
  if (compare(first, last) > 0)
    throw new NetError("bad-range", `the range ${first}-${last} runs backwards: its start is above its end.`);
  return { first, last };
}

export function intervalOf(prefix: Prefix): Interval {
  return { first: prefix.first, last: prefix.last };
}

export function includes({ first, last }: Interval, address: Address): boolean {
  return address.family === first.family && compare(first, address) <= 0 && compare(address, last) <= 0;
}

export function sizeOf({ first, last }: Interval): bigint {
  return distance(first, last) + 1n;
}

/** What both have, or undefined where they are apart. */
export function intersection(a: Interval, b: Interval): Interval | undefined {
  if (a.first.family !== b.first.family) return undefined;
  const first = compare(a.first, b.first) >= 0 ? a.first : b.first;
  const last = compare(a.last, b.last) <= 0 ? a.last : b.last;
  return compare(first, last) <= 0 ? { first, last } : undefined;
}

export function formatInterval({ first, last }: Interval): string {
  return compare(first, last) === 0 ? `${first}` : `${first}-${last}`;
}

/** A part of a network: what whereabouts writes as `range`. */
export interface Range {
  readonly prefix: Prefix;
  /** Where allocation starts, if the text says so. */
  readonly start?: Address;
  /** Where allocation ends, if the text says so. */
  readonly end?: Address;
}

/**
 * Reads `range`: a CIDR with any host bits (which are dropped), or `A-B/len`, where the network is that of B and A must
 * be inside it. That A may lie above B is for the pool's definition to judge: whereabouts ignores such an end.
 */
export function parseRange(text: string, options: ParseOptions = {}): Range {
  const [left, right, ...more] = text.split("-");
  if (right === undefined) return { prefix: parseCidr(text, options).prefix };
  if (more.length > 0)
    throw new NetError("bad-range", `${JSON.stringify(text)} has more than one "-": write A-B/length.`);
  const start = partOf(text, () => parseAddress(left!, options));
  const { address: end, prefix } = partOf(text, () => parseCidr(right, options));
  if (contains(prefix, start)) return { prefix, start, end };
  const fault = `starts at ${start}, which is outside ${prefix}, the network of its end`;
  throw new NetError("bad-range", `${JSON.stringify(text)} ${fault}.`);
}

/** Reads one block of addresses, as `exclude` lists them: an address, a CIDR (host bits dropped), or `A-B`. */
export function parseBlock(text: string, options: ParseOptions = {}): Interval {
  const dash = text.indexOf("-");
  if (dash >= 0) {
    const end = (part: string) => partOf(text, () => parseAddress(part, options));
    return interval(end(text.slice(0, dash)), end(text.slice(dash + 1)));
  }
  if (text.includes("/")) return intervalOf(parseCidr(text, options).prefix);
  const address = parseAddress(text, options);
  return { first: address, last: address };
}

/** What is wrong with one end of a range names the whole of it too: `""` alone would tell nobody where to look. */
function partOf<T>(text: string, parse: () => T): T {
  return attempt(NetError, parse, (error) => {
    throw new NetError(error.code, `in the range ${JSON.stringify(text)}, ${error.message}`, { cause: error });
  });
}
