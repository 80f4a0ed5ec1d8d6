// The network for real, on loopback: HTTP/2 and HTTP/1.1, certificates verified, connections that break at every point.
import { once } from "node:events";
import { createSecureServer, type Http2SecureServer } from "node:http2";
import { createServer } from "node:https";
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from "node:net";

import { afterEach, describe, expect, test } from "vitest";

import { makeAuthority, makeServerCertificate } from "../admission/certificate.ts";
import type { ApiError } from "../errors.ts";
import { defineResource } from "../resource.ts";
import { connect } from "./connect.ts";
import { type Credentials, bearer, fixedCredentials } from "./credentials.ts";

const pods = defineResource({ group: "", version: "v1", plural: "pods", kind: "Pod", namespaced: true });
const pod = { metadata: { namespace: "a", name: "p" } };
const validity = { notBeforeMs: Date.now() - 60_000, notAfterMs: Date.now() + 3_600_000 };
const authority = makeAuthority("test", validity);
const tls = makeServerCertificate(authority, ["127.0.0.1", "api.internal"], validity);

const identity = (name: string) => ({ headers: {}, ...makeServerCertificate(authority, [name], validity) });

const ends: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

type Handler = Parameters<typeof createServer>[1];

async function listening(listener: Server | Http2SecureServer): Promise<number> {
  const sockets = new Set<Socket>();
  listener.on("connection", (socket: Socket) => void sockets.add(socket));
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  ends.push(() => {
    for (const socket of sockets) socket.destroy();
    listener.close();
  });
  return (listener.address() as AddressInfo).port;
}

function client(
  port: number,
  options: { credentials?: Credentials; ca?: string; serverName?: string; path?: string } = {},
) {
  const connection = connect(
    {
      server: `https://127.0.0.1:${port}${options.path ?? ""}`,
      ca: options.ca ?? authority.cert,
      serverName: options.serverName,
      credentials: options.credentials ?? fixedCredentials(bearer("t")),
      namespace: "default",
    },
    { timeoutMs: 20_000 },
  );
  ends.push(async () => connection[Symbol.asyncDispose]());
  return connection.client;
}

const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => expect.unreachable("the call succeeded"),
    (error: unknown) => error as ApiError,
  );

/** Both protocols on one port; notes which was spoken. */
async function server(
  handler: Handler,
  options: { h2: boolean } = { h2: true },
): Promise<{ port: number; versions: string[] }> {
  const versions: string[] = [];
  const each: Handler = (request, response) => {
    versions.push(request.httpVersion);
    handler!(request, response);
  };
  const made = options.h2
    ? createSecureServer({ ...tls, allowHTTP1: true }, each as unknown as Parameters<typeof createSecureServer>[1])
    : createServer(tls, each);
  return { port: await listening(made), versions };
}

const ok: Handler = (request, response) => {
  let size = 0;
  request.on("data", (chunk: Buffer) => (size += chunk.length));
  request.on("end", () => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(
      JSON.stringify({
        metadata: { name: "p", annotations: { size: String(size), auth: request.headers.authorization } },
      }),
    );
  });
};

describe("protocols", () => {
  test("HTTP/2 where the server has it, all calls on few connections", async () => {
    const { port, versions } = await server(ok);
    const kube = client(port);
    await kube.get(pods, { namespace: "a", name: "p" });
    const all = await Promise.all(Array.from({ length: 50 }, () => kube.create(pods, pod)));
    expect(all.every(({ metadata }) => Number(metadata.annotations!["size"]) > 20)).toBe(true);
    expect(new Set(versions)).toEqual(new Set(["2.0"]));
  });

  test("HTTP/1.1 where it has not", async () => {
    const { port, versions } = await server(ok, { h2: false });
    const kube = client(port);
    await Promise.all(Array.from({ length: 50 }, () => kube.create(pods, pod)));
    expect(new Set(versions)).toEqual(new Set(["1.1"]));
  });

  test("a server below a path, as behind Rancher", async () => {
    const paths: string[] = [];
    const { port } = await server((request, response) => {
      paths.push(request.url ?? "");
      ok(request, response);
    });
    await client(port, { path: "/k8s/clusters/c-1/" }).get(pods, { namespace: "a", name: "p" });
    expect(paths).toEqual(["/k8s/clusters/c-1/api/v1/namespaces/a/pods/p"]);
  });
});

