// The few requests that the lab itself makes: JSON over verified TLS, with a bearer token. Tests use src/kube instead.
import { Agent, request } from "node:https";
import { text } from "node:stream/consumers";

export interface Access {
  readonly url: string;
  /** The CA that the server's certificate is verified against, PEM. */
  readonly ca: string;
  readonly token: string;
}

export class RestError extends Error {
  override readonly name = "RestError";
  readonly code: number;

  constructor(method: string, path: string, code: number, words: string) {
    super(`${method} ${path} was answered ${code}: ${words.slice(0, 500)}`);
    this.code = code;
  }
}

/** JSON unless said otherwise. */
interface Media {
  readonly type?: string;
  readonly accept?: string | undefined;
}

type Method = "GET" | "POST" | "PATCH" | "DELETE";

/** How long one request of the lab may take: an API server that starts under load needs seconds, not minutes. */
const deadlineMs = 15_000;

export class Rest {
  readonly #access: Access;
  readonly #agent: Agent;

  constructor(access: Access) {
    this.#access = access;
    this.#agent = new Agent({ ca: access.ca, keepAlive: true });
  }

  get<T>(path: string, accept?: string): Promise<T> {
    return this.#send("GET", path, undefined, { accept });
  }

  create<T>(path: string, body: unknown): Promise<T> {
    return this.#send("POST", path, body);
  }

  /** Server-side apply: creates it or makes it so. */
  apply<T>(path: string, body: unknown): Promise<T> {
    return this.#send("PATCH", `${path}?fieldManager=holdfast-lab&force=true`, body, {
      type: "application/apply-patch+yaml",
    });
  }

  /** A merge patch: what is named is set, null removes. */
  patch<T>(path: string, body: unknown): Promise<T> {
    return this.#send("PATCH", path, body, { type: "application/merge-patch+json" });
  }

  delete<T>(path: string): Promise<T> {
    return this.#send("DELETE", path);
  }

  async #send<T>(method: Method, path: string, body?: unknown, media: Media = {}): Promise<T> {
    const content = body === undefined ? "" : JSON.stringify(body);
    const { status, words } = await this.#exchange(method, path, content, media);
    if (status >= 300) throw new RestError(method, path, status, words);
    return (words.startsWith("{") ? JSON.parse(words) : words) as T;
  }

  #exchange(method: Method, path: string, body: string, media: Media): Promise<{ status: number; words: string }> {
    const { type = "application/json", accept = "application/json" } = media;
    const headers = {
      authorization: `Bearer ${this.#access.token}`,
      accept,
      ...(body !== "" && { "content-type": type, "content-length": Buffer.byteLength(body) }),
    };
    const signal = AbortSignal.timeout(deadlineMs);
    return new Promise((resolve, reject) => {
      const sent = request(`${this.#access.url}${path}`, { method, headers, agent: this.#agent, signal }, (answer) => {
        text(answer).then((words) => resolve({ status: answer.statusCode ?? 0, words }), reject);
      });
      sent.once("error", reject);
      sent.end(body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}
