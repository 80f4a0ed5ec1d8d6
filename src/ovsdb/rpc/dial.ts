// A byte stream to an endpoint: a unix socket, TCP, or TLS with a certificate on both sides.
import { connect as connectPlain, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { checkServerIdentity, connect as connectTls } from "node:tls";

import { OvsdbError } from "../error.ts";
import { type Endpoint, printEndpoint } from "./endpoint.ts";

/** Opens a stream; the signal ends the try, not the stream. */
export type Dial = (endpoint: Endpoint, signal: AbortSignal) => Promise<Duplex>;

/** PEM texts: the authority that signs servers, and what we show them. */
interface TlsMaterial {
  readonly authority: string;
  readonly certificate: string;
  readonly key: string;
}

export interface TlsOptions {
  /** Asked for at every connection, so that renewed certificates are used from the next one on. */
  readonly material: () => Promise<TlsMaterial>;
  /**
   * Whom the server's certificate must name. `any` takes whoever the authority has signed, as Open vSwitch's own
   * programs do: certificates of ovs-pki name no host.
   */
  readonly peer: "any" | { readonly name: string };
}

export function dialer(tls?: TlsOptions): Dial {
  return async (endpoint, signal) => {
    if (endpoint.kind !== "ssl") return await opened(connectPlain(addressOf(endpoint)), "connect", endpoint, signal);
    if (tls === undefined) {
      throw new OvsdbError("bad-value", `${printEndpoint(endpoint)} needs certificates: give the option \`tls\`.`);
    }
    const { authority, certificate, key } = await tls.material();
    const { peer } = tls;
    const socket = connectTls({
      ...addressOf(endpoint),
      ca: authority,
      cert: certificate,
      key,
      minVersion: "TLSv1.2",
      checkServerIdentity: (_host, shown) => (peer === "any" ? undefined : checkServerIdentity(peer.name, shown)),
    });
    return await opened(socket, "secureConnect", endpoint, signal);
  };
}

function addressOf(endpoint: Endpoint): { path: string } | { host: string; port: number } {
  return endpoint.kind === "unix" ? { path: endpoint.path } : { host: endpoint.host, port: endpoint.port };
}

function opened(socket: Socket, event: string, endpoint: Endpoint, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const fail = (cause: unknown) => {
      signal.removeEventListener("abort", onAbort);
      socket.destroy();
      const why = cause instanceof Error ? cause.message : "the time was up";
      reject(new OvsdbError("unreachable", `No connection to ${printEndpoint(endpoint)}: ${why}.`, { cause }));
    };
    const onAbort = () => fail(signal.reason);
    socket.once("error", fail);
    socket.once(event, () => {
      signal.removeEventListener("abort", onAbort);
      socket.removeListener("error", fail);
      socket.setNoDelay(true);
      resolve(socket);
    });
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
  });
}