describe("TLS is verified", () => {
  test("an unknown authority is unreachable, not trusted", async () => {
    const { port, versions } = await server(ok);
    const error = await failure(client(port, { ca: makeAuthority("other", validity).cert }).create(pods, pod));
    expect(error.code).toBe("unreachable");
    expect(error.message).toMatch(/certificate|issuer|signature/);
    expect(versions).toEqual([]);
  });

  test("tls-server-name is what the certificate must be for", async () => {
    const { port } = await server(ok);
    await client(port, { serverName: "api.internal" }).get(pods, { namespace: "a", name: "p" });
    const error = await failure(client(port, { serverName: "evil.internal" }).get(pods, { namespace: "a", name: "p" }));
    expect(error.code).toBe("unreachable");
  });
});

describe("connections that break", () => {
  test("refused: unreachable, nothing was sent", async () => {
    const probe = createTcpServer();
    const port = await listening(probe);
    await new Promise<void>((resolve) => probe.close(() => resolve()));
    expect((await failure(client(port).create(pods, pod))).code).toBe("unreachable");
  });

  test("closed in the handshake: unreachable", async () => {
    const port = await listening(createTcpServer((socket) => socket.destroy()));
    expect((await failure(client(port).create(pods, pod))).code).toBe("unreachable");
  });

  test.each([{ h2: true }, { h2: false }])(
    "cut after the request was received: outcome-unknown, %j",
    async (options) => {
      let received = 0;
      const { port } = await server((request, response) => {
        received++;
        request.resume();
        request.on("end", () => (response.socket ?? request.socket).destroy());
      }, options);
      expect((await failure(client(port).create(pods, pod))).code).toBe("outcome-unknown");
      expect(received).toBe(1);
    },
  );

  test("cut in the middle of the answer: outcome-unknown", async () => {
    const { port } = await server(
      (_request, response) => {
        response.writeHead(201, { "content-type": "application/json", "content-length": "1000" });
        response.write('{"metadata":');
        setTimeout(() => response.socket?.destroy(), 20);
      },
      { h2: false },
    );
    expect((await failure(client(port).create(pods, pod))).code).toBe("outcome-unknown");
  });

  test.each([{ h2: true }, { h2: false }])(
    "silent, %j: the deadline ends the call, and the next one has a new connection",
    async (options) => {
      const connections = new Set<unknown>();
      let silent = true;
      const { port } = await server((request, response) => {
        connections.add((request as { stream?: { session: object } }).stream?.session ?? request.socket);
        if (!silent) ok(request, response);
      }, options);
      const kube = client(port);
      // Long enough for the handshake on a busy machine.
      const late = await failure(kube.create(pods, pod, { timeoutMs: 2000 }));
      expect(late.code).toBe("outcome-unknown");
      silent = false;
      await kube.get(pods, { namespace: "a", name: "p" });
      expect(connections.size).toBe(2);
    },
  );
});

