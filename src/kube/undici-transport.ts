// The transport over the network: undici, HTTP/2 where the server offers it (ALPN), HTTP/1.1 where not.
//
// Watches have a pool of their own: they hold their stream for minutes, and one that is read slowly must not fill the window of a
// connection that calls share. A connection whose peer fell silent is replaced as soon as one call on it has been given up.
import { buildConnector, Pool } from "undici";

import { asError } from "./abort.ts";
import type { Clock } from "./clock.ts";
import { type ApiRequest, type ApiResponse, NotSentError, type Transport } from "./transport.ts";

export interface TlsMaterial {
  /** PEM; the system's own authorities if there is none. */
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  /** The name to expect in the certificate, if it is not the server's host. */
  readonly serverName?: string | undefined;
  /** Trusts any server. Only ever set by an explicit option. */
  readonly insecure?: boolean | undefined;
}

export interface NetworkTransport extends AsyncDisposable {
  readonly transport: Transport;
  /** Takes no more; ends watches, lets calls under way finish, and resolves when they have. */
  retire(): Promise<void>;
}

/** HTTP/1.1 only: calls at once. HTTP/2 opens the second connection when the first has its 100 streams. */
const callConnections = 16;
const connectTimeoutMs = 10_000;
/**
 * How long a connection waits for its next call: the API server closes it after 90 s, undici by itself after 4 s. What renews a Lease once a minute
 * would open a connection for each renewal, and a handshake costs both sides more than the call.
 */
const idleConnectionMs = 75_000;
const mebibyte = 1024 * 1024;
/**
 * How much of an HTTP/2 answer may be under way before we have read it. undici's 256 KiB makes a long list wait for the round trip of every
 * window; with 4 MiB a list of 50 MB took about two thirds of the time. A watch needs little, but there are up to 100 on a connection, and none may be stopped
 * by the others: 100 x 256 KiB fit into 32 MiB. Both are upper limits; what is read at once is not held.
 */
const callWindows = { stream: 4 * mebibyte, connection: 32 * mebibyte };
const watchWindows = { stream: mebibyte / 4, connection: 32 * mebibyte };
type Windows = typeof callWindows;

export function undiciTransport(server: string, tls: TlsMaterial, clock: Clock): NetworkTransport {
  const { origin, pathname } = new URL(server);
  const prefix = pathname.replace(/\/+$/, "");
  const calls = new Line(origin, tls, clock, callConnections, callWindows);
  const watches = new Line(origin, tls, clock, null, watchWindows);
  return {
    transport: (request) => {
      const line = isWatch(request.path) ? watches : calls;
      return line.send(prefix === "" ? request : { ...request, path: prefix + request.path });
    },
    async retire() {
      await Promise.all([calls.close(), watches.destroy()]);
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([calls.destroy(), watches.destroy()]);
    },
  };
}

function isWatch(path: string): boolean {
  return /[?&]watch=(true|1)(&|$)/.test(path);
}

/** A pool that is replaced when its peer has fallen silent. */
class Line {
  readonly #open: () => Pool;
  readonly #clock: Clock;
  readonly #retired = new Set<Pool>();
  #pool: Pool;
  /** When the pool last had a sign of life. */
  #heardMs = 0;

  constructor(origin: string, tls: TlsMaterial, clock: Clock, connections: number | null, windows: Windows) {
    const h2Options = { connectionWindowSize: windows.connection, settings: { initialWindowSize: windows.stream } };
    this.#open = () =>
      new Pool(origin, {
        connections,
        allowH2: true,
        headersTimeout: 0,
        bodyTimeout: 0,
        keepAliveTimeout: idleConnectionMs,
        h2Options,
        connect: connector(tls),
      });
    this.#clock = clock;
    this.#pool = this.#open();
  }

  async send({ method, path, headers, body, signal }: ApiRequest): Promise<ApiResponse> {
    const pool = this.#pool;
    const sentMs = this.#clock.monotonicMs();
    try {
      const response = await pool.request({
        method,
        path,
        headers,
        ...(body === undefined ? {} : { body }),
        ...(signal === undefined ? {} : { signal }),
      });
      this.#heardMs = this.#clock.monotonicMs();
      return { status: response.statusCode, headers: flat(response.headers), body: response.body };
    } catch (error) {
      if (signal?.aborted === true && this.#heardMs < sentMs) this.#retire(pool);
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.#pool.close();
  }

  async destroy(): Promise<void> {
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

/** Whatever fails before there is a connection was not sent: undici itself does not tell the two apart. */
function connector(tls: TlsMaterial): buildConnector.connector {
  const connect = buildConnector({
    allowH2: true,
    preferH2: true,
    timeout: connectTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelay: 30_000,
    minVersion: "TLSv1.2",
    rejectUnauthorized: tls.insecure !== true,
    ...(tls.ca === undefined ? {} : { ca: tls.ca }),
    ...(tls.cert === undefined ? {} : { cert: tls.cert }),
    ...(tls.key === undefined ? {} : { key: tls.key }),
    ...(tls.serverName === undefined ? {} : { servername: tls.serverName }),
  });
  return (options, callback) => {
    try {
      connect(options, (...[error, socket]) => {
        if (error === null) callback(null, socket);
        else callback(notSent(error), null);
      });
    } catch (error) {
      callback(notSent(asError(error)), null); // a certificate and a key that do not fit
    }
  };
}

function notSent(cause: Error): NotSentError {
  return new NotSentError(`${cause.message}.`, { cause });
}

function flat(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  const result: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) result[name] = Array.isArray(value) ? value.join(", ") : value;
  }
  return result;
}
