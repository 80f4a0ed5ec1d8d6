// A set of addresses kept as disjoint, non-adjacent intervals in order. Costs what it holds, not what it spans: a /64
// is one interval. Both families may be in one set; IPv4 sorts before IPv6 and nothing merges across. add, delete and
// every look-up take O(log n) comparisons plus a move inside one chunk of at most `chunkMax` intervals.
import { type Address, compare, next, previous } from "./address.ts";
import { type Interval, intersection, sizeOf } from "./interval.ts";

/** A chunk is split in two beyond this: a splice then moves at most 2 x 512 pointers (8 KiB), some 300 ns. */
const chunkMax = 512;

/** Parallel arrays; firsts[i] <= lasts[i], and lasts[i] + 1 < firsts[i + 1]. */
interface Chunk {
  readonly firsts: Address[];
  readonly lasts: Address[];
}

export class IntervalSet implements Iterable<Interval> {
  /** In order; no chunk is empty. */
  readonly #chunks: Chunk[] = [];
  #count = 0;

  static of(intervals: Iterable<Interval>): IntervalSet {
    const set = new IntervalSet();
    for (const each of intervals) set.add(each);
    return set;
  }

  /** How many intervals there are. */
  get count(): number {
    return this.#count;
  }

  /** How many addresses there are. */
  get size(): bigint {
    let sum = 0n;
    for (const each of this) sum += sizeOf(each);
    return sum;
  }

  *[Symbol.iterator](): IterableIterator<Interval> {
    for (const { firsts, lasts } of this.#chunks) {
      for (let i = 0; i < firsts.length; i++) yield { first: firsts[i]!, last: lasts[i]! };
    }
  }

  has(address: Address): boolean {
    return this.lastAround(address) !== undefined;
  }

  /** The interval that the address is in. */
  around(address: Address): Interval | undefined {
    const at = this.#seek(address);
    if (at === undefined) return undefined;
    const { firsts, lasts } = this.#chunks[at.chunk]!;
    const last = lasts[at.index]!;
    return compare(address, last) <= 0 ? { first: firsts[at.index]!, last } : undefined;
  }

  /** The end of the interval that the address is in: `around(address)?.last` without making an object. */
  lastAround(address: Address): Address | undefined {
    const chunk = this.#chunks[this.#seekChunk(address)];
    if (chunk === undefined) return undefined;
    const index = seekFirst(chunk.firsts, address);
    if (index < 0) return undefined;
    const last = chunk.lasts[index]!;
    return compare(address, last) <= 0 ? last : undefined;
  }

  /** The lowest address outside the set and not below `from`; undefined where the set reaches the end of the space. */
  nextOutside(from: Address): Address | undefined {
    const last = this.lastAround(from);
    return last === undefined ? from : next(last);
  }

  /** The first interval that ends at or above `from`, not cut: it may begin below. */
  nextInterval(from: Address): Interval | undefined {
    const here = this.around(from);
    if (here !== undefined) return here;
    const at = this.#after(this.#seek(from));
    const chunk = this.#chunks[at.chunk];
    return chunk === undefined ? undefined : { first: chunk.firsts[at.index]!, last: chunk.lasts[at.index]! };
  }

