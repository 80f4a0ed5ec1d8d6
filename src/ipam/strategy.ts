// The order in which free addresses are offered. Each strategy is a lazy sequence over the pool as it is at that
// moment; it offers each free address once at most, and all of them if the caller keeps asking.
import { type Address, compare, equal, next, plus } from "../net/address.ts";
import { drawFrom, type Random } from "../net/draw.ts";
import type { Interval } from "../net/interval.ts";
import { type Owner, stableName } from "./owner.ts";
import type { Pool } from "./pool.ts";
import type { Spread, Strategy } from "./request.ts";
import { hashText, hashWord } from "./slot-index.ts";

/** Of which pool, in which order, and for whom. */
export interface Offering {
  readonly pool: Pool;
  readonly strategy: Strategy;
  readonly owner: Owner;
  readonly random: Random;
}

/** The first of `offer`, without the cost of a sequence: most requests need no second. */
export function firstOffer({ pool, strategy, owner, random }: Offering): Address | undefined {
  const { usable } = pool;
  switch (strategy.kind) {
    case "lowest":
      return pool.nextFree(usable.first);
    case "sticky":
      return pool.nextFree(stickyStart(usable, owner)) ?? pool.nextFree(usable.first);
    case "random":
      return pool.nextFree(drawFrom(usable, random)) ?? pool.nextFree(usable.first);
    case "spread":
      return lowestOfStripes(pool, strategy, new Offered(), 0);
  }
}

/** Further addresses after `first`, which was offered already. */
export function offerAfter(first: Address, { pool, strategy, owner, random }: Offering): Iterable<Address> {
  switch (strategy.kind) {
    case "lowest":
      return without(first, upwards(pool, first));
    case "sticky":
      return without(first, roundFrom(pool, stickyStart(pool.usable, owner)));
    case "random":
      return randomly(first, pool, random);
    case "spread":
      return spread(first, pool, strategy);
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
function* roundFrom(pool: Pool, from: Address): IterableIterator<Address> {
  yield* upwards(pool, from);
  for (const at of upwards(pool, pool.usable.first)) {
    if (compare(at, from) >= 0) return;
    yield at;
  }
}

/**
 * Draws, then the free address at or above the draw: near-uniform while much is free. After `draws` candidates the rest
 * comes in order: in a nearly full pool a draw mostly finds what was offered before.
 */
const draws = 64;

function* randomly(first: Address, pool: Pool, random: Random): IterableIterator<Address> {
  const { usable } = pool;
  const offered = new Offered(first);
  for (let i = 0; i < draws; i++) {
    const at = pool.nextFree(drawFrom(usable, random)) ?? pool.nextFree(usable.first);
    if (at === undefined) return;
    if (offered.add(at)) yield at;
  }
  for (const at of upwards(pool, usable.first)) if (offered.add(at)) yield at;
}

/** More stripes count as so many: 2,048 writers with eight each, and a walk over all of them is a millisecond. */
const stripesMax = 16_384;

/** A power of two, so that any odd step visits every stripe. NaN counts as 1. */
function stripesOf({ stripes }: Spread): number {
  return stripes > 1 ? 2 ** Math.ceil(Math.log2(Math.min(stripes, stripesMax))) : 1;
}

/** The strategy is read anew for every candidate: after a conflict its writer may have gone on to other stripes. */
function* spread(first: Address, pool: Pool, strategy: Spread): IterableIterator<Address> {
  const offered = new Offered(first);
  for (let turn = 1; ; turn++) {
    const at = lowestOfStripes(pool, strategy, offered, turn);
    if (at === undefined) return;
    offered.add(at);
    yield at;
  }
}

/** The lowest free address of the first stripe, from the `turn`-th on, that has one which was not offered yet. */
function lowestOfStripes(pool: Pool, strategy: Spread, offered: Offered, turn: number): Address | undefined {
  const { first, step } = strategy;
  const stripes = stripesOf(strategy);
  for (let visited = 0; visited < stripes; visited++) {
    const stripe = (first + Math.imul(turn + visited, step | 1)) & (stripes - 1);
    const at = lowestOf(pool, stripe, stripes, offered);
    if (at !== undefined) return at;
  }
  return undefined;
}

/** Goes from one free address to the next of the stripe at or above it: taken runs are passed over as a whole. */
function lowestOf(pool: Pool, stripe: number, stripes: number, offered: Offered): Address | undefined {
  for (let at = pool.nextFree(pool.usable.first); at !== undefined;) {
    const ahead = (stripe - lowWord(at)) & (stripes - 1);
    if (ahead === 0 && !offered.has(at)) return at;
    const further = plus(at, ahead === 0 ? stripes : ahead);
    at = further === undefined ? undefined : pool.nextFree(further);
  }
  return undefined;
}

/** Stripes go by the address, not by its place in a pool: overlapping pools of one domain have the same ones. */
function lowWord(address: Address): number {
  return address.family === 4 ? address.value : address.w3;
}

export function isInFirstStripe(address: Address, strategy: Spread): boolean {
  return ((strategy.first - lowWord(address)) & (stripesOf(strategy) - 1)) === 0;
}

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

/** Random numbers that depend on the text alone: the same name draws the same address. */
function randomFrom(text: string): Random {
  let state = hashText(text);
  return () => {
    state = (state + 0x9e3779b9) | 0;
    return (hashWord(state) >>> 0) / 0x1_0000_0000;
  };
}
