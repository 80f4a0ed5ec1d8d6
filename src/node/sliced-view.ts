// The sliced ranges that requests of this daemon work by, and the oldest version that any of them still does.
//
// The leader cuts a shared range only when every daemon says that it has seen the change, and a daemon may say so only when no take
// is under way that was decided before: such a take could still write a reservation inside the range.
import type { JournalGrant } from "../ledger/journal/grant.ts";
import type { SlicedKnowledge } from "./shared-state.ts";
import { type SlicedMap, withOwn } from "./slicing.ts";

/** A write whose answer was lost may still arrive: nothing waits longer in an API server than its request timeout, a minute. */
const lateMs = 90_000;

export interface SlicedViewOptions {
  readonly read: () => SlicedKnowledge;
  /** Of the node's journal. */
  readonly grants: () => readonly JournalGrant[];
  /** Monotonic. */
  readonly now: () => number;
}

/** One request's look at the ranges. */
export interface SlicedLook extends SlicedMap, Disposable {
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
    // What the process before this one wrote by what it had seen may still arrive.
    const { version } = options.read();
    if (version > 0) this.#late = [{ version, untilMs: options.now() + lateMs }];
  }

  look(): SlicedLook {
    const { version, ranges, unknown } = this.#options.read();
    const key = Symbol("look");
    this.#looks.set(key, version);
    return {
      ranges: withOwn(ranges, this.#options.grants()),
      unknown,
      lost: () => {
        this.#late = [...this.#late, { version, untilMs: this.#options.now() + lateMs }];
      },
      [Symbol.dispose]: () => void this.#looks.delete(key),
    };
  }

  get isTold(): boolean {
    return this.#options.read().unknown === "";
  }

  /** What the leader may be told: no request works by an older version. 0: none was ever seen. */
  seen(): number {
    const nowMs = this.#options.now();
    this.#late = this.#late.filter(({ untilMs }) => untilMs > nowMs);
    return Math.min(this.#options.read().version, ...this.#looks.values(), ...this.#late.map(({ version }) => version));
  }
}
