// Which addresses of a run are taken, and which is the next free one. Two implementations behind one interface: a paged
// bitmap where the run has at most 2^32 addresses, intervals where it is wider. Neither costs what it spans.
import { type Address, compare, offsetBetween, plus } from "../net/address.ts";
import { IntervalSet } from "../net/interval-set.ts";
import { includes, intersection, type Interval, sizeOf } from "../net/interval.ts";
import { Bits } from "./bits.ts";

/** Addresses outside the run are ignored by every operation and are never free. */
export interface Occupancy {
  add(address: Address): void;
  delete(address: Address): void;
  addAll(interval: Interval): void;
  /** The lowest free address at or above `from`; `from` may lie outside the run. */
  nextFree(from: Address): Address | undefined;
  free(): bigint;
}

export function occupancyOf(run: Interval): Occupancy {
  return sizeOf(run) <= 0x1_0000_0000n ? new BitmapOccupancy(run) : new IntervalOccupancy(run);
}

/** 4,096 bits and summaries are 532 bytes; a /8 has 4,096 pages: 2.9 MiB if each holds something and none is full. */
const pageBits = 4096;

export class BitmapOccupancy implements Occupancy {
  readonly #first: Address;
  readonly #size: number;
  /** Page number -> its bits. A page without a taken address, or without a free one, has no entry. */
  readonly #pages = new Map<number, Bits>();
  readonly #fullPages: Bits;
  #taken = 0;

  constructor(run: Interval) {
    this.#first = run.first;
    this.#size = Number(sizeOf(run));
    this.#fullPages = new Bits(Math.ceil(this.#size / pageBits));
  }

  add(address: Address): void {
    const offset = this.#offset(address);
    if (offset >= 0) this.#add(offset);
  }

  delete(address: Address): void {
    const offset = this.#offset(address);
    if (offset < 0) return;
    const page = Math.floor(offset / pageBits);
    let bits = this.#pages.get(page);
    if (bits === undefined) {
      if (!this.#fullPages.delete(page)) return;
      bits = new Bits(this.#sizeOfPage(page));
      bits.fill();
      this.#pages.set(page, bits);
    }
    if (!bits.delete(offset % pageBits)) return;
    this.#taken -= 1;
    if (bits.count === 0) this.#pages.delete(page);
  }

  addAll(interval: Interval): void {
    const last = plus(this.#first, this.#size - 1)!;
    const part = intersection(interval, { first: this.#first, last });
    if (part === undefined) return;
    const to = this.#offset(part.last);
    for (let offset = this.#offset(part.first); offset <= to;) {
      const page = Math.floor(offset / pageBits);
      const size = this.#sizeOfPage(page);
      if (offset % pageBits === 0 && offset + size - 1 <= to) {
        this.#fillPage(page, size);
        offset += size;
      } else {
        this.#add(offset);
        offset += 1;
      }
    }
  }

  nextFree(from: Address): Address | undefined {
    let offset = this.#offset(from);
    if (offset < 0) {
      if (compare(from, this.#first) >= 0) return undefined;
      offset = 0;
    }
    const page = Math.floor(offset / pageBits);
    if (!this.#fullPages.has(page)) {
      const bits = this.#pages.get(page);
      const clear = bits === undefined ? offset % pageBits : bits.nextClear(offset % pageBits);
      if (clear >= 0) return plus(this.#first, page * pageBits + clear);
    }
    const later = this.#fullPages.nextClear(page + 1);
    if (later < 0) return undefined;
    return plus(this.#first, later * pageBits + (this.#pages.get(later)?.nextClear(0) ?? 0));
  }

  free(): bigint {
    return BigInt(this.#size - this.#taken);
  }

  #add(offset: number): void {
    const page = Math.floor(offset / pageBits);
    let bits = this.#pages.get(page);
    if (bits === undefined) {
      if (this.#fullPages.has(page)) return;
      bits = new Bits(this.#sizeOfPage(page));
      this.#pages.set(page, bits);
    }
    if (!bits.add(offset % pageBits)) return;
    this.#taken += 1;
    if (!bits.full) return;
    this.#pages.delete(page);
    this.#fullPages.add(page);
  }

  #fillPage(page: number, size: number): void {
    if (!this.#fullPages.add(page)) return;
    this.#taken += size - (this.#pages.get(page)?.count ?? 0);
    this.#pages.delete(page);
  }

  #sizeOfPage(page: number): number {
    return Math.min(pageBits, this.#size - page * pageBits);
  }

  /** -1 outside the run. */
  #offset(address: Address): number {
    const offset = offsetBetween(this.#first, address);
    return offset !== undefined && offset < this.#size ? offset : -1;
  }
}

export class IntervalOccupancy implements Occupancy {
  readonly #run: Interval;
  readonly #taken = new IntervalSet();

  constructor(run: Interval) {
    this.#run = run;
  }

  add(address: Address): void {
    if (includes(this.#run, address)) this.#taken.add({ first: address, last: address });
  }

  delete(address: Address): void {
    this.#taken.delete({ first: address, last: address });
  }

  addAll(interval: Interval): void {
    const part = intersection(interval, this.#run);
    if (part !== undefined) this.#taken.add(part);
  }

  nextFree(from: Address): Address | undefined {
    const at = compare(from, this.#run.first) < 0 ? this.#run.first : from;
    const free = this.#taken.nextOutside(at);
    return free !== undefined && includes(this.#run, free) ? free : undefined;
  }

  /** Counts the intervals: for reports, not for every decision. */
  free(): bigint {
    return sizeOf(this.#run) - this.#taken.size;
  }
}
