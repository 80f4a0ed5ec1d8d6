// What a caller may notice of what the network does to connections. HTTP/2 on loopback, against Node's server.
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  constants,
  createSecureServer,
  type Http2SecureServer,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { afterEach, describe, expect, test } from "vitest";

import { makeAuthority, makeServerCertificate } from "../admission/certificate.ts";
import { unrefClock } from "../clock.ts";
import { networkTransport, type Patience } from "./network.ts";
import { type ApiRequest, type ApiResponse, NotSentError } from "./transport.ts";

const validity = { notBeforeMs: Date.now() - 60_000, notAfterMs: Date.now() + 3_600_000 };
const tls = makeServerCertificate(makeAuthority("test", validity), ["127.0.0.1"], validity);
const get: ApiRequest = { method: "GET", path: "/", headers: {} };
const post: ApiRequest = { method: "POST", path: "/", headers: {}, body: "{}" };
const watch: ApiRequest = { method: "GET", path: "/?watch=true", headers: {} };

const ends: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

type OnStream = (stream: ServerHttp2Stream, session: ServerHttp2Session, path: string) => void;

async function listening(server: Http2SecureServer | ReturnType<typeof createServer>): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  ends.push(() => void server.close());
  return (server.address() as AddressInfo).port;
}

async function serving(onStream: OnStream, settings = {}): Promise<{ port: number; sessions: ServerHttp2Session[] }> {
  const sessions: ServerHttp2Session[] = [];
  const server = createSecureServer({ ...tls, settings });
  server.on("session", (session) => {
    sessions.push(session);
    session.on("error", () => {});
  });
  server.on("stream", (stream, head) => {
    stream.on("error", () => {});
    const path = String(head[":path"]);
    if (path !== "/unread") stream.resume();
    onStream(stream, stream.session as ServerHttp2Session, path);
  });
  const port = await listening(server);
  ends.push(() => {
    for (const session of sessions) session.destroy();
  });
  return { port, sessions };
}

const answer: OnStream = (stream) => {
  stream.respond({ ":status": 200 });
  stream.end("{}");
};

function network(port: number, patience?: Patience) {
  const made = networkTransport(`https://127.0.0.1:${port}`, { insecure: true }, unrefClock, patience);
  ends.push(async () => made[Symbol.asyncDispose]());
  return made;
}

async function text(response: Promise<ApiResponse>): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const chunk of (await response).body) parts.push(chunk);
  return Buffer.concat(parts).toString();
}

const failure = (promise: Promise<unknown>): Promise<Error> =>
  promise.then(
    () => expect.unreachable("the call succeeded"),
    (error: unknown) => error as Error,
  );

const calm: Patience = { idleMs: 60_000, silenceMs: 60_000, signMs: 60_000 };

test(
  "writes that are given up while their bodies are on the way out do not stop the process",
  { timeout: 60_000 },
  async () => {
    // In a process of its own: Node would send empty frames for ever, and no test could end it.
    const { port } = await serving((stream, session, path) => {
      if (path === "/") answer(stream, session, path);
    });
    const child = spawn(
      process.execPath,
      [join(import.meta.dirname, "..", "testing", "give-up.ts"), `https://127.0.0.1:${port}`],
      { stdio: ["ignore", "pipe", "inherit"], timeout: 15_000, killSignal: "SIGKILL" },
    );
    let said = "";
    child.stdout.on("data", (chunk: Buffer) => (said += chunk.toString()));
    const [code] = (await once(child, "exit")) as [number | null];
    expect([code, said]).toEqual([0, "alive\n"]);
  },
);

