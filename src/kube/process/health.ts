// The plain HTTP endpoint for the kubelet and Prometheus: /healthz, /readyz, /metrics. It tells; it changes nothing.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";

import { asError, orAborted } from "../abort.ts";
import { type Clock, deadline, realClock } from "../clock.ts";
import { listening } from "./listen.ts";
import type { KubeMetrics } from "./metrics.ts";

/** Throws, with a sentence, if something is wrong. */
type Check = (signal: AbortSignal) => Promise<void> | void;
/** Key: the check's name. */
export type Checks = Readonly<Record<string, Check>>;

export interface HealthOptions {
  readonly healthz: () => Checks;
  readonly readyz: () => Checks;
  readonly metrics?: KubeMetrics | undefined;
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly clock?: Clock;
  /** Further pages. Key: the path. */
  readonly pages?: Readonly<Record<string, () => { readonly text: string; readonly contentType: string }>>;
}

interface Answer {
  readonly status: number;
  readonly text: string | AsyncIterable<string>;
  readonly contentType?: string;
}

/** Every daemon that has the endpoint has these flags (src/cli/cluster-command.ts). */
const remedy = "give another --metrics-port (0 takes a free one) or --metrics-host";
/** The kubelet's own probes give up after a second by default; a check that hangs must still be named. */
const checkMs = 800;

export class HealthServer {
  readonly #options: HealthOptions;
  readonly #server: Server;

  constructor(options: HealthOptions) {
    this.#options = options;
    const limits = { requestTimeout: 10_000, headersTimeout: 5000 };
    this.#server = createServer(limits, (request, response) => void this.#serve(request, response));
    this.#server.maxConnections = 100; // probes and scrapers: a handful
  }

  listen(): Promise<number> {
    const { host, port } = this.#options;
    return listening(this.#server, { host, port, remedy });
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const { pathname } = new URL(request.url ?? "/", "http://health");
      const { status, text, contentType } = await this.#answer(request.method ?? "", pathname);
      const body = request.method === "HEAD" ? "" : text;
      response.writeHead(status, { "content-type": contentType ?? "text/plain; charset=utf-8" });
      if (typeof body === "string") response.end(body);
      else await pipeline(body, response);
    } catch (error) {
      // An answer under way is cut short, so that nobody takes it for whole; a scraper that has gone is no failure.
      if (response.headersSent) response.destroy();
      else response.writeHead(500).end(`${asError(error).message}\n`);
    }
  }

  async #answer(method: string, path: string): Promise<Answer> {
    if (method !== "GET" && method !== "HEAD") return { status: 405, text: "GET only\n" };
    if (path === "/healthz") return this.#judge(this.#options.healthz());
    if (path === "/readyz") return this.#judge(this.#options.readyz());
    if (path === "/metrics" && this.#options.metrics !== undefined) {
      return { status: 200, ...this.#options.metrics.expose() };
    }
    const { pages = {} } = this.#options;
    if (Object.hasOwn(pages, path)) return { status: 200, ...pages[path]!() };
    const others = Object.keys(pages).map((page) => `, ${page}`);
    return { status: 404, text: `There are /healthz, /readyz and /metrics${others.join("")}.\n` };
  }

  /** One line per check, in the manner of the API server's own endpoints. */
  async #judge(checks: Checks): Promise<Answer> {
    using limit = deadline(this.#options.clock ?? realClock, checkMs);
    const judged = Object.entries(checks).map(async ([name, check]) => {
      try {
        const checked = Promise.try(() => check(limit.signal));
        await orAborted(checked, limit.signal);
        return `[+] ${name} ok`;
      } catch (error) {
        return `[-] ${name} failed: ${asError(error).message}`;
      }
    });
    const lines = await Promise.all(judged);
    const ok = lines.every((line) => line.startsWith("[+]"));
    return { status: ok ? 200 : 503, text: [...lines, ok ? "ok" : "not ok", ""].join("\n") };
  }
}
