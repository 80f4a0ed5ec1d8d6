// What the shim answers by itself.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, expect, test } from "vitest";

import { defaultSocket, environmentLimitBytes, stdinLimitBytes } from "../../../src/cni/protocol/limits.ts";
import { commands, specVersions, versionReply } from "../../../src/cni/version.ts";
import { invoke } from "../invoke.ts";
import { answering, ScriptedServer } from "../scripted-server.ts";
import type { Subject } from "../suite.ts";
import { saidBy } from "./said.ts";

export function withoutDaemon(subject: Subject): void {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-nobody-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const nobody = join(folder, "cni.sock");

  test.each(commands.filter((command) => command !== "VERSION" && command !== "DEL"))(
    "%s without a socket says how to start it",
    async (command) => {
      const stdin = '{"name":"a","prevResult":{"cniVersion":"0.3.1"},"cniVersion":"1.0.0"}';
      const said = saidBy(
        await invoke(subject.path, { env: { CNI_COMMAND: command, HOLDFAST_SOCKET: nobody }, stdin }),
      );
      expect(said).toEqual({
        cniVersion: "1.0.0",
        code: command === "STATUS" ? 50 : 11,
        msg: `the Holdfast daemon is not there: no socket ${nobody}; start \`holdfast node\` on this node (in a cluster: its DaemonSet's pod), then try again.`,
      });
    },
  );

  test("a socket on which nobody listens any more", async () => {
    const left = join(folder, "left.sock");
    writeFileSync(left, "");
    const said = saidBy(await invoke(subject.path, { env: { CNI_COMMAND: "ADD", HOLDFAST_SOCKET: left }, stdin: "" }));
    expect(said).toMatchObject({ cniVersion: "1.1.0", code: 11, msg: expect.stringContaining("nobody listens there") });
  });

  test("the default socket is the one that `holdfast node` listens on", () => {
    // Looked up in the file: to ask would be to ask a daemon that this machine may run for its own pods.
    expect(readFileSync(subject.path).includes(defaultSocket)).toBe(true);
  });

  test.each([...specVersions, "9.9.9"])("VERSION asked in %s", async (cniVersion) => {
    const env = { CNI_COMMAND: "VERSION", HOLDFAST_SOCKET: nobody };
    const ended = await invoke(subject.path, { env, stdin: JSON.stringify({ cniVersion }) });
    expect(ended).toMatchObject({ status: 0, stderr: "" });
    expect(ended.stdout.toString()).toBe(`${JSON.stringify(versionReply(cniVersion))}\n`);
  });

  test("VERSION with nothing on stdin", async () => {
    const ended = await invoke(subject.path, { env: { CNI_COMMAND: "VERSION" }, stdin: "" });
    expect(ended.stdout.toString()).toBe(`${JSON.stringify(versionReply(undefined))}\n`);
  });

  test("started by a person: it does not wait for stdin", async () => {
    const said = saidBy(await invoke(subject.path, { env: {} }));
    expect(said).toMatchObject({ code: 4, msg: expect.stringContaining("CNI_COMMAND is missing") });
  });

  test("stdin beyond the limit reaches no daemon", async () => {
    await using server = await ScriptedServer.start(answering(0, "{}"));
    const env = { CNI_COMMAND: "ADD", HOLDFAST_SOCKET: server.path };
    const stdin = `{"cniVersion":"0.4.0"}${" ".repeat(stdinLimitBytes)}`;
    expect(saidBy(await invoke(subject.path, { env, stdin }))).toMatchObject({ cniVersion: "0.4.0", code: 7 });
    expect(server.requests).toEqual([]);
  });

  test("variables beyond the limit reach no daemon", async () => {
    await using server = await ScriptedServer.start(answering(0, "{}"));
    const env = { CNI_COMMAND: "ADD", CNI_ARGS: "x".repeat(environmentLimitBytes), HOLDFAST_SOCKET: server.path };
    expect(saidBy(await invoke(subject.path, { env, stdin: "{}" }))).toMatchObject({ code: 4 });
    expect(server.requests).toEqual([]);
  });

  test("a path that the kernel does not take as a socket's", async () => {
    const env = { CNI_COMMAND: "ADD", HOLDFAST_SOCKET: `/tmp/${'"'.repeat(200)}` };
    expect(saidBy(await invoke(subject.path, { env, stdin: "{}" }))).toMatchObject({
      code: 4,
      msg: expect.stringContaining('"""'),
    });
  });
}
