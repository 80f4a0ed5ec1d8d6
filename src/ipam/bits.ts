// A fixed number of bits with a pyramid of summaries on top, so that the next clear one is found in a few steps however
// full it is. Level 0 holds the bits; a bit of level n + 1 says that the word below it is all ones.

/** The position of the lowest one bit of a word that is not zero. */
function lowestOne(word: number): number {
  return 31 - Math.clz32(word & -word);
}

export class Bits {
  readonly size: number;
  /** How many bits are set. */
  count = 0;
  /** All levels in one array: level 0 first. Bits past the end of a level are ones, so that they are never found. */
  readonly #words: Int32Array;
  /** Where each level starts in #words; the last entry is the length of #words. */
  readonly #starts: readonly number[];

  constructor(size: number) {
    this.size = size;
    this.#starts = size === commonSize ? commonStarts : levelStarts(size);
    this.#words = new Int32Array(this.#starts.at(-1)!);
    let bits = size;
    for (let level = 0; level + 1 < this.#starts.length; level++) {
      const used = bits & 31;
      if (used !== 0) this.#words[this.#starts[level + 1]! - 1] = -1 << used;
      bits = (bits + 31) >>> 5;
    }
  }

  get full(): boolean {
    return this.count === this.size;
  }

  has(index: number): boolean {
    return (this.#words[index >>> 5]! & (1 << (index & 31))) !== 0;
  }

  /** Returns false where the bit was set already. */
  add(index: number): boolean {
    if (this.has(index)) return false;
    this.count += 1;
    let at = index;
    for (let level = 0; level + 1 < this.#starts.length; level++) {
      const word = this.#starts[level]! + (at >>> 5);
      this.#words[word]! |= 1 << (at & 31);
      if (this.#words[word] !== -1) break;
      at >>>= 5;
    }
    return true;
  }

  /** Returns false where the bit was clear already. */
  delete(index: number): boolean {
    if (!this.has(index)) return false;
    this.count -= 1;
    let at = index;
    for (let level = 0; level + 1 < this.#starts.length; level++) {
      const word = this.#starts[level]! + (at >>> 5);
      const wasFull = this.#words[word] === -1;
      this.#words[word]! &= ~(1 << (at & 31));
      if (!wasFull) break;
      at >>>= 5;
    }
    return true;
  }

  fill(): void {
    this.#words.fill(-1);
    this.count = this.size;
  }

  /** The lowest clear bit at or above `from`, or -1. */
  nextClear(from: number): number {
    const levels = this.#starts.length - 1;
    let at = from;
    for (let level = 0; level < levels; level++) {
      const index = this.#starts[level]! + (at >>> 5);
      if (index >= this.#starts[level + 1]!) return -1;
      const clear = ~this.#words[index]! & (-1 << (at & 31));
      if (clear !== 0) return this.#descend(level, (at & ~31) + lowestOne(clear));
      at = (at >>> 5) + 1;
    }
    return -1;
  }

  /** From a clear bit of a summary down to the lowest clear bit below it. */
  #descend(level: number, index: number): number {
    let at = index;
    for (let below = level - 1; below >= 0; below--) {
      at = at * 32 + lowestOne(~this.#words[this.#starts[below]! + at]!);
    }
    return at;
  }
}

/** A pool's pages all have this size; they share one description of their levels. */
const commonSize = 4096;
const commonStarts = levelStarts(commonSize);

function levelStarts(size: number): number[] {
  const starts = [0];
  for (let bits = size; ;) {
    const words = (bits + 31) >>> 5;
    starts.push(starts.at(-1)! + words);
    if (words <= 1) return starts;
    bits = words;
  }
}
