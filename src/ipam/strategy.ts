// The order in which free addresses are offered. Each strategy is a lazy sequence over the pool as it is at that moment;
// every free address comes up once at most, and all of them come up if the caller keeps asking.
import { type Address, compare, equal, next } from "../net/address.ts";
import { drawFrom, type Random } from "../net/draw.ts";
import type { Interval } from "../net/interval.ts";
import { type Owner, stableName } from "./owner.ts";
import type { Pool } from "./pool.ts";
import type { Strategy } from "./request.ts";
import { hashText, hashWord } from "./slot-index.ts";

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
      return pool.nextFree(drawFrom(usable, random)) ?? pool.nextFree(usable.first);
    case "spread":
      return pickAmong(pool, usable, widthOf(strategy.width), new Offered(), random);
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
    const at = pool.nextFree(drawFrom(usable, random)) ?? pool.nextFree(usable.first);
    if (at === undefined) return;
    if (offered.add(at)) yield at;
  }
  for (const at of upwards(pool, usable.first)) if (offered.add(at)) yield at;
}

/** No width is larger, and doubling stops here: choosing among 4,096 costs up to 4,096 steps, and 4,096 writers at once are more than a cluster has. */
const widthMax = 4096;

/** What is no number counts as 1: without a bound the walk would not end in an IPv6 pool. */
function widthOf(width: number): number {
  return width >= 1 ? Math.min(width, widthMax) : 1;
}

function* spread(
  first: Address,
  pool: Pool,
  usable: Interval,
  width: number,
  random: Random,
): IterableIterator<Address> {
  const offered = new Offered(first);
  for (let among = 2 * widthOf(width); ; among = widthOf(2 * among)) {
    const at = pickAmong(pool, usable, Math.min(among, widthMax), offered, random);
    if (at === undefined) return;
    offered.add(at);
    yield at;
  }
}

/** A random one of the lowest `among` free addresses that were not offered yet. */
function pickAmong(pool: Pool, usable: Interval, among: number, offered: Offered, random: Random): Address | undefined {
  const skip = Math.floor(random() * among);
  let seen = 0;
  let picked: Address | undefined;
  for (let at = pool.nextFree(usable.first); at !== undefined;) {
    if (!offered.has(at)) {
      picked = at;
      if (seen === skip) return picked;
      seen += 1;
    }
    const above = next(at);
    at = above === undefined ? undefined : pool.nextFree(above);
  }
  // There are no more than `seen`: draw again among those.
  return seen < 2 ? picked : pickAmong(pool, usable, seen, offered, random);
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
  return drawFrom(usable, randomFrom(stableName(owner)));
}

function after(address: Address | undefined, usable: Interval): Address {
  const above = address === undefined ? undefined : next(address);
  return above === undefined || compare(above, usable.last) > 0 || compare(above, usable.first) < 0
    ? usable.first
    : above;
}

/** Random numbers that depend on the text alone: the same name draws the same address. */
function randomFrom(text: string): Random {
  let state = hashText(text);
  return () => {
    state = (state + 0x9e3779b9) | 0;
    return (hashWord(state) >>> 0) / 0x1_0000_0000;
  };
}
