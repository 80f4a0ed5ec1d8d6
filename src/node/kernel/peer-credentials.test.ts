import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type Server, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, expect, test } from "vitest";

import { peerCredentials } from "./peer-credentials.ts";

let folder: string;
let server: Server;
let path: string;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-peer-"));
  path = join(folder, "s.sock");
  server = createServer();
  server.listen(path);
  await once(server, "listening");
  chmodSync(folder, 0o755);
  chmodSync(path, 0o777);
});
afterEach(() => {
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

const client =
  "const s = require('net').connect(process.argv[1]); s.on('connect', () => console.log('in')); s.on('close', () => process.exit());";

/** Connects from a process of its own, and says what the kernel says of it. */
async function credentialsOf(ids: { uid?: number; gid?: number }) {
  const connected = once(server, "connection") as Promise<[Socket]>;
  const child = spawn(process.execPath, ["-e", client, path], { ...ids, stdio: ["ignore", "pipe", "inherit"] });
  try {
    const [socket] = await connected;
    const found = peerCredentials(socket);
    const closed = once(child, "close");
    socket.destroy();
    await closed;
    return { ...found, child: child.pid ?? -1 };
  } finally {
    child.kill("SIGKILL");
  }
}

test("the peer is named by its pid, uid and gid", async () => {
  const { child, ...found } = await credentialsOf({});
  expect(found).toEqual({ pid: child, uid: process.getuid?.(), gid: process.getgid?.() });
});

test("a process of another user is told apart", async (context) => {
  if (process.getuid?.() !== 0) return context.skip("only root can start a process of another user");
  const { child, ...found } = await credentialsOf({ uid: 4321, gid: 8765 });
  expect(found).toEqual({ pid: child, uid: 4321, gid: 8765 });
});

test("many at once: each connection has its own peer", async (context) => {
  if (process.getuid?.() !== 0) return context.skip("only root can start a process of another user");
  const uids = [0, 1001, 1002, 1003];
  const seen: number[] = [];
  server.on("connection", (socket) => {
    seen.push(peerCredentials(socket).uid);
    socket.destroy();
  });
  const ended = uids.map((uid) => once(spawn(process.execPath, ["-e", client, path], { uid, gid: uid }), "close"));
  await Promise.all(ended);
  expect(seen.sort((a, b) => a - b)).toEqual(uids);
});

test("a closed connection has no descriptor, and says so", async () => {
  const connected = once(server, "connection") as Promise<[Socket]>;
  const peer = connect(path);
  const [socket] = await connected;
  socket.destroy();
  peer.destroy();
  expect(() => peerCredentials(socket)).toThrow(expect.objectContaining({ code: "no-descriptor" }));
  expect(() => peerCredentials(new Socket())).toThrow("it is not open");
});

test("a TCP connection is refused: everybody could make one", async () => {
  const tcp = createServer().listen(0, "127.0.0.1");
  await once(tcp, "listening");
  const address = tcp.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  const connected = once(tcp, "connection") as Promise<[Socket]>;
  const peer = connect(address.port, "127.0.0.1");
  const [socket] = await connected;
  expect(() => peerCredentials(socket)).toThrow(expect.objectContaining({ code: "no-descriptor" }));
  socket.destroy();
  peer.destroy();
  tcp.close();
});
