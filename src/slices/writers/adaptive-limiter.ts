// A leader's writes, at most a limit at once. A slow server is asked for less: watches and Leases wait in its queues.
// Promised: each item is tried once, also when others fail; then the first failure is thrown. None begins after abort.

/** A level of priority and fairness has some tens of seats: 16 leave most of them to other clients. */
const defaultLimit = 16;
const leastLimit = 2;
/** A write takes 5 to 20 ms at rest. Slower than `slowMs` is an overload, and takes a tenth off the limit. */
const quickMs = 100;
const slowMs = 300;
const shrink = 0.9;

export class AdaptiveLimiter {
  readonly #most: number;
  readonly #nowMs: () => number;
  /** Between the least and the most; its whole part counts. */
  #limit: number;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  /** `nowMs`: monotonic; absent, the limit stays as it is. */
  constructor({ limit = defaultLimit, nowMs = () => 0 }: { readonly limit?: number; readonly nowMs?: () => number }) {
    this.#most = limit;
    this.#limit = limit;
    this.#nowMs = nowMs;
  }

  get limit(): number {
    return Math.floor(this.#limit);
  }

  get isBusy(): boolean {
    return this.#running > 0;
  }

  async each<T>(items: Iterable<T>, work: (item: T) => Promise<void>, signal: AbortSignal): Promise<void> {
    let failure: { readonly error: unknown } | undefined;
    const iterator = items[Symbol.iterator]();
    const worker = async () => {
      for (let next = iterator.next(); next.done !== true; next = iterator.next()) {
        await this.#enter();
        const beganMs = this.#nowMs();
        try {
          if (!signal.aborted) await work(next.value);
        } catch (error) {
          failure ??= { error };
        } finally {
          this.#adapt(this.#nowMs() - beganMs);
          this.#leave();
        }
        if (signal.aborted) break;
      }
    };
    await Promise.all(Array.from({ length: this.#most }, worker));
    if (failure !== undefined) throw failure.error;
    signal.throwIfAborted();
  }

  async #enter(): Promise<void> {
    while (this.#running >= this.limit) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#running += 1;
  }

  #leave(): void {
    this.#running -= 1;
    for (let free = this.limit - this.#running; free > 0; free--) this.#waiting.shift()?.();
  }

  /** Down by a share and up by a round of quick answers: many leaders of such a kind would share a server fairly. */
  #adapt(tookMs: number): void {
    if (tookMs > slowMs) this.#limit = Math.max(Math.min(leastLimit, this.#most), this.#limit * shrink);
    else if (tookMs < quickMs) this.#limit = Math.min(this.#most, this.#limit + 1 / this.#limit);
  }
}
