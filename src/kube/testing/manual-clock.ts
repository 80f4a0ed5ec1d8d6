// A clock that moves only when told to: for tests and simulation.
import type { Clock } from "../clock.ts";

interface Timer {
  readonly dueMs: number;
  readonly callback: () => void;
}

export class ManualClock implements Clock {
  #nowMs: number;
  /** In the order in which they were set: of those that are due at once the first fires first. */
  readonly #timers = new Set<Timer>();

  constructor(startMs = Date.UTC(2026, 0, 1)) {
    this.#nowMs = startMs;
  }

  wallMs(): number {
    return this.#nowMs;
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  after(delayMs: number, callback: () => void): () => void {
    const timer = { dueMs: this.#nowMs + Math.max(delayMs, 0), callback };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** How many timers wait: a test that ends with none has leaked none. */
  get pending(): number {
    return this.#timers.size;
  }

  /** Moves on, firing what falls due in order, and lets promises settle after each. */
  async advance(byMs: number): Promise<void> {
    const untilMs = this.#nowMs + byMs;
    await settle();
    for (let next = this.#next(untilMs); next !== undefined; next = this.#next(untilMs)) {
      this.#nowMs = Math.max(this.#nowMs, next.dueMs);
      this.#timers.delete(next);
      next.callback();
      await settle();
    }
    this.#nowMs = untilMs;
    await settle();
  }

  #next(untilMs: number): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.#timers) {
      if (timer.dueMs <= untilMs && (first === undefined || timer.dueMs < first.dueMs)) first = timer;
    }
    return first;
  }
}

/** Lets everything that is ready to run, run. Two turns: streams answer in the turn after the one that asked. */
export async function settle(turns = 2): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
}
