// A daemon that is silent, slow, another program, or gone.
import { expect, test } from "vitest";

import { encodeReply } from "../../../src/cni/protocol/frame.ts";
import { stdinLimitBytes } from "../../../src/cni/protocol/limits.ts";
import { invoke } from "../invoke.ts";
import { type Behaviour, ScriptedServer } from "../scripted-server.ts";
import type { Subject } from "../suite.ts";
import { saidBy } from "./said.ts";

const reply = encodeReply({ exitStatus: 0, stdout: new TextEncoder().encode('{"ips":[]}') });
const raw =
  (text: string): Behaviour =>
  (_, socket) =>
    void socket.end(Buffer.from(text, "latin1"));

export function losses(subject: Subject): void {
  test.each<[string, Behaviour, RegExp]>([
    ["closes after the request", (_, socket) => void socket.end(), /closed the connection before it had answered/],
    ["drops the connection", (_, socket) => void socket.destroy(), /closed the connection before it had answered/],
    [
      "closes within the header",
      (_, socket) => void socket.end(reply.subarray(0, 5)),
      /before it had answered.*same address/,
    ],
    ["closes within the answer", (_, socket) => void socket.end(reply.subarray(0, 12)), /before it had answered/],
    ["speaks another version", raw("HFR\x02\0\0\0\0\0"), /version 2 of the protocol.*cni install/],
    ["speaks HTTP", raw("HTTP/1.1 400 Bad Request\r\n\r\n"), /another program listens there/],
    ["announces too much", raw("HFR\x01\x7f\xff\xff\xff\0"), /2147483647 bytes; at most 1048576/],
    ["sends more than it announced", raw("HFR\x01\0\0\0\x01\0{}"), /more follows its reply/],
  ])("a daemon that %s", async (_, behaviour, msg) => {
    await using server = await ScriptedServer.start(behaviour);
    const env = { CNI_COMMAND: "ADD", HOLDFAST_SOCKET: server.path };
    const said = saidBy(await invoke(subject.path, { env, stdin: '{"cniVersion":"0.4.0"}' }));
    expect(said).toMatchObject({ cniVersion: "0.4.0", code: 11, msg: expect.stringMatching(msg) });
    expect(said.msg).toContain(server.path);
  });

  test("a daemon that closes at once, before it has read anything", async () => {
    await using server = await ScriptedServer.start(() => {});
    server.onConnection = (socket) => {
      socket.destroy();
      return false;
    };
    const env = { CNI_COMMAND: "ADD", HOLDFAST_SOCKET: server.path };
    const stdin = Buffer.alloc(stdinLimitBytes, "a");
    expect(saidBy(await invoke(subject.path, { env, stdin }))).toMatchObject({
      code: 11,
      msg: expect.stringContaining("closed the connection"),
    });
  });

  test("a daemon that never answers", async () => {
    await using server = await ScriptedServer.start(() => {});
    const env = { CNI_COMMAND: "CHECK", HOLDFAST_SOCKET: server.path, HOLDFAST_WAIT_MS: "400" };
    const said = saidBy(await invoke(subject.path, { env, stdin: "{}" }));
    expect(said).toMatchObject({ code: 11, msg: expect.stringContaining("not answered") });
    expect(said.msg).toContain("within 400 ms");
  });

  test("a daemon that never reads, with more to send than the kernel keeps", async () => {
    await using server = await ScriptedServer.start(() => {});
    server.onConnection = (socket) => {
      socket.pause();
      return false;
    };
    const env = { CNI_COMMAND: "ADD", HOLDFAST_SOCKET: server.path, HOLDFAST_WAIT_MS: "400" };
    const stdin = Buffer.alloc(stdinLimitBytes, "a");
    expect(saidBy(await invoke(subject.path, { env, stdin })).msg).toContain("within 400 ms");
  });

  test("a daemon that drips: the wait is for the whole reply, not for each byte", async () => {
    await using server = await ScriptedServer.start((_, socket) => {
      socket.write(Buffer.from("HFR\x01\0\0\xff\xff\0", "latin1"));
      const timer = setInterval(() => socket.write("x"), 50);
      socket.on("close", () => clearInterval(timer));
    });
    const env = { CNI_COMMAND: "ADD", HOLDFAST_SOCKET: server.path, HOLDFAST_WAIT_MS: "600" };
    expect(saidBy(await invoke(subject.path, { env, stdin: "{}" })).msg).toContain("within 600 ms");
  });

  test("STATUS of a daemon that is gone: the plugin is not available", async () => {
    await using server = await ScriptedServer.start((_, socket) => void socket.end());
    const env = { CNI_COMMAND: "STATUS", HOLDFAST_SOCKET: server.path };
    expect(saidBy(await invoke(subject.path, { env, stdin: "{}" })).code).toBe(50);
  });
}
