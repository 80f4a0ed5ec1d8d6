// What goes through: variables and stdin to the daemon, its bytes and its status back.
import { expect, test } from "vitest";

import { encodeReply } from "../../../src/cni/protocol/frame.ts";
import { stdinLimitBytes, stdoutLimitBytes } from "../../../src/cni/protocol/limits.ts";
import { invoke } from "../invoke.ts";
import { answering, ScriptedServer } from "../scripted-server.ts";
import type { Subject } from "../suite.ts";

const variables = {
  CNI_COMMAND: "ADD",
  CNI_CONTAINERID: "0a1b2c",
  CNI_NETNS: "/run/netns/blau-ä",
  CNI_IFNAME: "net1",
  CNI_ARGS: "IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=web-0",
  CNI_PATH: "/opt/cni/bin:/usr/lib/cni",
};

export function answers(subject: Subject): void {
  test("the six variables and stdin arrive as they are, and nothing else of the environment", async () => {
    await using server = await ScriptedServer.start(answering(0, "{}\n"));
    const stdin = '{"cniVersion":"1.0.0","name":"blau-ä","ipam":{"type":"holdfast"}}\n\0\n';
    const env = { ...variables, HOLDFAST_SOCKET: server.path, SECRET: "x", CNI_OTHER: "y" };
    await invoke(subject.path, { env, stdin });
    expect(server.requests).toEqual([{ environment: variables, stdin: Uint8Array.from(Buffer.from(stdin)) }]);
  });

  test("variables that are not set, or set to nothing, do not arrive", async () => {
    await using server = await ScriptedServer.start(answering(0, ""));
    const env = { CNI_COMMAND: "DEL", CNI_NETNS: "", HOLDFAST_SOCKET: server.path };
    await invoke(subject.path, { env, stdin: "{}" });
    expect(server.requests[0]?.environment).toEqual({ CNI_COMMAND: "DEL" });
  });

  test("the reply's bytes are printed as they are, whatever they are", async () => {
    const stdout = Uint8Array.from({ length: 70_000 }, (_, index) => (index * 7) % 256);
    await using server = await ScriptedServer.start(answering(0, stdout));
    const ended = await invoke(subject.path, { env: { ...variables, HOLDFAST_SOCKET: server.path }, stdin: "{}" });
    expect(ended.stdout.equals(stdout)).toBe(true);
    expect(ended).toMatchObject({ status: 0, signal: null, stderr: "" });
  });

  test.each([0, 1, 7, 255])("the exit status %i is the daemon's", async (status) => {
    await using server = await ScriptedServer.start(answering(status, '{"code":7}'));
    const ended = await invoke(subject.path, { env: { ...variables, HOLDFAST_SOCKET: server.path }, stdin: "{}" });
    expect(ended).toMatchObject({ status, signal: null, stderr: "" });
    expect(ended.stdout.toString()).toBe('{"code":7}');
  });

  test("success without a word, as DEL has it", async () => {
    await using server = await ScriptedServer.start(answering(0, ""));
    const ended = await invoke(subject.path, { env: { ...variables, HOLDFAST_SOCKET: server.path }, stdin: "{}" });
    expect(ended).toMatchObject({ status: 0, stdout: Buffer.alloc(0) });
  });

  test("stdin may be empty", async () => {
    await using server = await ScriptedServer.start(answering(1, "no"));
    const ended = await invoke(subject.path, { env: { ...variables, HOLDFAST_SOCKET: server.path }, stdin: "" });
    expect(server.requests[0]?.stdin).toEqual(new Uint8Array());
    expect(ended.stdout.toString()).toBe("no");
  });

  test("stdin and the reply may be as long as the limits", async () => {
    const stdin = Buffer.alloc(stdinLimitBytes, "a");
    const stdout = Buffer.alloc(stdoutLimitBytes, "b");
    await using server = await ScriptedServer.start(answering(0, stdout));
    const ended = await invoke(subject.path, { env: { ...variables, HOLDFAST_SOCKET: server.path }, stdin });
    expect(stdin.equals(server.requests[0]?.stdin ?? Buffer.alloc(0))).toBe(true);
    expect(ended.status).toBe(0);
    expect(ended.stdout.equals(stdout)).toBe(true);
  });

  test("a reply that comes byte by byte is put together", async () => {
    const reply = encodeReply({ exitStatus: 3, stdout: new TextEncoder().encode('{"ips":[]}') });
    await using server = await ScriptedServer.start(async (_, socket) => {
      socket.setNoDelay(true);
      for (const byte of reply) {
        await new Promise((resolve) => socket.write(Uint8Array.of(byte), resolve));
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
    });
    const ended = await invoke(subject.path, { env: { ...variables, HOLDFAST_SOCKET: server.path }, stdin: "{}" });
    expect(ended).toMatchObject({ status: 3, stderr: "" });
    expect(ended.stdout.toString()).toBe('{"ips":[]}');
  });

  test("a reply that comes before the request was read counts", async () => {
    await using server = await ScriptedServer.start(() => {});
    server.onConnection = (socket) => {
      socket.end(encodeReply({ exitStatus: 1, stdout: new TextEncoder().encode("too many") }));
      return false;
    };
    const ended = await invoke(subject.path, { env: { ...variables, HOLDFAST_SOCKET: server.path }, stdin: "{}" });
    expect(ended).toMatchObject({ status: 1, stdout: Buffer.from("too many") });
  });
}
