// How a request reaches an API server. The network is one implementation; the embedded server is called without it.

export interface ApiRequest {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
  readonly signal?: AbortSignal;
}

export interface ApiResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: AsyncIterable<Uint8Array>;
}

/**
 * Resolves when the response's head is there. Rejects with NotSentError if no byte of the request can have reached the
 * server; with any other error, the server may have acted on it.
 */
export type Transport = (request: ApiRequest) => Promise<ApiResponse>;

/** The request did not leave: refused, unresolved, a handshake that failed. Safe to send again. */
export class NotSentError extends Error {
  readonly code = "not-sent";
  override readonly name = "NotSentError";
}

export function notSent(cause: Error): NotSentError {
  return new NotSentError(`${cause.message}.`, { cause });
}

/** Headers as they come from the network: one value each, and without HTTP/2's own (`:status`). */
export function flatHeaders(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  const result: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || name.startsWith(":")) continue;
    result[name] = Array.isArray(value) ? value.join(", ") : value;
  }
  return result;
}
