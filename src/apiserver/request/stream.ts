// A bounded queue between what happens and one slow or fast reader, as the body of a response.

/**
 * A watch that is so many events or bytes behind is closed: its client lists again. The store shares its texts, but the
 * history forgets after 64 MiB, and objects may have 1.5 MiB: by events alone a stalled reader could hold 15 GiB.
 */
const behindMax = { events: 10_000, length: 64 * 1024 * 1024 };

/** At 1.5 MiB each, 200 events are 300 MiB; a string ends at 512. A hundred thousand small ones are 500 pieces. */
const pieceMax = 200;

export class Stream {
  #chunks: string[] = [];
  #wake: (() => void) | undefined;
  #ended = false;
  /** What has happened since the reader looked last. */
  #behind = { events: 0, length: 0 };
  readonly #onEnd: () => void;

  constructor(onEnd: () => void) {
    this.#onEnd = onEnd;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** What the reader asked for when it came: as much as there is, since asking again would bring no less. */
  begin(chunk: string): void {
    if (!this.#ended) this.#chunks.push(chunk);
    this.#wake?.();
  }

  push(chunk: string): void {
    if (this.#ended) return;
    this.#chunks.push(chunk);
    this.#behind.events++;
    this.#behind.length += chunk.length;
    if (this.#behind.events > behindMax.events || this.#behind.length > behindMax.length) {
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

  /** For one reader. If it leaves, even before its first look, the stream ends: a generator would not notice that. */
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
        // What waits goes out as one piece, unless that were longer than a string may be.
        const text = this.#chunks.slice(0, pieceMax).join("");
        this.#chunks = this.#chunks.length > pieceMax ? this.#chunks.slice(pieceMax) : [];
        this.#behind = { events: 0, length: 0 };
        return { done: false, value: Buffer.from(text) };
      }
      if (this.#ended) return { done: true, value: undefined };
      await new Promise<void>((resolve) => (this.#wake = resolve));
      this.#wake = undefined;
    }
  }
}
