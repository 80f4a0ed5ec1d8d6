// The times at which a probe was answered, and the longest time that it was not.
export interface Gap {
  /** The last answer before it, since 1970. */
  readonly fromMs: number;
  readonly ms: number;
}

/** Answers come every 10 ms; what is shorter than this is the machine's own breath. */
const shortestKeptMs = 25;
/** At one every 25 ms, seven hours. */
const mostKept = 1_000_000;

export class Arrivals {
  readonly #gaps: Gap[] = [];
  #lastMs: number | undefined;
  #count = 0;

  /** In the order in which they come. */
  add(atMs: number): void {
    if (this.#lastMs !== undefined) this.#keep(this.#lastMs, atMs - this.#lastMs);
    this.#lastMs = atMs;
    this.#count++;
  }

  /** Nothing more will come: what follows the last answer is a gap too. */
  end(atMs: number): void {
    if (this.#lastMs !== undefined) this.#keep(this.#lastMs, atMs - this.#lastMs);
  }

  get count(): number {
    return this.#count;
  }

  /** The last one; 0 where there was none. */
  get lastMs(): number {
    return this.#lastMs ?? 0;
  }

  get gaps(): readonly Gap[] {
    return this.#gaps;
  }

  #keep(fromMs: number, ms: number): void {
    if (ms >= shortestKeptMs && this.#gaps.length < mostKept) this.#gaps.push({ fromMs, ms });
  }
}

/** The longest that ended after this time; a length of 0 where there was none. */
export function longest(gaps: readonly Gap[], sinceMs = 0): Gap {
  return gaps
    .filter((gap) => gap.fromMs + gap.ms >= sinceMs)
    .reduce((most, gap) => (gap.ms > most.ms ? gap : most), { fromMs: sinceMs, ms: 0 });
}
