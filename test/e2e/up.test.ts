// `holdfast up` as a person runs it: started by the launcher, used with kubectl, stopped with Ctrl-C, started again.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { ensureKubeBinaries } from "../../tools/kube/build.ts";

const launcher = join(import.meta.dirname, "..", "..", "holdfast");
let data: string;
const running = new Set<ChildProcess>();

beforeEach(() => (data = join(mkdtempSync(join(tmpdir(), "holdfast-up-")), "state")));
afterEach(async () => {
  for (const child of running) await stop(child, "SIGKILL");
  rmSync(join(data, ".."), { recursive: true, force: true });
});

interface Run {
  readonly child: ChildProcess;
  /** Resolves with all that was printed once a line contains the text, or when the process ends. */
  until(text: string): Promise<string>;
  readonly ended: Promise<number | null>;
}

function up(...args: string[]): Run {
  const child = spawn(launcher, ["up", "--data", data, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  running.add(child);
  let printed = "";
  const listeners = new Set<() => void>();
  const hear = (chunk: Buffer) => {
    printed += chunk.toString();
    for (const listener of listeners) listener();
  };
  child.stdout.on("data", hear);
  child.stderr.on("data", hear);
  const ended = new Promise<number | null>((resolve) => child.once("close", (code) => resolve(code)));
  const until = (text: string) =>
    new Promise<string>((resolve) => {
      const check = () => printed.includes(text) && resolve(printed);
      listeners.add(check);
      void ended.then(() => resolve(printed));
      check();
    });
  return { child, until, ended };
}

async function stop(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  running.delete(child);
  if (child.exitCode !== null || child.signalCode !== null) return;
  const closed = new Promise((resolve) => child.once("close", resolve));
  child.kill(signal);
  await closed;
}

async function kubectl(...args: string[]): Promise<string> {
  const binaries = await ensureKubeBinaries({ only: ["kubectl"] });
  const env = { ...process.env, KUBECONFIG: join(data, "kubeconfig"), HOME: data };
  return execFileSync(binaries.path("kubectl"), args, { encoding: "utf8", env });
}

describe("holdfast up", () => {
  it("serves kubectl with the example network, and keeps what was written across a stop and a kill", async () => {
    const first = up("--port", "0");
    expect(await first.until("Ctrl-C")).toContain(`export KUBECONFIG=${data}/kubeconfig`);
    expect(statSync(join(data, "kubeconfig")).mode & 0o777).toBe(0o600);
    expect(statSync(data).mode & 0o777).toBe(0o700);
    const config = await kubectl("-n", "example", "get", "net-attach-def", "blue", "-o", "jsonpath={.spec.config}");
    expect(JSON.parse(config)).toMatchObject({ ipam: { type: "holdfast", range: "10.77.0.0/24" } });
    await kubectl("-n", "example", "create", "configmap", "kept", "--from-literal=a=1");
    first.child.kill("SIGINT");
    expect(await first.ended).toBe(0);

    const second = up("--port", "0", "--no-example");
    await second.until("Ctrl-C");
    expect(await kubectl("-n", "example", "get", "configmap", "kept", "-o", "jsonpath={.data.a}")).toBe("1");
    await kubectl("-n", "example", "create", "configmap", "too", "--from-literal=a=2");
    await stop(second.child, "SIGKILL");

    const third = up("--port", "0");
    await third.until("Ctrl-C");
    expect(await kubectl("-n", "example", "get", "configmap", "too", "-o", "jsonpath={.data.a}")).toBe("2");
    third.child.kill("SIGTERM");
    expect(await third.ended).toBe(0);
  });

  it("refuses a folder that another one serves, and says what to do", async () => {
    const first = up("--port", "0");
    await first.until("Ctrl-C");
    const second = up("--port", "0");
    expect(await second.ended).toBe(1);
    expect(await second.until("--data")).toContain("Stop the other `holdfast up`, or give another --data.");
  });

  it("refuses a port that is taken, and says what to do", async () => {
    const squatter = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => squatter.once("listening", resolve));
    const { port } = squatter.address() as { port: number };
    try {
      const run = up("--port", String(port));
      expect(await run.ended).toBe(1);
      expect(await run.until("--port")).toContain(`127.0.0.1:${port} cannot be listened on: give another --port`);
    } finally {
      squatter.close();
    }
  });
});
