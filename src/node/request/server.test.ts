// The socket: who is heard, how much, how many, and what becomes of an existing socket file.
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { afterEach, beforeEach, describe, expect, it } from "vitest";

import type { Reply } from "../../cni/protocol/frame.ts";
import { stdinLimitBytes } from "../../cni/protocol/limits.ts";
import { ReplyBuffer, requestFrame } from "../../cni/shim/wire.ts";
import { realClock } from "../../kube/clock.ts";
import { silent } from "../../log/log.ts";
import { SocketServer, type SocketServerOptions } from "./server.ts";

let folder: string;
let server: SocketServer | undefined;
const path = () => join(folder, "run", "cni.sock");
const ok: Reply = { exitStatus: 0, stdout: new TextEncoder().encode("done") };
const request = requestFrame(new TextEncoder().encode("CNI_COMMAND=VERSION\0"), new Uint8Array(10));

beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), "socket-"))));
afterEach(async () => {
  await server?.close(AbortSignal.abort());
  server = undefined;
  rmSync(folder, { recursive: true });
});

async function listen(options: Partial<SocketServerOptions> = {}): Promise<SocketServer> {
  const handle = async () => ok;
  server = new SocketServer({
    path: path(),
    handle,
    peerUid: () => 0,
    ownUid: 7,
    clock: realClock,
    log: silent,
    ...options,
  });
  await server.listen();
  return server;
}

/** The whole of what came back: text and status, or "closed" where there was no reply. */
function send(...chunks: Uint8Array[]): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const reply = new ReplyBuffer();
  const socket: Socket = connect(path(), () => chunks.forEach((chunk) => socket.write(chunk)));
  socket.on("error", () => {});
  socket.on("close", () => resolve("closed"));
  socket.on("data", (chunk: Buffer) => {
    reply.push(chunk);
    if (reply.complete) resolve(`${reply.exitStatus} ${new TextDecoder().decode(reply.stdout)}`);
  });
  return promise;
}

describe("the socket file", () => {
  it("is its owner's alone, and so is its folder", async () => {
    await listen();
    expect([statSync(path()).mode & 0o777, statSync(dirname(path())).mode & 0o777]).toEqual([0o600, 0o700]);
  });

  it("of a daemon that is gone is replaced; of one that answers it is not", async () => {
    await listen();
    await server!.close(AbortSignal.abort());
    writeFileSync(path(), "");
    await listen();
    expect(await send(request)).toBe("0 done");
    const second = new SocketServer({
      path: path(),
      handle: async () => ok,
      peerUid: () => 0,
      ownUid: 0,
      clock: realClock,
      log: silent,
    });
    await expect(second.listen()).rejects.toThrow(/another daemon answers/);
    expect(await send(request)).toBe("0 done");
  });
});

describe("who is heard", () => {
  it.each([
    ["root", 0, "0 done"],
    ["the daemon's own user", 7, "0 done"],
    ["anybody else", 1000, "closed"],
  ])("%s", async (_who, uid, expected) => {
    await listen({ peerUid: () => uid });
    expect(await send(request)).toBe(expected);
  });

  it("nobody, where the kernel does not tell", async () => {
    await listen({
      peerUid: () => {
        throw new Error("no credentials");
      },
    });
    expect(await send(request)).toBe("closed");
  });
});

describe("requests", () => {
  it("may come in pieces of any size", async () => {
    await listen();
    const pieces = Array.from(request, (byte) => Uint8Array.of(byte));
    expect(await send(...pieces)).toBe("0 done");
  });

  it("that announce too much, or speak another protocol, are refused before they are read", async () => {
    await listen();
    const large = Uint8Array.from(request.slice(0, 12));
    new DataView(large.buffer).setUint32(8, stdinLimitBytes + 1);
    expect(await send(large)).toMatch(/^1 .*"code":6/);
    expect(await send(new TextEncoder().encode("GET / HTTP/1.1\r\n\r\n"))).toMatch(/^1 .*"code":6/);
  });

  it("beyond 1,024 in work are told to try again, and those in work are answered", async () => {
    const gate = Promise.withResolvers<Reply>();
    const busy = await listen({ handle: () => gate.promise });
    const waiting = Array.from({ length: 1024 }, () => send(request));
    await expect.poll(() => busy.inWork).toBe(1024);
    expect(await send(request)).toMatch(/^1 .*"code":11/);
    gate.resolve(ok);
    expect(new Set(await Promise.all(waiting))).toEqual(new Set(["0 done"]));
  });

  it("that fail without an answer get one all the same", async () => {
    await listen({
      handle: async () => {
        throw new Error("a bug");
      },
    });
    expect(await send(request)).toMatch(/^1 .*"code":11.*a bug/);
  });

  it("are called off when the runtime hangs up", async () => {
    const called = Promise.withResolvers<unknown>();
    await listen({
      handle: (_request, signal) =>
        new Promise((resolve) => {
          signal.addEventListener("abort", () => {
            called.resolve(signal.reason);
            resolve(ok);
          });
        }),
    });
    const socket = connect(path(), () => socket.write(request, () => setImmediate(() => socket.destroy())));
    expect(String(await called.promise)).toContain("hung up");
  });

  it("in work are waited for when the daemon stops", async () => {
    const gate = Promise.withResolvers<Reply>();
    const busy = await listen({ handle: () => gate.promise });
    const waiting = send(request);
    await expect.poll(() => busy.inWork).toBe(1);
    const closing = busy.close(new AbortController().signal);
    gate.resolve(ok);
    expect(await waiting).toBe("0 done");
    await closing;
  });
});
