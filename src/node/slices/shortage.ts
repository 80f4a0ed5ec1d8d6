// Ranges of which this node found nothing free, and who waits for more. In memory: a restarted daemon asks again.
import { orAborted } from "../../kube/abort.ts";
import { MultiMap } from "../../kube/cache/multi-map.ts";
import type { Clock } from "../../kube/clock.ts";

/** Of a SliceUse: sliceUseKey. */
type UseKey = string;

/** A runtime that found nothing asks again within seconds: after a silent minute it has given up. */
const forgetMs = 60_000;

export class Shortage {
  readonly #clock: Clock;
  /** Range -> requests that found nothing free since there was more. */
  readonly #short = new Map<UseKey, { readonly count: number; readonly lastMs: number }>();
  /** Range -> how many addresses may be handed out, held or not. */
  readonly #sizes = new Map<UseKey, bigint>();
  readonly #held = new Map<UseKey, number>();
  readonly #waiting = new MultiMap<() => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  count(use: UseKey): number {
    const short = this.#short.get(use);
    if (short === undefined) return 0;
    if (this.#clock.monotonicMs() - short.lastMs < forgetMs) return short.count;
    this.#short.delete(use);
    return 0;
  }

  /** True: it was not known to be short. */
  add(use: UseKey): boolean {
    const before = this.count(use);
    this.#short.set(use, { count: before + 1, lastMs: this.#clock.monotonicMs() });
    return before === 0;
  }

  /** When the count falls back to 0 by itself; undefined: it is 0. */
  forgetsInMs(use: UseKey): number | undefined {
    if (this.count(use) === 0) return undefined;
    return this.#short.get(use)!.lastMs + forgetMs - this.#clock.monotonicMs();
  }

  /** The range's size now. More than before: nobody is short, and waiting requests try again. */
  sized(use: UseKey, size: bigint): void {
    const before = this.#sizes.get(use) ?? 0n;
    this.#sizes.set(use, size);
    if (size <= before) return;
    this.#short.delete(use);
    this.#wake(use);
  }

  /** How many addresses of the range are held. Fewer than before: waiting requests try again. */
  held(use: UseKey, count: number): void {
    const before = this.#held.get(use) ?? 0;
    this.#held.set(use, count);
    if (count < before) this.#wake(use);
  }

  #wake(use: UseKey): void {
    for (const resolve of this.#waiting.get(use)) resolve();
  }

  /** Resolves when there is more, or something was given back; rejects with the signal's reason. */
  grown(use: UseKey, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.add(use, resolve);
    return orAborted(promise, signal).finally(() => this.#waiting.delete(use, resolve));
  }
}
