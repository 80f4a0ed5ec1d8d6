// How long to wait before the next round over all endpoints.

export interface BackoffOptions {
  readonly firstMs: number;
  readonly maxMs: number;
  readonly random: () => number;
}

export class Backoff {
  readonly #options: BackoffOptions;
  #rounds = 0;

  constructor(options: BackoffOptions) {
    this.#options = options;
  }

  /** Doubles up to the limit. Half of it is chance, so that clients of a server that comes back do not come at once. */
  nextMs(): number {
    const { firstMs, maxMs, random } = this.#options;
    const fullMs = Math.min(maxMs, firstMs * 2 ** Math.min(this.#rounds++, 30));
    return fullMs / 2 + (random() * fullMs) / 2;
  }

  reset(): void {
    this.#rounds = 0;
  }
}
