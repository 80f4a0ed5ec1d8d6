// Faults that a simulation or a test may order, request by request. None happens unless ordered.
import type { ApiRequest } from "../kube/transport/transport.ts";

export type Fault =
  /** The request is lost on its way: nothing happens, the client sees a broken connection. */
  | { readonly kind: "drop" }
  /** The request is carried out, and its reply is lost: the outcome is unknown to the client. */
  | { readonly kind: "lose-reply" }
  | { readonly kind: "delay"; readonly ms: number }
  /** Answered with an error instead of being carried out: 429, 500, 503, ... */
  | { readonly kind: "refuse"; readonly status: number; readonly retryAfterSeconds?: number };

/** Asked once per request; the faults happen in the order given. */
export type Faults = (request: ApiRequest) => readonly Fault[];

/** What a client without sockets sees where one with them sees a reset connection. */
export class ConnectionLost extends Error {
  readonly code = "ConnectionLost";

  constructor() {
    super("the connection was lost: whether the request was carried out is unknown");
    this.name = "ConnectionLost";
  }
}
