// A transport whose answers a test writes down. For whole conversations there is fake-api.ts.
import type { ApiRequest, ApiResponse, Transport } from "../transport/transport.ts";

export type Answer = (request: ApiRequest) => ApiResponse | Promise<ApiResponse>;

export interface FakeTransport {
  readonly transport: Transport;
  /** In the order they came. */
  readonly requests: ApiRequest[];
}

/** Answers with the given functions in turn; the last one answers all that follow. */
export function fakeTransport(...answers: readonly Answer[]): FakeTransport {
  const requests: ApiRequest[] = [];
  const transport: Transport = async (request) => {
    const answer = answers[Math.min(requests.length, answers.length - 1)];
    requests.push(request);
    if (answer === undefined) throw new Error("The test gave no answer.");
    return answer(request);
  };
  return { transport, requests };
}

export function json(code: number, value: unknown, headers: Readonly<Record<string, string>> = {}): ApiResponse {
  return { status: code, headers, body: bytes(JSON.stringify(value)) };
}

export function status(code: number, reason: string, message = reason, extra: object = {}): ApiResponse {
  return json(code, { kind: "Status", code, reason, message, ...extra });
}

async function* bytes(...texts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield new TextEncoder().encode(text);
}

/** A body that a test feeds by hand; it ends with the request's signal, as a socket does. */
export class Feed implements AsyncIterable<Uint8Array> {
  readonly #chunks: Uint8Array[] = [];
  #ended = false;
  #failure: unknown;
  #wake = () => {};

  constructor(signal?: AbortSignal) {
    signal?.addEventListener("abort", () => this.fail(signal.reason), { once: true });
  }

  push(text: string): void {
    this.#chunks.push(new TextEncoder().encode(text));
    this.#wake();
  }

  end(): void {
    this.#ended = true;
    this.#wake();
  }

  fail(error: unknown): void {
    this.#failure ??= error;
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for (;;) {
      const next = this.#chunks.shift();
      if (next !== undefined) yield next;
      else if (this.#failure !== undefined) throw this.#failure;
      else if (this.#ended) return;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}
