// How long a daemon leaves a slow API server to others: three times as long as it took, since every node may be about to write as much.
import type { Clock } from "../../kube/clock.ts";

const slowMs = 1000;
const times = 3;
const longestMs = 30_000;

export class SlowServerBackoff {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #random: () => number;
  #untilMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Pick<Clock, "monotonicMs">, random: () => number) {
    this.#clock = clock;
    this.#random = random;
  }

  /** By the monotonic clock. In the past: there is nothing to wait for. */
  get untilMs(): number {
    return this.#untilMs;
  }

  /** An answer came after so long. Half as long to half as long again, so that those who were slow together do not come back together. */
  took(ms: number): void {
    if (ms <= slowMs) return;
    this.#untilMs = this.#clock.monotonicMs() + Math.min(ms * times, longestMs) * (0.5 + this.#random());
  }
}
