// A bounded queue between what happens and one slow or fast reader, as the body of a response.

/**
 * A watch that is so many events behind is closed: its client lists again. At 1 KiB an event (texts are shared with the store, so this is mostly
 * the frame around them) a stalled reader costs about 10 MiB at most.
 */
const eventsMax = 10_000;

export class Stream {
  #chunks: string[] = [];
  #wake: (() => void) | undefined;
  #ended = false;
  readonly #onEnd: () => void;

  constructor(onEnd: () => void) {
    this.#onEnd = onEnd;
  }

  get ended(): boolean {
    return this.#ended;
  }

  push(chunk: string): void {
    if (this.#ended) return;
    this.#chunks.push(chunk);
    if (this.#chunks.length > eventsMax) {
      this.#chunks = [];
      this.end();
    }
    this.#wake?.();
  }

  /** What was pushed before is still read. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#onEnd();
    this.#wake?.();
  }

  /** Read by one reader. One that leaves, even before its first look, ends the stream: a generator would not notice that. */
  body(): AsyncIterableIterator<Uint8Array> {
    return {
      next: () => this.#next(),
      return: () => {
        this.end();
        return Promise.resolve({ done: true, value: undefined });
      },
      [Symbol.asyncIterator]() {
        return this;
      },
    };
  }

  async #next(): Promise<IteratorResult<Uint8Array, undefined>> {
    for (;;) {
      if (this.#chunks.length > 0) {
        // Everything that waits goes out as one piece.
        const text = this.#chunks.join("");
        this.#chunks = [];
        return { done: false, value: Buffer.from(text) };
      }
      if (this.#ended) return { done: true, value: undefined };
      await new Promise<void>((resolve) => (this.#wake = resolve));
      this.#wake = undefined;
    }
  }
}
