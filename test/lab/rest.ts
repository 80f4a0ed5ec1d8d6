// The few requests that the lab itself makes: JSON over verified TLS, with a bearer token. Tests use src/kube instead.
import { Agent, request } from "undici";

export interface Access {
  readonly url: string;
  /** The CA that the server's certificate is verified against, PEM. */
  readonly ca: string;
  readonly token: string;
}

export class RestError extends Error {
  override readonly name = "RestError";
  readonly code: number;

  constructor(method: string, path: string, code: number, text: string) {
    super(`${method} ${path} was answered ${code}: ${text.slice(0, 500)}`);
    this.code = code;
  }
}

/** How long one request of the lab may take: an API server that starts under load needs seconds, not minutes. */
const deadlineMs = 15_000;

export class Rest {
  readonly #access: Access;
  readonly #agent: Agent;

  constructor(access: Access) {
    this.#access = access;
    this.#agent = new Agent({ connect: { ca: access.ca } });
  }

  get<T>(path: string): Promise<T> {
    return this.send("GET", path);
  }

  create<T>(path: string, body: unknown): Promise<T> {
    return this.send("POST", path, body);
  }

  /** Server-side apply: creates it or makes it so. */
  apply<T>(path: string, body: unknown): Promise<T> {
    return this.send("PATCH", `${path}?fieldManager=holdfast-lab&force=true`, body, "application/apply-patch+yaml");
  }

  /** A merge patch: what is named is set, null removes. */
  patch<T>(path: string, body: unknown): Promise<T> {
    return this.send("PATCH", path, body, "application/merge-patch+json");
  }

  delete<T>(path: string): Promise<T> {
    return this.send("DELETE", path);
  }

  async send<T>(
    method: "GET" | "POST" | "PATCH" | "DELETE",
    path: string,
    body?: unknown,
    type = "application/json",
  ): Promise<T> {
    const answer = await request(`${this.#access.url}${path}`, {
      dispatcher: this.#agent,
      method,
      headers: { authorization: `Bearer ${this.#access.token}`, "content-type": type, accept: "application/json" },
      signal: AbortSignal.timeout(deadlineMs),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.body.text();
    if (answer.statusCode >= 300) throw new RestError(method, path, answer.statusCode, text);
    return (text.startsWith("{") ? JSON.parse(text) : text) as T;
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }
}