describe("a connection that its server closes", () => {
  test("what it refused goes to another one, and what it accepted ends where it is", async () => {
    const paths: string[] = [];
    const first = Promise.withResolvers<ServerHttp2Stream>();
    let firstId: number | undefined;
    const { port, sessions } = await serving((stream, session, path) => {
      paths.push(path);
      if (session !== sessions[0]) return answer(stream, session, path);
      if (firstId !== undefined) session.goaway(constants.NGHTTP2_NO_ERROR, firstId);
      firstId ??= stream.id;
      first.resolve(stream);
    });
    const { transport } = network(port);
    const accepted = text(transport({ ...post, path: "/accepted" }));
    const held = await first.promise;
    expect(await text(transport({ ...post, path: "/refused" }))).toBe("{}");
    answer(held, sessions[0]!, "");
    expect(await accepted).toBe("{}");
    expect([paths, sessions.length]).toEqual([["/accepted", "/refused", "/refused"], 2]);
  });

  test("refused twice: nothing was done, and the caller is told so", async () => {
    let received = 0;
    const { port } = await serving((stream) => {
      received++;
      stream.close(constants.NGHTTP2_REFUSED_STREAM);
    });
    expect(await failure(network(port).transport(post))).toBeInstanceOf(NotSentError);
    expect(received).toBe(2);
  });

  test("what it accepted goes on, and the next call has a new one", async () => {
    const { port, sessions } = await serving((stream, session, path) => {
      if (session !== sessions[0]) return answer(stream, session, path);
      session.close();
      setTimeout(() => answer(stream, session, path), 50);
    });
    const { transport } = network(port);
    expect(await text(transport(post))).toBe("{}");
    expect(await text(transport(post))).toBe("{}");
    expect(sessions).toHaveLength(2);
  });
});

test("an answer that is complete before anybody reads it is read", async () => {
  const { port } = await serving((stream) => {
    stream.respond({ ":status": 200 });
    stream.end("x".repeat(200_000));
  });
  const response = await network(port).transport(post);
  await sleep(50);
  expect(await text(Promise.resolve(response))).toHaveLength(200_000);
});

describe("an answer that is cut is never taken for a whole one", () => {
  test.each<[string, OnStream]>([
    ["the connection breaks", (stream) => stream.session?.socket.destroy()],
    ["the session is ended", (stream) => stream.session?.destroy()],
    ["the stream is cancelled", (stream) => stream.destroy(new DOMException("gone", "AbortError"))],
    ["the stream fails", (stream) => stream.destroy(new Error("a handler that threw"))],
  ])("%s", async (_name, cut) => {
    const { port } = await serving((stream, session, path) => {
      stream.respond({ ":status": 200 });
      stream.write('{"items":[');
      setTimeout(() => cut(stream, session, path), 20);
    });
    await failure(text(network(port).transport(get)));
  });
});

describe("room", () => {
  test("a server that allows few streams is asked on more connections; what finds no room waits", async () => {
    let most = 0;
    let open = 0;
    // Nothing is answered before all connections are in use, however slow the machine.
    const held: (() => void)[] = [];
    let isFull = false;
    const { port, sessions } = await serving(
      (stream, session, path) => {
        most = Math.max(most, ++open);
        isFull ||= open === 16;
        held.push(() => {
          open--;
          answer(stream, session, path);
        });
        if (isFull) for (const each of held.splice(0)) each();
      },
      { maxConcurrentStreams: 1 },
    );
    const { transport } = network(port);
    const all = await Promise.all(Array.from({ length: 60 }, () => text(transport(get))));
    expect(all.every((each) => each === "{}")).toBe(true);
    expect([most, sessions.length]).toEqual([16, 16]);
  });

  test("one that gave up waiting for room is never sent", async () => {
    const held: ServerHttp2Stream[] = [];
    const { port } = await serving((stream) => void held.push(stream), { maxConcurrentStreams: 1 });
    const { transport } = network(port);
    const calls = Array.from({ length: 16 }, () => transport(get));
    while (held.length < 16) await sleep(5);
    const givenUp = new AbortController();
    const late = failure(transport({ ...post, signal: givenUp.signal }));
    givenUp.abort(new Error("no longer wanted"));
    expect((await late).message).toBe("no longer wanted");
    for (const stream of held.splice(0)) answer(stream, stream.session as ServerHttp2Session, "");
    await Promise.all(calls.map(text));
    await sleep(50); // as long as it would take to arrive, were it sent now that there is room
    expect(held).toEqual([]);
  });

  test("a connection without calls is closed after a while, and not before", async () => {
    const { port, sessions } = await serving(answer);
    const { transport } = network(port, { ...calm, idleMs: 100 });
    await text(transport(get));
    await text(transport(get));
    expect(sessions).toHaveLength(1);
    await once(sessions[0]!, "close");
    await text(transport(get));
    expect(sessions).toHaveLength(2);
  });
});

