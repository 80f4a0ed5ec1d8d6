// The transport over the network: HTTP/2 where the server offers it (ALPN), HTTP/1.1 where not.
//
// Watches have connections of their own: they hold their stream for minutes, and one that is read slowly must not fill
// the window that calls share. A connection whose peer fell silent is replaced once a call on it has been given up.
import type { Clock } from "../clock.ts";
import { type Dial, dialer, type TlsMaterial } from "./dial.ts";
import type { Http1Line } from "./http1.ts";
import { Http2Line, type Http2Settings } from "./http2.ts";
import { type ApiRequest, type ApiResponse, NotSentError, type Transport } from "./transport.ts";

export interface NetworkTransport extends AsyncDisposable {
  readonly transport: Transport;
  /** Takes no more; ends watches, lets calls under way finish, and resolves when they have. */
  retire(): Promise<void>;
}

const mebibyte = 1024 * 1024;
/**
 * How much of an HTTP/2 answer may be under way before we have read it. With 256 KiB a long list waits a round trip for
 * every window; with 4 MiB a list of 50 MB took two thirds of the time. A watch needs little, but up to 100 are on a
 * connection, and none may stop the others: 100 x 256 KiB fit into 32 MiB. Bytes that are read are not held.
 */
const callWindows = { streamWindow: 4 * mebibyte, connectionWindow: 32 * mebibyte };
const watchWindows = { streamWindow: mebibyte / 4, connectionWindow: 32 * mebibyte };

export type Patience = Pick<Http2Settings, "idleMs" | "silenceMs" | "signMs">;

/**
 * The API server closes an idle connection after 90 s. A client that renews a Lease once a minute would open one per
 * renewal, and a handshake costs both sides more than the call.
 */
const usualPatience: Patience = { idleMs: 75_000, silenceMs: 15_000, signMs: 15_000 };
/** HTTP/1.1: calls at once. HTTP/2 has 100 on each, and opens another one when they are all taken. */
const callConnections = 16;

/** `clock`: one that keeps no process alive (`unrefClock`), or an idle connection does. */
export function networkTransport(
  server: string,
  tls: TlsMaterial,
  clock: Clock,
  patience: Patience = usualPatience,
): NetworkTransport {
  const url = new URL(server);
  const prefix = url.pathname.replace(/\/+$/, "");
  const dial = dialer(url, tls, clock);
  const calls = lineTo(url, dial, clock, { ...callWindows, ...patience, connections: callConnections });
  const watches = lineTo(url, dial, clock, { ...watchWindows, ...patience, connections: Infinity });
  return {
    transport: (request) => {
      const line = isWatch(request.path) ? watches : calls;
      return line.send(prefix === "" ? request : { ...request, path: prefix + request.path });
    },
    async retire() {
      await Promise.all([calls.close(), watches.destroy()]);
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([calls.destroy(), watches.destroy()]);
    },
  };
}

function isWatch(path: string): boolean {
  return /[?&]watch=(true|1)(&|$)/.test(path);
}

/** HTTP/2, or HTTP/1.1 from the moment on that the server has chosen it. */
function lineTo(url: URL, dial: Dial, clock: Clock, settings: Http2Settings) {
  const http2 = new Http2Line(url.origin, dial, clock, settings);
  // Read only where it is needed: undici takes 0.1 s and 12 MB.
  const openHttp1 = async () => new (await import("./http1.ts")).Http1Line(url.origin, dial, clock, settings);
  let http1: Promise<Http1Line> | undefined;
  let isClosed = false;
  return {
    async send(request: ApiRequest): Promise<ApiResponse> {
      const answer = await http2.send(request);
      if (answer !== undefined) return answer;
      if (isClosed) throw new NotSentError("The connection was closed.");
      http1 ??= openHttp1();
      return (await http1).send(request);
    },
    async close(): Promise<void> {
      isClosed = true;
      await Promise.all([http2.close(), http1?.then((line) => line.close())]);
    },
    async destroy(): Promise<void> {
      isClosed = true;
      await Promise.all([http2.destroy(), http1?.then((line) => line.destroy())]);
    },
  };
}
