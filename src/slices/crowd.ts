// Many writes at once, but never more than the limit: what one leader asks of the API server at a time.
//
// Promised: each item is tried once, also when others fail; then the first failure is thrown. Once the signal aborts nothing more is begun.

/** Of priority and fairness a level has some tens of seats: 16 leave the most of them to others. */
const defaultLimit = 16;

export class Crowd {
  readonly #limit: number;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(limit = defaultLimit) {
    this.#limit = limit;
  }

  async each<T>(items: Iterable<T>, work: (item: T) => Promise<void>, signal: AbortSignal): Promise<void> {
    let failure: { readonly error: unknown } | undefined;
    const iterator = items[Symbol.iterator]();
    const worker = async () => {
      for (let next = iterator.next(); next.done !== true; next = iterator.next()) {
        await this.#enter();
        try {
          if (!signal.aborted) await work(next.value);
        } catch (error) {
          failure ??= { error };
        } finally {
          this.#leave();
        }
        if (signal.aborted) break;
      }
    };
    await Promise.all(Array.from({ length: this.#limit }, worker));
    if (failure !== undefined) throw failure.error;
    signal.throwIfAborted();
  }

  async #enter(): Promise<void> {
    while (this.#running >= this.#limit) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#running += 1;
  }

  #leave(): void {
    this.#running -= 1;
    this.#waiting.shift()?.();
  }
}