/** Forwards bytes until it is told to swallow them: so a machine that lost its power looks from the other side. */
async function cable(to: number): Promise<{ port: number; cut: () => void }> {
  const sockets: Socket[] = [];
  let isCut = false;
  const port = await listening(
    createServer((near) => {
      const far = connect(to, "127.0.0.1");
      sockets.push(near, far);
      for (const [from, into] of [
        [near, far],
        [far, near],
      ] as const) {
        from.on("error", () => {});
        from.on("data", (chunk) => void (isCut || into.write(chunk)));
        from.on("close", () => void (isCut || into.destroy()));
      }
    }),
  );
  ends.push(() => {
    for (const socket of sockets) socket.destroy();
  });
  return { port, cut: () => (isCut = true) };
}

describe("a peer that vanished", () => {
  const head: OnStream = (stream) => {
    stream.respond({ ":status": 200 });
    stream.write("{}\n");
  };

  test("ends its watches after a ping without an answer", async () => {
    const { port } = await serving(head);
    const between = await cable(port);
    const { transport } = network(between.port, { ...calm, silenceMs: 50, signMs: 200 });
    const chunks = (await transport(watch)).body[Symbol.asyncIterator]();
    await chunks.next();
    const next = failure(chunks.next() as Promise<unknown>);
    between.cut();
    expect((await next).message).toContain("no sign of life");
  });

  test("one that is only quiet answers it, and keeps them", async () => {
    const { port, sessions } = await serving(head);
    const { transport } = network(port, { ...calm, silenceMs: 20, signMs: 500 });
    const chunks = (await transport(watch)).body[Symbol.asyncIterator]();
    await chunks.next();
    for (let ping = 0; ping < 5; ping++) await once(sessions[0]!, "ping");
    expect(sessions[0]!.destroyed).toBe(false);
    await chunks.return?.();
  });
});

test("closed at any moment, every call ends, and nothing is thrown past its caller", { timeout: 60_000 }, async () => {
  const { port } = await serving((stream, session, path) => {
    const chance = Math.random();
    if (chance < 0.1) return;
    if (chance < 0.2) session.close();
    if (chance < 0.6) return answer(stream, session, path);
    stream.respond({ ":status": 200 });
    stream.write("{}\n");
    setTimeout(() => {
      if (!stream.destroyed) stream.end("x".repeat(100_000));
    }, chance * 10);
  });
  for (let round = 0; round < 60; round++) {
    const { transport, [Symbol.asyncDispose]: close } = networkTransport(
      `https://127.0.0.1:${port}`,
      { insecure: true },
      unrefClock,
      calm,
    );
    const calls = Array.from({ length: 30 }, (_, index) => {
      const ending = new AbortController();
      // Not the writes: one that goes wrong stops the process, so they have a test with a process of its own.
      if (index % 3 !== 1) setTimeout(() => ending.abort(new Error("given up")), Math.random() * 15);
      return text(transport({ ...[get, post, watch][index % 3]!, signal: ending.signal }));
    });
    const settled = Promise.allSettled(calls);
    await sleep(Math.random() * 15);
    await close();
    await settled;
  }
});
