// `holdfast up` as a person runs it: started by the launcher, used with kubectl, stopped with Ctrl-C, started again.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { ensureKubeBinaries } from "../../tools/kube/build.ts";
import { ensureShim } from "../../tools/shim/ensure.ts";
import { Running } from "../shim/invoke.ts";

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
    expect(await kubectl("get", "crd", "ipamclaims.k8s.cni.cncf.io", "-o", "name")).toContain("ipamclaims");
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

  it("gives an address to who asks through the plugin, gives the same again after a restart, and takes it back", async () => {
    const { path } = await ensureShim({ native: false });
    const cni = async (command: string, containerId: string) => {
      const pod = "IgnoreUnknown=1;K8S_POD_NAME=web-0;K8S_POD_NAMESPACE=example";
      const env = { CNI_COMMAND: command, CNI_CONTAINERID: containerId, CNI_IFNAME: "eth0", CNI_ARGS: pod };
      const network = { cniVersion: "1.0.0", name: "blue", type: "bridge", ipam };
      const place = {
        CNI_NETNS: "/proc/self/ns/net",
        CNI_PATH: "/opt/cni/bin",
        HOLDFAST_SOCKET: join(data, "cni.sock"),
      };
      const run = new Running(path, { env: { ...env, ...place }, stdin: JSON.stringify(network) });
      const { status, stdout } = await run.ended;
      return { status, answer: stdout.toString() };
    };
    const ipam = { type: "holdfast", range: "10.77.0.0/24", gateway: "10.77.0.1" };
    const first = up("--port", "0");
    await first.until("Waiting for CNI requests");
    const added = await cni("ADD", "sandbox1");
    expect(added.status, added.answer).toBe(0);
    expect(JSON.parse(added.answer)).toMatchObject({ ips: [{ address: "10.77.0.2/24", gateway: "10.77.0.1" }] });
    first.child.kill("SIGINT");
    expect(await first.ended).toBe(0);

    const second = up("--port", "0");
    await second.until("Waiting for CNI requests");
    expect(JSON.parse((await cni("ADD", "sandbox2")).answer)).toMatchObject({ ips: [{ address: "10.77.0.2/24" }] });
    const reservations = ["get", "overlappingrangeipreservations", "-n", "kube-system", "--no-headers", "-o", "name"];
    expect(await cni("DEL", "sandbox1")).toMatchObject({ status: 0 });
    expect(await kubectl(...reservations, "-l", "!holdfast.io/cooling")).toContain("/10.77.0.2");
    expect(await cni("DEL", "sandbox2")).toMatchObject({ status: 0 });
    expect(await kubectl(...reservations, "-l", "!holdfast.io/cooling")).toBe("");
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
