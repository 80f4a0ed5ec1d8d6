// Blocks that are nobody's: whole slices, lowest first, and given-up pieces. Pure. It walks free blocks, not slices.
import { type Address, compare, next } from "../../net/address.ts";
import { prefixesOf } from "../../net/cover.ts";
import { common, difference, IntervalSet } from "../../net/interval-set.ts";
import { intervalOf } from "../../net/interval.ts";
import { comparePrefixes, Prefix } from "../../net/prefix.ts";
import type { Entry } from "./entry.ts";
import { insideOf, occupiedBy, outermost } from "./ownership.ts";

export interface SpaceOptions {
  readonly sliceLength: number;
  /** Addresses that slices may ever hand out: useful, inside the range, not floating. */
  readonly useful: IntervalSet;
  readonly reserved: IntervalSet;
  /** Slices that only journals have. */
  readonly forgotten: IntervalSet;
  /** In order. */
  readonly entries: readonly Entry[];
}

export class FreeSpace {
  readonly #options: SpaceOptions;
  readonly #free: IntervalSet;
  /** Everything inside some entry, lent or not. */
  readonly #touched: IntervalSet;
  readonly #blocks: ReadonlySet<string>;
  readonly #shortest: number;
  /** Slices below are handed out or in `#partial`. */
  #cursor: Address | undefined;
  readonly #partial: Prefix[] = [];
  #pieces: Prefix[] | undefined;

  constructor(options: SpaceOptions) {
    const { sliceLength, useful, reserved, forgotten, entries } = options;
    this.#options = options;
    this.#free = difference(difference(difference(useful, reserved), forgotten), occupiedBy(entries));
    this.#touched = IntervalSet.of(entries.map(({ block }) => intervalOf(block)));
    this.#blocks = new Set(entries.map(({ block }) => String(block)));
    this.#shortest = Math.min(sliceLength, ...new Set(entries.map(({ block }) => block.length)));
    const [lowest] = this.#free;
    this.#cursor = lowest && Prefix.around(lowest.first, sliceLength).first;
  }

  /** The lowest slice that is wholly free; else the lowest whose other parts all drain: those are `lent`. */
  takeSlice(): { readonly block: Prefix; readonly lent: readonly Prefix[] } | undefined {
    const untouched = this.#walk();
    if (untouched !== undefined) return { block: untouched, lent: [] };
    for (let block = this.#partial.shift(); block !== undefined; block = this.#partial.shift()) {
      const inside = insideOf(this.#options.entries, block);
      const isDraining = inside.every(({ phase, isRemoved }) => phase === "draining" && !isRemoved);
      if (isDraining && !this.#isEnclosed(block)) return { block, lent: outermost(inside) };
    }
    return undefined;
  }

  /** The largest fitting piece that the slice around it gave up and nobody has; of equal ones the lowest. */
  takePiece(isFitting: (piece: Prefix) => boolean): Prefix | undefined {
    this.#pieces ??= this.#findPieces();
    const at = this.#pieces.findIndex(isFitting);
    return at < 0 ? undefined : this.#pieces.splice(at, 1)[0];
  }

  #walk(): Prefix | undefined {
    while (this.#cursor !== undefined) {
      const found = this.#free.nextInterval(this.#cursor);
      if (found === undefined) break;
      const at = compare(found.first, this.#cursor) > 0 ? found.first : this.#cursor;
      const block = Prefix.around(at, this.#options.sliceLength);
      this.#cursor = next(block.last);
      if (isIn(this.#options.forgotten, block)) continue;
      if (!isIn(this.#touched, block)) return block;
      this.#partial.push(block);
    }
    this.#cursor = undefined;
    return undefined;
  }

  #isEnclosed(block: Prefix): boolean {
    for (let length = this.#shortest; length <= block.length; length++) {
      if (this.#blocks.has(String(Prefix.around(block.network, length)))) return true;
    }
    return false;
  }

  #findPieces(): Prefix[] {
    const pieces: Prefix[] = [];
    for (const { block, lentBefore, isRemoved } of this.#options.entries) {
      if (lentBefore.length === 0 || isRemoved) continue;
      const inside = insideOf(this.#options.entries, block).map((each) => intervalOf(each.block));
      for (const run of common(difference(lentBefore.map(intervalOf), inside), this.#free)) {
        // A piece of a slice of an older, larger shape may be larger than a slice is now.
        const cut = (each: Prefix) => Prefix.around(each.network, Math.max(each.length, this.#options.sliceLength));
        pieces.push(...prefixesOf(run).map(cut));
      }
    }
    pieces.sort((a, b) => a.length - b.length || comparePrefixes(a, b));
    // A piece that was lent on as a whole is in the `without` of every lender.
    const seen = new IntervalSet();
    return pieces.filter(({ first, last }) => {
      if (seen.has(first)) return false;
      seen.add({ first, last });
      return true;
    });
  }
}

function isIn(set: IntervalSet, block: Prefix): boolean {
  const found = set.nextInterval(block.first);
  return found !== undefined && compare(found.first, block.last) <= 0;
}
