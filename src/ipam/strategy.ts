// The order in which free addresses are offered. Each strategy is a lazy sequence over the pool as it is at that moment;
// every free address comes up once at most, and all of them come up if the caller keeps asking.
import { type Address, compare, equal, next, plus } from "../net/address.ts";
import { type Interval, sizeOf } from "../net/interval.ts";
import { type Owner, stableName } from "./owner.ts";
import type { Pool } from "./pool.ts";
import type { Strategy } from "./request.ts";

/** A number in [0, 1), as Math.random gives it. */
export type Random = () => number;

/** The first of `offer`, without the cost of a sequence: most requests need no second. */
export function firstOffer(pool: Pool, strategy: Strategy, owner: Owner, random: Random): Address | undefined {
  const { usable } = pool;
  if (usable === undefined) return undefined;
  switch (strategy.kind) {
    case "lowest":
      return pool.nextFree(usable.first);
    case "next":
      return pool.nextFree(after(pool.lastTaken, usable)) ?? pool.nextFree(usable.first);
    case "sticky":
      return pool.nextFree(stickyStart(usable, owner)) ?? pool.nextFree(usable.first);
    case "random":
      return pool.nextFree(addressAt(usable, random, random)) ?? pool.nextFree(usable.first);
    case "spread":
      return pickAmong(pool, usable, Math.max(1, strategy.width), new Offered(), random);
  }
}

/** Further addresses after `first`, which was offered already. */
export function* offerAfter(
  first: Address,
  pool: Pool,
  strategy: Strategy,
  owner: Owner,
  random: Random,
): IterableIterator<Address> {
  const { usable } = pool;
  if (usable === undefined) return;
  switch (strategy.kind) {
    case "lowest":
      yield* without(first, upwards(pool, first));
      return;
    case "next":
      yield* without(first, roundFrom(pool, usable, first));
      return;
    case "sticky":
      yield* without(first, roundFrom(pool, usable, stickyStart(usable, owner)));
      return;
    case "random":
      yield* randomly(first, pool, usable, random);
      return;
    case "spread":
      yield* spread(first, pool, usable, strategy.width, random);
      return;
  }
}

function* upwards(pool: Pool, from: Address): IterableIterator<Address> {
  for (let at = pool.nextFree(from); at !== undefined;) {
    yield at;
    const above = next(at);
    at = above === undefined ? undefined : pool.nextFree(above);
  }
}

/** From `from` to the end, then from the start to it. */
function* roundFrom(pool: Pool, usable: Interval, from: Address): IterableIterator<Address> {
  yield* upwards(pool, from);
  for (const at of upwards(pool, usable.first)) {
    if (compare(at, from) >= 0) return;
    yield at;
  }
}

/**
 * Draws, then the free address at or above the draw: near-uniform while much is free. After `draws` candidates the rest comes
 * in order, since in a pool that is nearly full a draw would mostly find what was offered before.
 */
const draws = 64;

function* randomly(first: Address, pool: Pool, usable: Interval, random: Random): IterableIterator<Address> {
  const offered = new Offered(first);
  for (let i = 0; i < draws; i++) {
    const from = addressAt(usable, random, random);
    const at = pool.nextFree(from) ?? pool.nextFree(usable.first);
    if (at === undefined) return;
    if (offered.add(at)) yield at;
  }
  for (const at of upwards(pool, usable.first)) if (offered.add(at)) yield at;
}

/** Doubling stops here: choosing among 4,096 costs up to 4,096 steps, and 4,096 writers at once are more than a cluster has. */
const widthMax = 4096;

function* spread(
  first: Address,
  pool: Pool,
  usable: Interval,
  width: number,
  random: Random,
): IterableIterator<Address> {
  const offered = new Offered(first);
  for (let among = 2 * Math.max(1, width); ; among = Math.min(2 * among, widthMax)) {
    const at = pickAmong(pool, usable, among, offered, random);
    if (at === undefined) return;
    offered.add(at);
    yield at;
  }
}

/** A random one of the lowest `among` free addresses that were not offered yet. */
function pickAmong(pool: Pool, usable: Interval, among: number, offered: Offered, random: Random): Address | undefined {
  const skip = Math.floor(random() * among);
  let picked: Address | undefined;
  let seen = 0;
  for (const at of upwards(pool, usable.first)) {
    if (offered.has(at)) continue;
    picked = at;
    if (seen === skip) return picked;
    seen += 1;
  }
  // Fewer than `skip` are left: draw again among those there are.
  if (seen === 0) return picked;
  return seen === 1 ? picked : pickAmong(pool, usable, seen, offered, random);
}

/** Addresses offered by one sequence. */
class Offered {
  readonly #texts = new Set<string>();

  constructor(...addresses: Address[]) {
    for (const each of addresses) this.add(each);
  }

  has(address: Address): boolean {
    return this.#texts.size > 0 && this.#texts.has(address.toString());
  }

  /** Returns false where it was offered before. */
  add(address: Address): boolean {
    if (this.has(address)) return false;
    this.#texts.add(address.toString());
    return true;
  }
}

function* without(first: Address, sequence: Iterable<Address>): IterableIterator<Address> {
  for (const each of sequence) if (!equal(each, first)) yield each;
}

function stickyStart(usable: Interval, owner: Owner): Address {
  return addressAt(usable, fraction(stableName(owner)));
}

function after(address: Address | undefined, usable: Interval): Address {
  const above = address === undefined ? undefined : next(address);
  return above === undefined || compare(above, usable.last) > 0 || compare(above, usable.first) < 0
    ? usable.first
    : above;
}

/** The address that lies at a fraction of the way; two fractions make a fine one, since a wide pool has more than 2^53 addresses. */
function addressAt({ first, last }: Interval, coarse: Random, fine: Random = () => 0): Address {
  const size = sizeOf({ first, last });
  if (size <= BigInt(Number.MAX_SAFE_INTEGER)) return plus(first, Math.floor(coarse() * Number(size)))!;
  const draw = (BigInt(Math.floor(coarse() * 2 ** 53)) << 53n) | BigInt(Math.floor(fine() * 2 ** 53));
  return plus(first, (draw * size) >> 106n)!;
}

/** A number in [0, 1) that depends on the text alone (FNV-1a, 64 bits in two halves, then mixed). */
function fraction(text: string): Random {
  let high = 0x811c9dc5;
  let low = 0x01000193;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    high = Math.imul(high ^ code, 0x01000193);
    low = Math.imul(low ^ code, 0x85ebca6b) ^ (high >>> 13);
  }
  const value = ((high ^ (high >>> 16)) >>> 0) / 2 ** 32 + (low >>> 11) / 2 ** 53;
  return () => value;
}
