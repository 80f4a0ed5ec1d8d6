// Chance from a seed, to repeat a run. The choices are the same; how the processes' waits fall between them is not.
export class Chance {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** Mulberry32: 0 up to 1. */
  readonly next = (): number => {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };

  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  percent(share: number): boolean {
    return this.next() * 100 < share;
  }

  pick<T>(items: readonly T[]): T {
    const item = items[this.below(items.length)];
    if (item === undefined) throw new Error("nothing to pick from");
    return item;
  }

  /** By weight. */
  weighed<T>(items: readonly (readonly [weight: number, item: T])[]): T {
    let left = this.next() * items.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, item] of items) if ((left -= weight) < 0) return item;
    return this.pick(items)[1];
  }

  /** A source of its own, for somebody whose number of choices others must not depend on. */
  branch(): Chance {
    return new Chance(this.below(2 ** 32));
  }
}
