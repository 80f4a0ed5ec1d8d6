// One call to the API server: a deadline, what a failure means, one retry of a read that lost its connection.
import { asError, orAborted } from "./abort.ts";
import { type Clock, deadline } from "./clock.ts";
import { ApiError, errorFromStatus, parseRetryAfter, type Status } from "./errors.ts";
import { readText } from "./transport/body.ts";
import { type ApiResponse, NotSentError, type Transport } from "./transport/transport.ts";

export interface Call {
  /** What is tried on what, for messages: `create Pod default/a`. */
  readonly what: string;
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

export interface CallReport {
  readonly method: string;
  /** The HTTP status; 0 if none came. */
  readonly status: number;
  readonly durationMs: number;
}

export interface Caller {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly headers: Readonly<Record<string, string>>;
  readonly observe?: ((report: CallReport) => void) | undefined;
}

/** Sends, checks the status, and hands the live response to `read`, all within the deadline. */
export async function perform<R>(
  caller: Caller,
  call: Call,
  read: (response: ApiResponse, signal: AbortSignal) => Promise<R>,
): Promise<R> {
  const startedMs = caller.clock.monotonicMs();
  using limit = deadline(caller.clock, call.timeoutMs, call.signal);
  let status = 0;
  let sent = false;
  try {
    limit.signal.throwIfAborted();
    sent = true;
    const response = await sendOnce(caller, call, limit.signal);
    status = response.status;
    if (status < 200 || status > 299) throw await answeredError(caller, call, response, limit.signal);
    return await read(response, limit.signal);
  } catch (error) {
    throw classify(call, error, { sent, expired: limit.expired, aborted: call.signal?.aborted === true });
  } finally {
    caller.observe?.({ method: call.method, status, durationMs: caller.clock.monotonicMs() - startedMs });
  }
}

export async function readJson(response: ApiResponse, signal: AbortSignal): Promise<unknown> {
  return JSON.parse(await readText(response.body, signal));
}

function isRead(method: string): boolean {
  return method === "GET" || method === "HEAD";
}

/** A kept-alive connection may be closed by the server just as we use it; a read is simply asked again, once. */
async function sendOnce(caller: Caller, call: Call, signal: AbortSignal): Promise<ApiResponse> {
  const headers = { ...caller.headers, ...call.headers };
  const { method, path, body } = call;
  const request = { method, path, headers, signal, ...(body === undefined ? {} : { body }) };
  try {
    return await orAborted(caller.transport(request), signal);
  } catch (error) {
    if (!isRead(method) || signal.aborted || error instanceof NotSentError || error instanceof ApiError) throw error;
    return await orAborted(caller.transport(request), signal);
  }
}

export async function answeredError(
  caller: Caller,
  call: Call,
  response: ApiResponse,
  signal: AbortSignal,
): Promise<ApiError> {
  const retryAfterMs = parseRetryAfter(response.headers["retry-after"], caller.clock.wallMs());
  const text = await readText(response.body, signal, 1024 * 1024);
  return errorFromStatus(call.what, response.status, parseStatus(text), retryAfterMs);
}

/** Proxies and old endpoints answer with plain text instead of a Status. */
function parseStatus(text: string): Status {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && (value as Status).kind === "Status") return value;
  } catch {
    // not JSON: the text itself is the message
  }
  return { message: text.trim().slice(0, 500) };
}

type Circumstances = Readonly<Record<"sent" | "expired" | "aborted", boolean>>;

export function classify(call: Call, error: unknown, { sent, expired, aborted }: Circumstances): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof NotSentError) {
    const words = `${call.what}: the API server cannot be reached: ${error.message} Nothing was sent.`;
    return new ApiError("unreachable", words, { cause: error });
  }
  if (aborted && (!sent || isRead(call.method))) {
    return new ApiError("aborted", `${call.what}: ended by its caller.`, { cause: error });
  }
  if (error instanceof SyntaxError || error instanceof RangeError) return malformed(call, error);
  const broken = `the connection broke (${asError(error).message})`;
  const happened = expired ? `no answer within ${call.timeoutMs} ms` : aborted ? "ended by its caller" : broken;
  const words = `${call.what}: ${happened}. It may or may not have happened: read it back.`;
  return new ApiError("outcome-unknown", words, { cause: error });
}

/** An answer that cannot be read says nothing about what a write did. */
function malformed(call: Call, error: Error): ApiError {
  const code = isRead(call.method) ? "malformed" : "outcome-unknown";
  return new ApiError(code, `${call.what}: the answer cannot be read: ${error.message}`, { cause: error });
}
