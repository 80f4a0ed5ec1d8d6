// One process's line to an API server, in a test's hands: cut, with lost answers, or dead after so many writes.
import { NotSentError, type Transport } from "../../src/kube/transport/transport.ts";

const reads: ReadonlySet<string> = new Set(["GET", "HEAD"]);

export class Line {
  readonly #transport: Transport;
  readonly #random: () => number;
  #cut = new AbortController();
  /** These do not get through, and are answered by nobody. */
  blocks: (request: Parameters<Transport>[0]) => boolean = () => false;
  /** Who asks or reads meanwhile hangs, and hears nothing of it: the machine sleeps. */
  #frozen: { readonly is: Line["blocks"]; readonly thawed: Promise<void>; readonly thaw: () => void } | undefined;
  /** Of a hundred writes, how many are done without the caller being told. */
  lossPercent = 0;
  /** Writes that reached the server. */
  writes = 0;
  #diesAfter = Number.POSITIVE_INFINITY;
  #onDeath: () => void = () => {};

  constructor(transport: Transport, random: () => number = Math.random) {
    this.#transport = transport;
    this.#random = random;
  }

  get isCut(): boolean {
    return this.#cut.signal.aborted;
  }

  /** Nothing goes out or comes in from now on; open watches end. */
  cut(): void {
    this.#cut.abort(new Error("the test cut the line"));
  }

  heal(): void {
    if (this.isCut) this.#cut = new AbortController();
    this.thaw();
  }

  /** These requests, and what is read of such, go on when it thaws. */
  freeze(is: Line["blocks"] = () => true): void {
    const { promise, resolve } = Promise.withResolvers<void>();
    const before = this.#frozen;
    this.#frozen = { is, thawed: promise, thaw: resolve };
    before?.thaw();
  }

  thaw(): void {
    const before = this.#frozen;
    this.#frozen = undefined;
    before?.thaw();
  }

  async #awake(request: Parameters<Transport>[0]): Promise<void> {
    for (let now = this.#frozen; now?.is(request) === true; now = this.#frozen) await now.thawed;
  }

  /** The line is cut right after so many further writes have been done, before the last one is answered. */
  dieAfter(writes: number): Promise<void> {
    this.#diesAfter = this.writes + writes;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onDeath = resolve;
    return promise;
  }

  readonly transport: Transport = async (request) => {
    const { signal: cut } = this.#cut;
    if (cut.aborted || this.blocks(request)) throw new NotSentError("the test cut the line");
    await this.#awake(request);
    const signal = request.signal === undefined ? cut : AbortSignal.any([request.signal, cut]);
    const response = await this.#transport({ ...request, signal });
    if (!reads.has(request.method)) this.#count();
    if (cut.aborted) throw new Error("the test cut the line under the answer");
    const isLost = !reads.has(request.method) && this.#random() * 100 < this.lossPercent;
    if (isLost) {
      // Unread, it would fail with its connection, where nobody listens.
      void drained(response.body);
      throw new Error("the test lost the answer");
    }
    return { ...response, body: whole(this.#thawing(request, response.body), cut) };
  };

  async *#thawing(request: Parameters<Transport>[0], body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const part of body) {
      await this.#awake(request);
      yield part;
    }
  }

  #count(): void {
    this.writes += 1;
    if (this.writes < this.#diesAfter) return;
    this.#diesAfter = Number.POSITIVE_INFINITY;
    this.cut();
    this.#onDeath();
  }
}

async function drained(body: AsyncIterable<Uint8Array>): Promise<void> {
  try {
    for await (const _ of body);
  } catch {
    // nobody wants to know
  }
}

/** The body, until the line is cut under it. */
async function* whole(body: AsyncIterable<Uint8Array>, cut: AbortSignal): AsyncGenerator<Uint8Array> {
  const iterator = body[Symbol.asyncIterator]();
  const { promise: severed, reject } = Promise.withResolvers<never>();
  severed.catch(() => {});
  const onCut = () => reject(cut.reason as Error);
  cut.addEventListener("abort", onCut, { once: true });
  try {
    for (;;) {
      const { done, value } = await Promise.race([iterator.next(), severed]);
      if (done === true) return;
      yield value;
    }
  } finally {
    cut.removeEventListener("abort", onCut);
    // Not awaited: a stream that is waiting for its next part ends when its request does.
    void iterator.return?.()?.catch(() => {});
  }
}
