// The API behind TLS and a bearer token, on loopback unless told otherwise.
import { randomBytes, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { chmodSync, renameSync, writeFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import { type Socket, isIPv6 } from "node:net";

import { stringify } from "yaml";

import { makeAuthority, makeServerCertificate } from "../../kube/admission/certificate.ts";
import { listening } from "../../kube/process/listen.ts";
import type { ApiResponse } from "../../kube/transport/transport.ts";
import { type Api, administrator } from "../api.ts";
import { bodyBytesMax, tooLarge } from "../request/body.ts";
import { respondError } from "../router.ts";
import { StatusError } from "../status.ts";

export interface ServeOptions {
  /** Loopback by default. Whoever reaches it and has the token may do everything. */
  readonly host?: string;
  /** 0, the default, takes a free one. */
  readonly port?: number;
  /** Made up once per database by default. */
  readonly token?: string;
  /** Where to write the kubeconfig, mode 0600; not written by default. */
  readonly kubeconfigPath?: string;
}

export interface Served {
  readonly url: string;
  readonly token: string;
  /** PEM of the certificate that clients trust. */
  readonly certificate: string;
  readonly kubeconfigPath: string | undefined;
  close(): Promise<void>;
}

/** A node and its agents hold some dozens; each costs about 60 KiB, so 2,000 are 120 MiB at the very worst. */
const connectionsMax = 2000;

export async function serve(api: Api, options: ServeOptions = {}): Promise<Served> {
  const host = options.host ?? "127.0.0.1";
  const token = options.token ?? api.remember("token", () => randomBytes(32).toString("base64url"));
  const hosts = [...new Set(["127.0.0.1", "::1", "localhost", host])];
  const made = api.remember(`certificate ${hosts.join(" ")}`, () => JSON.stringify(certify(hosts, Date.now())));
  const { authority, cert, key } = JSON.parse(made) as ReturnType<typeof certify>;
  const server = createServer({ cert, key, keepAliveTimeout: 120_000, noDelay: true }, (incoming, outgoing) => {
    void exchange(api, token, incoming, outgoing);
  });
  server.maxConnections = connectionsMax;
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  const remedy = "give another --port (0 takes a free one) or --host";
  const port = await listening(server, { host, port: options.port, remedy });
  const url = `https://${isIPv6(host) ? `[${host}]` : host}:${port}`;
  if (options.kubeconfigPath !== undefined)
    writeKubeconfig(options.kubeconfigPath, { url, certificate: authority, token });
  return {
    url,
    token,
    certificate: authority,
    kubeconfigPath: options.kubeconfigPath,
    close: async () => {
      const closed = once(server, "close");
      server.close();
      // Not closeAllConnections(): it knows nothing of a client that is still in its TLS handshake.
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

async function exchange(api: Api, token: string, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const gone = new AbortController();
  outgoing.on("close", () => gone.abort());
  outgoing.on("error", () => gone.abort());
  try {
    await send(outgoing, await respond(api, token, incoming, gone.signal), gone.signal);
  } catch {
    // A fault that was ordered, or a client that went away: either way the connection is what ends.
    outgoing.destroy();
  }
}

async function respond(api: Api, token: string, incoming: IncomingMessage, signal: AbortSignal): Promise<ApiResponse> {
  const path = incoming.url ?? "/";
  // Probes ask without a token, as on the real server.
  const isProbe = /^\/(healthz|livez|readyz|version)/.test(path);
  if (!isProbe && !isAuthorised(incoming.headers.authorization, token)) {
    return respondError(new StatusError(401, "Unauthorized", "Unauthorized"));
  }
  const body = await readBody(incoming);
  if (body === undefined) return respondError(tooLarge());
  const headers = incoming.headers as Record<string, string>;
  const request = { method: incoming.method ?? "GET", path, headers, signal };
  return api.handle(body.byteLength === 0 ? request : { ...request, body }, administrator);
}

/** Compared in constant time, so that answers do not tell how much of a guess was right. */
function isAuthorised(header: string | undefined, token: string): boolean {
  const given = Buffer.from(header?.replace(/^Bearer /i, "") ?? "");
  const wanted = Buffer.from(token);
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

async function readBody(incoming: IncomingMessage): Promise<Uint8Array | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.length;
    // The rest is still read, so that the client gets to see the answer; it is not kept.
    if (size <= bodyBytesMax) chunks.push(chunk);
  }
  if (size > bodyBytesMax) return undefined;
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
}

async function send(outgoing: ServerResponse, response: ApiResponse, signal: AbortSignal): Promise<void> {
  outgoing.writeHead(response.status, { ...response.headers });
  // Sent with the first piece where that comes at once; a quiet watch must show its headers all the same.
  const flush = setImmediate(() => outgoing.flushHeaders());
  try {
    for await (const piece of response.body) {
      if (signal.aborted) break;
      if (!outgoing.write(piece)) await once(outgoing, "drain", { signal });
    }
  } finally {
    clearImmediate(flush);
  }
  outgoing.end();
}

const dayMs = 86_400_000;
/** The key never leaves the database; a new one is made with a new database. A day back, for clocks that lag. */
const validityMs = 3650 * dayMs;

/** In PEM. Of the addresses listened on, by an authority for it alone, which clients trust, and whose key is gone. */
export function certify(hosts: readonly string[], nowMs: number) {
  const validity = { notBeforeMs: nowMs - dayMs, notAfterMs: nowMs + validityMs };
  const authority = makeAuthority("holdfast-api", validity);
  return { authority: authority.cert, ...makeServerCertificate(authority, hosts, validity) };
}

type Access = Pick<Served, "url" | "certificate" | "token">;

/** The file by which kubectl and every other client find and trust this server. */
function kubeconfig({ url, certificate, token }: Access): string {
  const name = "holdfast";
  return stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      { name, cluster: { server: url, "certificate-authority-data": Buffer.from(certificate).toString("base64") } },
    ],
    users: [{ name, user: { token } }],
    contexts: [{ name, context: { cluster: name, user: name, namespace: "default" } }],
    "current-context": name,
  });
}

/** Whole or not at all, and never readable by others, not even for a moment. */
function writeKubeconfig(path: string, access: Access): void {
  const draft = `${path}.${process.pid}.new`;
  writeFileSync(draft, kubeconfig(access), { mode: 0o600 });
  chmodSync(draft, 0o600);
  renameSync(draft, path);
}
