// The time by which released addresses cool. After a jump back of the wall clock every address would cool until it has
// caught up; this clock stands still instead, and goes on from there. A jump forward ends cooldowns early: allowed.
// Promised: it never goes back. Not promised: that it counts while nobody asks and the wall clock is being set back.

export class RestClock {
  readonly #now: () => number;
  /** What is added to the wall clock: the sum of its jumps back. */
  #ahead = 0;
  #last = -Infinity;

  constructor(now: () => number) {
    this.#now = now;
  }

  now(): number {
    const time = this.#now() + this.#ahead;
    if (time < this.#last) this.#ahead += this.#last - time;
    this.#last = Math.max(time, this.#last);
    return this.#last;
  }

  /** A time of this clock, by the wall clock as it is set now. */
  toWall(timeMs: number): number {
    return timeMs - this.#ahead;
  }

  /** When a cooldown ends that began then by the wall clock: never later than a whole one from now. */
  endOf(atMs: number, cooldownMs: number): number {
    const now = this.now();
    return Math.min(atMs + this.#ahead, now) + cooldownMs;
  }
}
