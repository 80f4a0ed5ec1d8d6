// The watch stream: one JSON event per line, in the order of the server.
import { orAborted } from "../abort.ts";
import { answeredError, type Call, type Caller, classify } from "../call.ts";
import { type Deadline, deadline } from "../clock.ts";
import { errorFromStatus, type Status } from "../errors.ts";
import type { KubeObject } from "../meta.ts";
import { lines } from "../transport/body.ts";
import type { ApiResponse } from "../transport/transport.ts";

export type WatchEvent<T extends KubeObject> =
  | { readonly type: "ADDED" | "MODIFIED" | "DELETED"; readonly object: T }
  /** Nothing changed up to this version: where to resume from. */
  | { readonly type: "BOOKMARK"; readonly resourceVersion: string };

interface WatchLimits {
  /** To the head of the response. */
  readonly openMs: number;
  /** Silence after which the peer is taken for dead. Bookmarks break the silence about once a minute. */
  readonly idleMs: number;
  readonly onOpen?: (() => void) | undefined;
}

/** Opens the stream when first iterated; ends when the server ends it; throws ApiError, also for an ERROR event. */
export async function* watchStream<T extends KubeObject>(
  caller: Caller,
  call: Omit<Call, "timeoutMs">,
  limits: WatchLimits,
): AsyncGenerator<WatchEvent<T>> {
  const whole = { ...call, timeoutMs: limits.openMs };
  const ending = new AbortController();
  const onAbort = () => ending.abort(call.signal?.reason);
  if (call.signal?.aborted === true) onAbort();
  else call.signal?.addEventListener("abort", onAbort, { once: true });
  let idle: Deadline | undefined;
  try {
    const response = await open(caller, whole, ending);
    limits.onOpen?.();
    idle = deadline(caller.clock, limits.idleMs, ending.signal);
    for await (const line of lines(response.body, idle.signal)) {
      idle.extend();
      if (line !== "") yield parseEvent<T>(call.what, line);
    }
  } catch (error) {
    const { expired = false } = idle ?? {};
    const how = { sent: true, expired, aborted: call.signal?.aborted === true };
    throw classify({ ...whole, timeoutMs: limits.idleMs }, error, how);
  } finally {
    idle?.[Symbol.dispose]();
    call.signal?.removeEventListener("abort", onAbort);
    ending.abort(new Error("The watch was closed.")); // frees the stream on the connection
  }
}

async function open(caller: Caller, call: Call, ending: AbortController): Promise<ApiResponse> {
  using limit = deadline(caller.clock, call.timeoutMs, ending.signal);
  // The request lives on after its head, so it hangs on the ending, which the deadline only triggers.
  limit.signal.addEventListener("abort", () => ending.abort(limit.signal.reason), { once: true });
  const { method, path } = call;
  const request = { method, path, headers: caller.headers, signal: ending.signal };
  try {
    const response = await orAborted(caller.transport(request), ending.signal);
    caller.observe?.({ method: "WATCH", status: response.status, durationMs: 0 });
    if (response.status !== 200) throw await answeredError(caller, call, response, limit.signal);
    return response;
  } catch (error) {
    throw classify(call, error, { sent: true, expired: limit.expired, aborted: call.signal?.aborted === true });
  }
}

function parseEvent<T extends KubeObject>(what: string, line: string): WatchEvent<T> {
  const { type = "", object } = (JSON.parse(line) ?? {}) as { type?: string; object?: T | null };
  if (typeof object !== "object" || object === null) throw new SyntaxError("A watch event without an object.");
  switch (type) {
    case "ADDED":
    case "MODIFIED":
    case "DELETED":
      return { type, object };
    case "BOOKMARK":
      return { type, resourceVersion: (object as Partial<T>).metadata?.resourceVersion ?? "" };
    case "ERROR": {
      const status = object as unknown as Status;
      throw errorFromStatus(what, status.code ?? 500, status);
    }
    default:
      throw new SyntaxError(`A watch event of the unknown type "${type}".`);
  }
}
