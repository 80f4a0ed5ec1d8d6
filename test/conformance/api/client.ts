// The suite's own small client: JSON over a transport, every call with a deadline. It knows no types
// beyond object.ts and one retry, of a GET that is told to come again: what a case sees is what the server sent.
import { setTimeout as delay } from "node:timers/promises";

import type { ApiResponse, Transport } from "../../../src/kube/transport/transport.ts";
import { get, type Call, type Query } from "./call.ts";
import type { KubeList, KubeObject, Status } from "./object.ts";
import { Watch } from "./watch.ts";

/** The slowest answer by design is a 30 s webhook timeout; a busy machine gets as much again. */
const callDeadlineMs = 60_000;
/** Above the 3 MiB that a server takes in, with room for a list of some hundred objects or the OpenAPI document. */
const bodyLimitBytes = 32 * 1024 * 1024;

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** The parsed text where it is JSON. */
  readonly body: unknown;
}

/** An answer that the case did not expect. */
class UnexpectedAnswer extends Error {
  readonly code = "UnexpectedAnswer";
  readonly reply: Reply;

  constructor(call: Call, expected: string, reply: Reply) {
    super(`${call.method} ${target(call)} was answered ${reply.status}, not ${expected}: ${reply.text.slice(0, 2000)}`);
    this.name = "UnexpectedAnswer";
    this.reply = reply;
  }
}

export class ApiClient {
  readonly #transport: Transport;
  readonly #token: string | undefined;

  constructor(transport: Transport, token: string | undefined) {
    this.#transport = transport;
    this.#token = token;
  }

  /** The same server with another token, or with none. */
  as(token: string | undefined): ApiClient {
    return new ApiClient(this.#transport, token);
  }

  /** Any answer, whatever its status. */
  async send(call: Call): Promise<Reply> {
    const response = await this.#perform(call, AbortSignal.timeout(callDeadlineMs));
    const text = await read(response.body);
    return { status: response.status, headers: response.headers, text, body: parse(text) };
  }

  /** An answer of the 200s. Its object is the caller's to name: an object, unless said otherwise. */
  async done<T = KubeObject>(call: Call): Promise<T> {
    let reply = await this.send(call);
    // A server that makes a kind's storage anew asks to come again; what reads may.
    for (let left = 30; left > 0 && call.method === "GET" && reply.status === 429; left -= 1) {
      await delay(1000);
      reply = await this.send(call);
    }
    if (reply.status < 200 || reply.status > 299) throw new UnexpectedAnswer(call, "2xx", reply);
    return reply.body as T;
  }

  list(path: string, query: Query = {}): Promise<KubeList> {
    return this.done<KubeList>(get(path, query));
  }

  /** A refusal with that code and reason, as a well-formed Status. */
  async refused(call: Call, code: number, reason: string): Promise<Status> {
    const reply = await this.send(call);
    const status = reply.body as Partial<Status> | undefined;
    const wellFormed =
      status?.kind === "Status" && status.apiVersion === "v1" && status.status === "Failure" && status.code === code;
    if (reply.status !== code || !wellFormed || status.reason !== reason) {
      throw new UnexpectedAnswer(call, `${code} with a Status of reason ${reason}`, reply);
    }
    return status as Status;
  }

  /** Whether the object is there; anything but 2xx and 404 is a failure. */
  async exists(path: string): Promise<boolean> {
    const reply = await this.send(get(path));
    if (reply.status === 404) return false;
    if (reply.status > 299) throw new UnexpectedAnswer(get(path), "2xx or 404", reply);
    return true;
  }

  /** Opens a watch; the caller closes it, best with `await using`. */
  async watch(path: string, query: Query = {}, accept?: string): Promise<Watch> {
    const stop = new AbortController();
    const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(callDeadlineMs)]);
    const call = get(path, { watch: true, ...query });
    const response = await this.#perform(accept === undefined ? call : { ...call, headers: { accept } }, signal);
    if (response.status !== 200) {
      const text = await read(response.body);
      throw new UnexpectedAnswer(call, "200", { ...response, text, body: parse(text) });
    }
    return new Watch(response, stop);
  }

  #perform(call: Call, signal: AbortSignal): Promise<ApiResponse> {
    const auth = this.#token === undefined ? {} : { authorization: `Bearer ${this.#token}` };
    const headers = { accept: "application/json", ...auth, ...call.headers };
    const request = { method: call.method, path: target(call), headers, signal };
    if (call.body === undefined) return this.#transport(request);
    const body = typeof call.body === "string" ? call.body : JSON.stringify(call.body);
    return this.#transport({ ...request, body });
  }
}

function target({ path, query = {} }: Call): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) search.set(name, String(value));
  return search.size === 0 ? path : `${path}?${search.toString()}`;
}

async function read(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.byteLength;
    if (size > bodyLimitBytes)
      throw new Error(`An answer is larger than ${bodyLimitBytes} bytes: it was not read to its end.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // not JSON: /healthz says ok, and a case that expects JSON fails on the undefined
  }
}