describe("credentials", () => {
  test("401: asked anew, sent once more; the same one again is not", async () => {
    let token = "old";
    const seen: (string | undefined)[] = [];
    const { port } = await server((request, response) => {
      seen.push(request.headers.authorization);
      if (request.headers.authorization === "Bearer new") return ok(request, response);
      request.resume();
      response.writeHead(401).end(JSON.stringify({ kind: "Status", code: 401, reason: "Unauthorized" }));
    });
    let current = bearer(token);
    const credentials: Credentials = {
      current: () => Promise.resolve(current),
      reject: () => (current = bearer(token)),
    };
    token = "new";
    await client(port, { credentials }).create(pods, pod);
    expect(seen).toEqual(["Bearer old", "Bearer new"]);
    seen.length = 0;
    const stale = client(port, { credentials: fixedCredentials(bearer("stale")) });
    expect((await failure(stale.create(pods, pod))).code).toBe("unauthorized");
    expect(seen).toEqual(["Bearer stale"]);
  });

  test("401 and no newer one to be had: the 401 is the answer", async () => {
    const { port } = await server((request, response) => {
      request.resume();
      response.writeHead(401).end(JSON.stringify({ kind: "Status", code: 401, reason: "Unauthorized" }));
    });
    let asked = 0;
    const credentials: Credentials = {
      current: () => (asked++ === 0 ? Promise.resolve(bearer("old")) : Promise.reject(new Error("plugin failed"))),
      reject() {},
    };
    expect((await failure(client(port, { credentials }).create(pods, pod))).code).toBe("unauthorized");
  });

  test("a certificate that does not fit its key, half-way through a rotation: nothing was sent", async () => {
    const { port } = await server(ok);
    const credentials = fixedCredentials({ ...identity("one"), key: identity("two").key });
    expect((await failure(client(port, { credentials }).create(pods, pod))).code).toBe("unreachable");
  });

  test("none to be had: nothing was sent", async () => {
    const { port, versions } = await server(ok);
    const credentials: Credentials = { current: () => Promise.reject(new Error("plugin failed")), reject() {} };
    const error = await failure(client(port, { credentials }).create(pods, pod));
    expect([error.code, versions.length]).toEqual(["unreachable", 0]);
    expect(error.message).toContain("plugin failed");
  });

  test("a client certificate is presented, and a new one means a new connection", async () => {
    const subjects: string[] = [];
    const asking = createServer({ ...tls, requestCert: true, rejectUnauthorized: false }, (request, response) => {
      const { subject } = (
        request.socket as unknown as { getPeerCertificate(): { subject: { CN: string } } }
      ).getPeerCertificate();
      subjects.push(subject.CN);
      ok(request, response);
    });
    const port = await listening(asking);
    let current = identity("first");
    const credentials: Credentials = { current: () => Promise.resolve(current), reject() {} };
    const kube = client(port, { credentials });
    await kube.get(pods, { namespace: "a", name: "p" });
    current = identity("second");
    await kube.get(pods, { namespace: "a", name: "p" });
    expect(subjects).toEqual(["first", "second"]);
  });
});

test("closing ends what is under way, also on the connections of an older certificate; afterwards nothing is sent", async () => {
  const { port, versions } = await server(() => {});
  let current = identity("first");
  const config = {
    server: `https://127.0.0.1:${port}`,
    ca: authority.cert,
    credentials: { current: () => Promise.resolve(current), reject() {} },
    namespace: "default",
  };
  // No request ends by itself.
  const connection = connect(config, { timeoutMs: 3_600_000 });
  const first = failure(connection.client.create(pods, pod));
  while (versions.length < 1) await new Promise((resolve) => setTimeout(resolve, 5));
  current = identity("second");
  const second = failure(connection.client.create(pods, pod));
  while (versions.length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
  await connection[Symbol.asyncDispose]();
  expect([(await first).code, (await second).code]).toEqual(["outcome-unknown", "outcome-unknown"]);
  current = identity("third");
  expect((await failure(connection.client.create(pods, pod))).code).toBe("unreachable");
  expect(versions).toHaveLength(2);
});

test("a watch is read as it comes, and closing it frees its stream", async () => {
  const closed = Promise.withResolvers<void>();
  const { port } = await server((request, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.write('{"type":"ADDED","object":{"metadata":{"name":"one"}}}\n');
    request.on("close", () => closed.resolve());
  });
  for await (const event of client(port).watch(pods, { resourceVersion: "1" })) {
    expect(event).toMatchObject({ type: "ADDED" });
    break;
  }
  await closed.promise;
});