  add({ first, last }: Interval): void {
    let at = this.#seek(first);
    if (at === undefined || !touches(this.#chunks[at.chunk]!.lasts[at.index]!, first))
      at = this.#insert(this.#after(at), first, last);
    const { lasts } = this.#chunks[at.chunk]!;
    if (compare(lasts[at.index]!, last) < 0) lasts[at.index] = last;
    this.#absorbFollowing(at);
  }

  delete({ first, last }: Interval): void {
    let at = this.#seek(first) ?? { chunk: 0, index: 0 };
    for (;;) {
      const chunk = this.#chunks[at.chunk];
      if (chunk === undefined) return;
      const low = chunk.firsts[at.index]!;
      const high = chunk.lasts[at.index]!;
      if (compare(low, last) > 0) return;
      if (compare(high, first) < 0) {
        at = this.#after(at);
        continue;
      }
      const keepLeft = compare(low, first) < 0;
      const keepRight = compare(high, last) > 0;
      if (keepLeft) chunk.lasts[at.index] = previous(first)!;
      if (keepLeft && keepRight) this.#insert(this.#after(at), next(last)!, high);
      else if (keepRight) chunk.firsts[at.index] = next(last)!;
      else if (!keepLeft) this.#remove(at);
      if (keepRight) return;
      at = keepLeft ? this.#after(at) : this.#normal(at);
    }
  }

  /** Swallows what the interval at `at` now overlaps or touches. */
  #absorbFollowing(at: Position): void {
    for (;;) {
      const here = this.#chunks[at.chunk]!;
      const then = this.#after(at);
      const chunk = this.#chunks[then.chunk];
      const high = here.lasts[at.index]!;
      if (chunk === undefined || !touches(high, chunk.firsts[then.index]!)) return;
      const reach = chunk.lasts[then.index]!;
      if (compare(reach, high) > 0) here.lasts[at.index] = reach;
      this.#remove(then);
    }
  }

  #insert(at: Position, first: Address, last: Address): Position {
    this.#count += 1;
    let { chunk, index } = at;
    if (this.#chunks.length === 0) this.#chunks.push({ firsts: [], lasts: [] });
    // The start of a chunk, or one past the last: the end of the chunk before is the same place, and needs no new one.
    if (index === 0 && chunk > 0) {
      chunk -= 1;
      index = this.#chunks[chunk]!.firsts.length;
    }
    const { firsts, lasts } = this.#chunks[chunk]!;
    firsts.splice(index, 0, first);
    lasts.splice(index, 0, last);
    if (firsts.length <= chunkMax) return { chunk, index };
    const half = chunkMax >> 1;
    this.#chunks.splice(chunk + 1, 0, { firsts: firsts.splice(half), lasts: lasts.splice(half) });
    return index < half ? { chunk, index } : { chunk: chunk + 1, index: index - half };
  }

  #remove({ chunk, index }: Position): void {
    this.#count -= 1;
    const { firsts, lasts } = this.#chunks[chunk]!;
    firsts.splice(index, 1);
    lasts.splice(index, 1);
    if (firsts.length === 0) this.#chunks.splice(chunk, 1);
  }

  /** The last interval that begins at or below the address. */
  #seek(address: Address): Position | undefined {
    const chunk = this.#seekChunk(address);
    return chunk < 0 ? undefined : { chunk, index: seekFirst(this.#chunks[chunk]!.firsts, address) };
  }

  /** The last chunk that begins at or below the address; -1 where none does. */
  #seekChunk(address: Address): number {
    let low = 0;
    let high = this.#chunks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compare(this.#chunks[middle]!.firsts[0]!, address) <= 0) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  /** The place after; the first place of all after `undefined`. */
  #after(at: Position | undefined): Position {
    return at === undefined ? { chunk: 0, index: 0 } : this.#normal({ chunk: at.chunk, index: at.index + 1 });
  }

  /** A place one past a chunk's end is the start of the next chunk. */
  #normal(at: Position): Position {
    const chunk = this.#chunks[at.chunk];
    return chunk !== undefined && at.index >= chunk.firsts.length ? { chunk: at.chunk + 1, index: 0 } : at;
  }
}

interface Position {
  readonly chunk: number;
  readonly index: number;
}

/** The index of the last element at or below the address; -1 where none is. */
function seekFirst(firsts: readonly Address[], address: Address): number {
  let low = 0;
  let high = firsts.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compare(firsts[middle]!, address) <= 0) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** An interval that ends at `last` overlaps or borders one that begins at `first`, which does not begin before it. */
function touches(last: Address, first: Address): boolean {
  if (compare(first, last) <= 0) return true;
  const beyond = next(last);
  return beyond !== undefined && compare(beyond, first) === 0;
}

export function union(a: Iterable<Interval>, b: Iterable<Interval>): IntervalSet {
  const result = IntervalSet.of(a);
  for (const each of b) result.add(each);
  return result;
}

export function difference(a: Iterable<Interval>, b: Iterable<Interval>): IntervalSet {
  const result = IntervalSet.of(a);
  for (const each of b) result.delete(each);
  return result;
}

/** What both have. */
export function common(a: Iterable<Interval>, b: IntervalSet): IntervalSet {
  const result = new IntervalSet();
  for (const each of a) {
    for (let from: Address | undefined = each.first; from !== undefined;) {
      const other: Interval | undefined = b.nextInterval(from);
      const both: Interval | undefined = other === undefined ? undefined : intersection(each, other);
      if (other === undefined || both === undefined) break;
      result.add(both);
      // Beyond `other`, not beyond `both`: where `other` is the longer one, that would find it again and never end.
      from = next(other.last);
    }
  }
  return result;
}
