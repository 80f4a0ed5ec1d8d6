// How the suite reaches a server: one function from a request to a response. An embedded server gives its own; the
// others are reached over HTTPS, and their certificate is always verified.
import { Agent, request } from "undici";

import type { Transport } from "../../../src/kube/transport/transport.ts";

interface Connection {
  readonly transport: Transport;
  readonly close: () => Promise<void>;
}

/**
 * Waiting is limited by the request's signal alone, so undici's own limits are off: a quiet watch is not a failure.
 * HTTP/1.1, because a body that is too large makes kube-apiserver end its HTTP/2 connection, and undici then fails
 * every other request on it: the cases would disturb each other.
 */
export function httpTransport(url: string, caPem?: string): Connection {
  const agent = new Agent({
    allowH2: false,
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: caPem === undefined ? {} : { ca: caPem },
  });
  const transport: Transport = async ({ method, path, headers, body, signal }) => {
    const answer = await request(new URL(path, url), {
      method: method as "GET",
      headers,
      dispatcher: agent,
      ...(body === undefined ? {} : { body }),
      ...(signal === undefined ? {} : { signal }),
    });
    const flat: Record<string, string> = {};
    for (const [name, value] of Object.entries(answer.headers)) {
      if (value !== undefined) flat[name] = Array.isArray(value) ? value.join(", ") : value;
    }
    return { status: answer.statusCode, headers: flat, body: answer.body };
  };
  return { transport, close: () => agent.destroy() };
}
