// Calls over HTTP/1.1, on undici, for servers and proxies that speak no HTTP/2.
import { type buildConnector, Pool } from "undici";

import { asError } from "../abort.ts";
import type { Clock } from "../clock.ts";
import type { Dial } from "./dial.ts";
import type { Http2Settings } from "./http2.ts";
import { type ApiRequest, type ApiResponse, flatHeaders, NotSentError } from "./transport.ts";

/** A pool that is replaced when its peer has fallen silent. */
export class Http1Line {
  readonly #open: () => Pool;
  readonly #clock: Clock;
  readonly #retired = new Set<Pool>();
  #pool: Pool;
  /** When the pool last had a sign of life. */
  #heardMs = 0;
  #isClosed = false;

  constructor(origin: string, dial: Dial, clock: Clock, { connections, idleMs }: Http2Settings) {
    this.#open = () =>
      new Pool(origin, {
        connections: connections === Infinity ? null : connections,
        allowH2: false,
        headersTimeout: 0,
        bodyTimeout: 0,
        keepAliveTimeout: idleMs,
        connect: (_options, callback) => void handOver(dial, callback),
      });
    this.#clock = clock;
    this.#pool = this.#open();
  }

  async send({ method, path, headers, body, signal }: ApiRequest): Promise<ApiResponse> {
    if (this.#isClosed) throw new NotSentError("The connection was closed.");
    const pool = this.#pool;
    const sentMs = this.#clock.monotonicMs();
    try {
      const rest = { ...(body !== undefined && { body }), ...(signal && { signal }) };
      const response = await pool.request({ method, path, headers, ...rest });
      this.#heardMs = this.#clock.monotonicMs();
      return { status: response.statusCode, headers: flatHeaders(response.headers), body: response.body };
    } catch (error) {
      if (signal?.aborted === true && this.#heardMs < sentMs) this.#retire(pool);
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#pool.close();
  }

  async destroy(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#retired, this.#pool].map((pool) => pool.destroy()));
  }

  /** What is under way on the old pool goes on; a pool that nobody uses any more closes. */
  #retire(pool: Pool): void {
    if (pool !== this.#pool) return;
    this.#pool = this.#open();
    this.#retired.add(pool);
    const forget = () => void this.#retired.delete(pool);
    pool.close().then(forget, forget);
  }
}

async function handOver(dial: Dial, callback: buildConnector.Callback): Promise<void> {
  const dialled = await dial(["http/1.1"]).catch(asError);
  if (dialled instanceof Error) callback(dialled, null);
  else callback(null, dialled.socket);
}
