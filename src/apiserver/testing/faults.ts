// Faults that a simulation or a test may order, request by request. None happens unless ordered.
import { type Clock, sleep, unrefClock } from "../../kube/clock.ts";
import type { ApiRequest, ApiResponse } from "../../kube/transport/transport.ts";
import { type Api, administrator } from "../api.ts";
import { respondError } from "../router.ts";
import { StatusError } from "../status.ts";

export type Fault =
  /** The request is lost on its way: nothing happens, the client sees a broken connection. */
  | { readonly kind: "drop" }
  /** The request is carried out, and its reply is lost: the outcome is unknown to the client. */
  | { readonly kind: "lose-reply" }
  | { readonly kind: "delay"; readonly ms: number }
  /** Answered with an error instead of being carried out: 429, 500, 503, ... */
  | { readonly kind: "refuse"; readonly status: number; readonly retryAfterSeconds?: number };

/** Asked once per request; the faults happen in the order given. */
type Faults = (request: ApiRequest) => readonly Fault[];

/** What a client without sockets sees where one with them sees a reset connection. */
class ConnectionLost extends Error {
  readonly code = "ConnectionLost";

  constructor() {
    super("the connection was lost: whether the request was carried out is unknown");
    this.name = "ConnectionLost";
  }
}

/** The same API, behind its faults. */
export function withFaults(api: Api, faults: Faults, clock: Clock = unrefClock): Api {
  const handle: Api["handle"] = async (request, user) => {
    const ordered = faults(request);
    for (const fault of ordered) {
      if (fault.kind === "drop") throw new ConnectionLost();
      if (fault.kind === "delay") await sleep(clock, fault.ms, request.signal ?? new AbortController().signal);
      if (fault.kind === "refuse") return refusal(fault);
    }
    const response = await api.handle(request, user);
    if (ordered.some((fault) => fault.kind === "lose-reply")) throw new ConnectionLost();
    return response;
  };
  return { ...api, handle, transport: (request) => handle(request, administrator) };
}

const injected = "an injected fault refused this request";
const busy = "the server has received too many requests and has asked us to try again later";

function refusal({ status, retryAfterSeconds }: Extract<Fault, { kind: "refuse" }>): ApiResponse {
  const details = retryAfterSeconds === undefined ? undefined : { retryAfterSeconds };
  if (status === 429) return respondError(new StatusError(429, "TooManyRequests", busy, details));
  const reason = status === 503 ? "ServiceUnavailable" : "InternalError";
  return respondError(new StatusError(status, reason, injected, details));
}
