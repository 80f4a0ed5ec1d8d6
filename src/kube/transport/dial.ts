// A connection to the API server's port. Whatever fails before there is one was not sent.
import { connect as connectTcp, isIP, type Socket } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";

import { asError } from "../abort.ts";
import type { Clock } from "../clock.ts";
import { notSent } from "./transport.ts";

export interface TlsMaterial {
  /** PEM, as the next two; the system's own authorities if there is none. */
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  /** The name to expect in the certificate, if it is not the server's host. */
  readonly serverName?: string | undefined;
  /** Trusts any server: for tests. */
  readonly insecure?: boolean | undefined;
}

type Protocol = "h2" | "http/1.1";

/** Connects and says which of the protocols the server chose. Rejects with NotSentError. */
export type Dial = (
  protocols: readonly Protocol[],
  signal?: AbortSignal,
) => Promise<{ readonly socket: Socket; readonly protocol: Protocol }>;

const connectTimeoutMs = 10_000;
const keepAliveMs = 30_000;

export function dialer(origin: URL, tls: TlsMaterial, clock: Clock): Dial {
  const host = origin.hostname.replace(/^\[(.*)\]$/, "$1");
  const isTls = origin.protocol === "https:";
  const port = origin.port === "" ? (isTls ? 443 : 80) : Number(origin.port);
  const open = (protocols: readonly Protocol[]): Socket =>
    isTls ? secure(host, port, tls, protocols) : connectTcp({ host, port });
  return (protocols, signal) =>
    new Promise((resolve, reject) => {
      let socket: Socket;
      try {
        socket = open(protocols);
      } catch (error) {
        reject(notSent(asError(error))); // a certificate and a key that do not fit
        return;
      }
      const settle = () => {
        cancel();
        signal?.removeEventListener("abort", onAbort);
      };
      const fail = (error: Error) => {
        settle();
        reject(notSent(error));
        socket.destroy();
      };
      const onAbort = () => fail(asError(signal?.reason));
      const cancel = clock.after(connectTimeoutMs, () =>
        fail(new Error(`no connection to ${host}, port ${port}, within ${connectTimeoutMs / 1000} s`)),
      );
      // For good: a socket may fail long after we have let go of it, and nobody else need listen.
      socket.on("error", fail);
      socket.once("close", () => fail(new Error("the connection was closed before it was ready")));
      socket.once(isTls ? "secureConnect" : "connect", () => {
        settle();
        socket.setKeepAlive(true, keepAliveMs);
        socket.setNoDelay(true);
        resolve({ socket, protocol: isTls && (socket as TLSSocket).alpnProtocol === "h2" ? "h2" : "http/1.1" });
      });
      if (signal?.aborted === true) onAbort();
      else signal?.addEventListener("abort", onAbort, { once: true });
    });
}

function secure(host: string, port: number, tls: TlsMaterial, protocols: readonly Protocol[]): TLSSocket {
  // A name only: an address is not allowed there (RFC 6066, 3), and is compared with the certificate all the same.
  const servername = tls.serverName ?? (isIP(host) === 0 ? host : undefined);
  return connectTls({
    host,
    port,
    ALPNProtocols: [...protocols],
    minVersion: "TLSv1.2",
    rejectUnauthorized: tls.insecure !== true,
    ...(tls.ca === undefined ? {} : { ca: tls.ca }),
    ...(tls.cert === undefined ? {} : { cert: tls.cert }),
    ...(tls.key === undefined ? {} : { key: tls.key }),
    ...(servername === undefined ? {} : { servername }),
  });
}
