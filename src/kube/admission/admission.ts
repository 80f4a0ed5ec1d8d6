// The admission server: HTTPS, one handler per path.
//
// Promised: every review is answered before the API server gives up; a refusal is `allowed: false` with a sentence; a
// handler that fails or is too slow is an HTTP error, so that the webhook's failurePolicy decides.
import { type IncomingMessage, type ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";

import { asError, orAborted } from "../abort.ts";
import { type Clock, type Deadline, deadline, realClock } from "../clock.ts";
import { listening } from "../process/listen.ts";
import { readText, TooLargeError } from "../transport/body.ts";
import {
  type AdmissionReply,
  type AdmissionRequest,
  parseReview,
  reviewAnswer,
  ReviewError,
} from "./admission-review.ts";
import type { KeyPair } from "./certificate.ts";

export type AdmissionHandler = (
  request: AdmissionRequest,
  context: { readonly signal: AbortSignal },
) => Promise<AdmissionReply>;

export interface AdmissionOptions {
  /** Key: path, with the leading slash. */
  readonly handlers: Readonly<Record<string, AdmissionHandler>>;
  readonly certificate: KeyPair;
  readonly host?: string;
  readonly port?: number;
  readonly clock?: Clock;
  readonly onError?: (error: Error, path: string) => void;
}

/** An object and its predecessor, each at most 3 MiB as the API server takes them, and 1 MiB for the rest. */
const maxBodyBytes = 7 * 1024 * 1024;
/** The API server says in the query how long it waits (10 s by default, 30 s at most); we answer a second before. */
const defaultWaitMs = 10_000;
const maxWaitMs = 30_000;
const leewayMs = 1000;
/** At 7 MiB each this is 1.4 GiB in the worst case, and some MiB in practice; more at once are told to come back. */
const maxAtOnce = 200;
const minVersion = "TLSv1.2";

export class AdmissionServer {
  readonly #options: AdmissionOptions;
  readonly #server: Server;
  readonly #closing = new AbortController();
  #atOnce = 0;
  #draining = false;

  constructor(options: AdmissionOptions) {
    this.#options = options;
    const { cert, key } = options.certificate;
    const limits = { requestTimeout: 30_000, headersTimeout: 10_000, keepAliveTimeout: 90_000 };
    const settings = { cert, key, minVersion, ...limits } as const;
    this.#server = createServer(settings, (request, response) => void this.#serve(request, response));
  }

  /** The port it listens on. */
  listen(): Promise<number> {
    const { host, port } = this.#options;
    return listening(this.#server, { host, port, remedy: "give another --webhook-port" });
  }

  /** New connections get the new certificate; those that are open go on. */
  setCertificate({ cert, key }: KeyPair): void {
    this.#server.setSecureContext({ cert, key, minVersion });
  }

  /** Lets reviews under way be answered until the signal aborts, then cuts them. */
  async close(signal: AbortSignal): Promise<void> {
    this.#draining = true;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeIdleConnections();
    await orAborted(closed, signal).catch(() => {
      this.#closing.abort(new Error("The admission server is shutting down."));
      this.#server.closeAllConnections();
    });
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // By hand: `new URL` throws for targets that anyone may send, such as `//`.
    const [path = "", query = ""] = (request.url ?? "/").split("?", 2);
    const timeout = new URLSearchParams(query).get("timeout");
    this.#atOnce++;
    using limit = deadline(this.#options.clock ?? realClock, answerWithinMs(timeout), this.#closing.signal);
    try {
      const { status, body } = await this.#answer(request, path, limit);
      send(response, status, body, status === 200 && !this.#draining);
    } catch (error) {
      this.#options.onError?.(asError(error), path);
      send(response, statusOf(error), asError(error).message, false);
    } finally {
      this.#atOnce--;
    }
  }

  async #answer(request: IncomingMessage, path: string, { signal }: Deadline) {
    const handler = Object.hasOwn(this.#options.handlers, path) ? this.#options.handlers[path] : undefined;
    if (handler === undefined) return { status: 404, body: `There is no webhook at ${path}.` };
    if (request.method !== "POST") return { status: 405, body: "A webhook takes POST only." };
    if (!/^application\/json(;|$)/.test(request.headers["content-type"] ?? "")) {
      return { status: 415, body: "A webhook takes application/json only." };
    }
    if (this.#atOnce > maxAtOnce) return { status: 503, body: `More than ${maxAtOnce} reviews at once: try again.` };
    const review = parseReview(await readText(request as AsyncIterable<Buffer>, signal, maxBodyBytes));
    const reply = await orAborted(handler(review, { signal }), signal);
    return { status: 200, body: reviewAnswer(review.uid, reply) };
  }
}

function statusOf(error: unknown): number {
  if (error instanceof TooLargeError) return 413;
  return error instanceof ReviewError ? 400 : 500;
}

/** `10s`, `1.5s`, `500ms`: Go's notation, as far as the API server uses it. */
function answerWithinMs(timeout: string | null): number {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)(ms|s)$/.exec(timeout ?? "") ?? [];
  const asked = amount === undefined ? defaultWaitMs : Number(amount) * (unit === "s" ? 1000 : 1);
  const waitMs = Math.min(asked, maxWaitMs);
  return waitMs - Math.min(leewayMs, waitMs / 2);
}

/** An error may leave a body unread, and a server that closes wants its connections back: neither is kept. */
function send(response: ServerResponse, status: number, body: string | object, keep: boolean): void {
  if (response.destroyed) return;
  const isText = typeof body === "string";
  const text = isText ? body : JSON.stringify(body); // may throw, so before the head is out
  response.writeHead(status, {
    "content-type": isText ? "text/plain; charset=utf-8" : "application/json",
    ...(keep ? {} : { connection: "close" }),
  });
  response.end(text);
}
