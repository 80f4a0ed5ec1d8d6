import { createServer, type Server } from "node:net";

import { afterEach, expect, test } from "vitest";

import { ListenError, listening } from "./listen.ts";

const servers: Server[] = [];
afterEach(() => Promise.all(servers.splice(0).map((server) => new Promise((done) => server.close(done)))));

function made(): Server {
  const server = createServer();
  servers.push(server);
  return server;
}

const remedy = "give another --metrics-port";

test("a free port is told", async () => {
  expect(await listening(made(), { host: "127.0.0.1", remedy })).toBeGreaterThan(0);
});

test("a port that is taken is named, with what to do", async () => {
  const port = await listening(made(), { host: "127.0.0.1", remedy });
  const again = listening(made(), { host: "127.0.0.1", port, remedy });
  await expect(again).rejects.toThrow(ListenError);
  await expect(again).rejects.toThrow(`127.0.0.1:${port} is in use by another program: give another --metrics-port.`);
});

test.each([
  [{ host: "192.0.2.1", port: 9477 }, "192.0.2.1:9477 is no address of this machine: give another --metrics-port."],
  [{ host: "2001:db8::1", port: 9477 }, /^\[2001:db8::1\]:9477 .*: give another --metrics-port\.$/],
])("%o", async (at, sentence) => {
  await expect(listening(made(), { ...at, remedy })).rejects.toThrow(sentence);
});

test("a connection that cannot be accepted ends nothing", async () => {
  const server = made();
  await listening(server, { host: "127.0.0.1", remedy });
  server.emit("error", new Error("accept EMFILE"));
});
