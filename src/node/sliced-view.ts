// The sliced ranges that requests of this daemon work by, and the oldest version that any of them still does.
//
// The leader cuts a shared range only when every daemon says that it has seen the change, and a daemon may say so only when no take
// is under way that was decided before: such a take could still write a reservation inside the range.
import type { SlicedRanges } from "../ledger/sliced-ranges.ts";

/** A write whose answer was lost may still arrive: nothing waits longer in an API server than its request timeout, a minute. */
const lateMs = 90_000;

export interface SlicedViewOptions {
  /** Undefined: the API server has not told yet. */
  readonly read: () => SlicedRanges | undefined;
  /** Monotonic. */
  readonly now: () => number;
}

/** One request's look at the ranges. */
export interface SlicedLook extends Disposable {
  /** Undefined: the API server has not told yet. */
  readonly ranges: SlicedRanges["ranges"] | undefined;
  /** What it wrote may still arrive. */
  lost(): void;
}

export class SlicedView {
  readonly #options: SlicedViewOptions;
  /** Versions that requests under way work by. */
  readonly #looks = new Map<symbol, number>();
  /** Versions by which something was written that may still arrive, and until when. */
  #late: readonly { readonly version: number; readonly untilMs: number }[] = [];

  constructor(options: SlicedViewOptions) {
    this.#options = options;
  }

  look(): SlicedLook {
    const read = this.#options.read();
    const version = read?.version ?? 0;
    const key = Symbol("look");
    this.#looks.set(key, version);
    return {
      ranges: read?.ranges,
      lost: () => {
        this.#late = [...this.#late, { version, untilMs: this.#options.now() + lateMs }];
      },
      [Symbol.dispose]: () => void this.#looks.delete(key),
    };
  }

  /** What the leader may be told: no request works by an older version. 0: not known yet. */
  seen(): number {
    const nowMs = this.#options.now();
    this.#late = this.#late.filter(({ untilMs }) => untilMs > nowMs);
    const current = this.#options.read()?.version ?? 0;
    return Math.min(current, ...this.#looks.values(), ...this.#late.map(({ version }) => version));
  }
}
