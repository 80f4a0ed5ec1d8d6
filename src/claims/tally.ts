// How many persistent addresses are in which state, kept up to date as families are planned: counting 10,000 anew at every scrape
// would cost more than all else.

export class Tally {
  /** Family -> the states of its NICs. */
  readonly #families = new Map<string, readonly string[]>();
  readonly #counts = new Map<string, number>();

  /** State -> how many; a state that was there and is not any more stays with 0. */
  get counts(): ReadonlyMap<string, number> {
    return this.#counts;
  }

  set(family: string, states: readonly string[]): void {
    const before = this.#families.get(family) ?? [];
    for (const state of before) this.#counts.set(state, (this.#counts.get(state) ?? 0) - 1);
    for (const state of states) this.#counts.set(state, (this.#counts.get(state) ?? 0) + 1);
    if (states.length === 0) this.#families.delete(family);
    else this.#families.set(family, states);
  }
}
