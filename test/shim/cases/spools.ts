// A DEL never needs the daemon: the disk keeps it, whole or not at all, until one does it; the runtime hears success.
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, expect, test } from "vitest";

import { encodeReply, type Request, RequestReader } from "../../../src/cni/protocol/frame.ts";
import {
  environmentLimitBytes,
  spoolLimitBytes,
  spoolLimitFiles,
  spooledLimitBytes,
  stdinLimitBytes,
} from "../../../src/cni/protocol/limits.ts";
import { type Ended, invoke } from "../invoke.ts";
import { answering, type Behaviour, ScriptedServer } from "../scripted-server.ts";
import type { Subject } from "../suite.ts";
import { saidBy } from "./said.ts";

const config = '{"cniVersion":"1.0.0","name":"a","type":"macvlan"}';
const done = { status: 0, stdout: Buffer.alloc(0), stderr: "" };
const refusal = new TextEncoder().encode('{"cniVersion":"1.0.0","code":11,"msg":"later"}');
/** What changes a folder or a file: where a death could leave half of something. */
const steps = ["mkdir", "openat", "write", "fsync", "close", "rename", "exit_group"];

export function spools(subject: Subject): void {
  let folder: string;
  let spool: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "holdfast-spool-"));
    spool = join(folder, "state", "spool");
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const environment = (socket: string) => ({
    CNI_COMMAND: "DEL",
    CNI_CONTAINERID: "box-1",
    CNI_IFNAME: "net1",
    CNI_ARGS: "IgnoreUnknown=1;K8S_POD_NAME=web",
    HOLDFAST_SOCKET: socket,
    HOLDFAST_SPOOL: spool,
    HOLDFAST_WAIT_MS: "400",
  });
  const nobody = () => join(folder, "cni.sock");
  const del = (more: Record<string, string> = {}, stdin: string | Uint8Array = config): Promise<Ended> =>
    invoke(subject.path, { env: { ...environment(nobody()), ...more }, stdin });
  const names = () => (existsSync(spool) ? readdirSync(spool).sort() : []);
  const read = (name: string): Request | undefined => new RequestReader().push(readFileSync(join(spool, name)));
  const kept = () => names().filter((name) => name.endsWith(".del"));
  const isOurs = (request: Request | undefined) =>
    expect(request?.environment).toEqual({
      CNI_COMMAND: "DEL",
      CNI_CONTAINERID: "box-1",
      CNI_IFNAME: "net1",
      CNI_ARGS: "IgnoreUnknown=1;K8S_POD_NAME=web",
    });

  test("without a socket: success, and the request is on the disk for root alone", async () => {
    expect(await del()).toMatchObject(done);
    expect(names()).toEqual([expect.stringMatching(/^\d{13}-\d+\.del$/)]);
    const request = read(names()[0]!);
    isOurs(request);
    expect(Buffer.from(request!.stdin).toString()).toBe(config);
    expect((statSync(spool).mode & 0o777).toString(8)).toBe("700");
    expect((statSync(join(spool, names()[0]!)).mode & 0o777).toString(8)).toBe("600");
  });

  test.each<[string, Behaviour]>([
    ["closes after the request", (_, socket) => void socket.end()],
    ["drops the connection", (_, socket) => void socket.destroy()],
    ["never answers", () => {}],
    ["is another program", (_, socket) => void socket.end("HTTP/1.1 400 Bad Request\r\n\r\n")],
    ["refuses", (_, socket) => void socket.end(encodeReply({ exitStatus: 1, stdout: refusal }))],
  ])("a daemon that %s: the DEL is kept", async (_, behaviour) => {
    await using server = await ScriptedServer.start(behaviour);
    expect(await del({ HOLDFAST_SOCKET: server.path })).toMatchObject(done);
    expect(kept()).toHaveLength(1);
    isOurs(read(kept()[0]!));
  });

  test("a daemon that does it: nothing is kept", async () => {
    await using server = await ScriptedServer.start(answering(0, ""));
    expect(await del({ HOLDFAST_SOCKET: server.path })).toMatchObject(done);
    expect(names()).toEqual([]);
  });

  test.each(["ADD", "CHECK", "GC", "STATUS"])("%s is never kept, and fails as before", async (command) => {
    expect(saidBy(await del({ CNI_COMMAND: command })).code).toBe(command === "STATUS" ? 50 : 11);
    expect(names()).toEqual([]);
  });

  test.each<[string, Record<string, string>, string | Uint8Array]>([
    ["a configuration beyond every limit", {}, Buffer.alloc(stdinLimitBytes + 1, " ")],
    ["a configuration too long to be kept", {}, Buffer.alloc(spooledLimitBytes, " ")],
    ["arguments beyond the limit", { CNI_ARGS: "x".repeat(environmentLimitBytes) }, ""],
    ["a socket's path that the kernel does not take", { HOLDFAST_SOCKET: `/${"a".repeat(200)}` }, ""],
    ["no configuration", {}, ""],
    ["bytes that are no JSON", {}, Buffer.from([0xff, 0x00, 0x7b])],
  ])("%s: kept, by its sandbox and within the bound", async (_, more, stdin) => {
    expect(await del(more, stdin)).toMatchObject(done);
    expect(kept()).toHaveLength(1);
    expect(statSync(join(spool, kept()[0]!)).size).toBeLessThanOrEqual(spooledLimitBytes);
    expect(read(kept()[0]!)?.environment).toMatchObject({ CNI_CONTAINERID: "box-1", CNI_IFNAME: "net1" });
  });

  test("a spool with as many as it takes: the DEL succeeds all the same, and nothing is added", async () => {
    mkdirSync(spool, { recursive: true });
    for (let index = 0; index < spoolLimitFiles; index++) writeFileSync(join(spool, `${index}.del`), "");
    expect(await del()).toMatchObject(done);
    expect(names()).toHaveLength(spoolLimitFiles);
  });

  test("a spool with as many bytes as it takes: the same", async () => {
    mkdirSync(spool, { recursive: true });
    const files = Math.floor(spoolLimitBytes / spooledLimitBytes) + 1;
    for (let index = 0; index < files; index++) {
      writeFileSync(join(spool, `${index}.del`), "");
      truncateSync(join(spool, `${index}.del`), Math.ceil(spoolLimitBytes / files));
    }
    expect(await del()).toMatchObject(done);
    expect(names()).toHaveLength(files);
    rmSync(join(spool, "0.del"));
    expect(await del()).toMatchObject(done);
    expect(names()).toHaveLength(files);
  });

  test("a spool that cannot be made or written: the pod's end does not wait for a disk", async () => {
    writeFileSync(join(folder, "state"), "a file, where a folder is needed");
    expect(await del()).toMatchObject(done);
    expect(await del({ HOLDFAST_SPOOL: "/dev/full/spool" })).toMatchObject(done);
    mkdirSync(join(folder, "closed"));
    chmodSync(join(folder, "closed"), 0o500);
    expect(await del({ HOLDFAST_SPOOL: join(folder, "closed", "spool") })).toMatchObject(done);
  });

  test("many at once: each its own file", async () => {
    const many = Math.min(subject.crowd, 60);
    const all = await Promise.all(Array.from({ length: many }, (_, index) => del({ CNI_CONTAINERID: `box-${index}` })));
    for (const ended of all) expect(ended).toMatchObject(done);
    expect(new Set(kept().map((name) => read(name)?.environment["CNI_CONTAINERID"])).size).toBe(many);
  });

  // The kernel kills it as it enters the call: the first of its kind, the second, until one run gets through.
  test.each(steps)(
    "killed with -9 at every %s: what is there is whole, and success was told only for what is there",
    async (call) => {
      for (let at = 1; ; at++) {
        rmSync(join(folder, "state"), { recursive: true, force: true });
        const trace = join(folder, "trace");
        const inject = `inject=${call}:signal=SIGKILL:when=${at}`;
        const under = ["strace", "-f", "-qq", "-o", trace, "-e", `trace=${call}`, "-e", inject];
        const ended = await invoke(subject.path, { env: environment(nobody()), stdin: config, under });
        for (const name of kept()) isOurs(read(name));
        expect(names().filter((name) => !/\.(del|new)$/.test(name))).toEqual([]);
        if (ended.status === 0) expect(kept()).toHaveLength(1);
        if (ended.signal !== "SIGKILL" && ended.status !== 137) break;
        // Node reads and opens hundreds of files before it begins; the end is what matters.
        if (!existsSync(spool) && at > 3) at += 7;
      }
      expect(kept()).toHaveLength(1);
    },
  );
}
