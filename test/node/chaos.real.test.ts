// ADD and DEL of 20 processes (500 in `npm run test:full`) on one /24 of the real API server; daemons die by kill -9.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { afterAll, beforeAll, expect, it } from "vitest";

import { connect, type Connection } from "../../src/kube/config/connect.ts";
import { loadKubeconfig } from "../../src/kube/config/kubeconfig.ts";
import type { Cluster } from "../lab/cluster.ts";
import { cluster, coldStartTimeoutMs } from "../lab/start.ts";
import { volume } from "../volume.ts";
import { Fixture } from "./fixture.ts";
import { ask } from "./shim.ts";

const root = join(import.meta.dirname, "..", "..");
const folder = mkdtempSync(join(tmpdir(), "holdfast-chaos-"));
const nodes = ["chaos-1", "chaos-2"];
const callers = 20;
const rounds = volume(8, 25);
/** On a busy machine a daemon takes seconds to start, and whoever is killed as soon as it answers serves nobody. */
const killsMax = volume(12, 40);

let lab: Cluster;
let connection: Connection;
let fixture: Fixture;
beforeAll(async () => {
  lab = await cluster();
  connection = connect(await loadKubeconfig({ path: lab.kubeconfig, context: undefined }));
  fixture = await Fixture.open({ transport: connection.transport, stop: async () => {} });
}, coldStartTimeoutMs);
afterAll(async () => {
  await connection[Symbol.asyncDispose]();
  await lab.stop();
  rmSync(folder, { recursive: true });
});

const socketOf = (node: string) => join(folder, node, "cni.sock");

function startDaemon(node: string): ChildProcess {
  const flags = ["--node-name", node, "--kubeconfig", lab.kubeconfig, "--socket", socketOf(node)];
  const more = ["--state", join(folder, node, "state"), "--metrics-port", "0", "--cooldown-seconds", "0"];
  const program = join(root, "bin", "holdfast.ts");
  return spawn(process.execPath, [program, "node", ...flags, ...more, "--log-level", "error"], {
    stdio: ["ignore", "ignore", "inherit"],
  });
}

/** Kills one serving daemon after the other and restarts it at once, until told to end or done often enough. */
async function killDaemons(running: Map<string, ChildProcess>, signal: AbortSignal): Promise<number> {
  for (let kills = 0; kills < killsMax; kills++) {
    const node = nodes[kills % nodes.length]!;
    while (!signal.aborted && !(await answers(node))) await pause(100);
    if (signal.aborted) return kills;
    await pause(Math.random() * 1000);
    const daemon = running.get(node)!;
    daemon.kill("SIGKILL");
    await once(daemon, "exit");
    running.set(node, startDaemon(node));
  }
  return killsMax;
}

async function answers(node: string): Promise<boolean> {
  try {
    return (await ask(socketOf(node), { command: "VERSION", config: { cniVersion: "1.0.0" } })).status === 0;
  } catch {
    return false;
  }
}

it("no address is given twice, and none is left", { timeout: 600_000 }, async () => {
  const marks = join(folder, "marks");
  mkdirSync(marks);
  const running = new Map(nodes.map((node) => [node, startDaemon(node)]));
  const stop = new AbortController();
  const killing = killDaemons(running, stop.signal);
  const reports = await Promise.all(
    Array.from({ length: callers }, async (_, index) => {
      const node = nodes[index % nodes.length]!;
      const program = fileURLToPath(new URL("caller.ts", import.meta.url));
      const child = spawn(process.execPath, [program, socketOf(node), `p${index}`, String(rounds), marks], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      return JSON.parse(await text(child.stdout)) as { duplicates: string[]; failures: number };
    }),
  );
  stop.abort();
  const kills = await killing;
  expect(reports.flatMap(({ duplicates }) => duplicates)).toEqual([]);
  expect(kills).toBeGreaterThan(1);
  await expect.poll(() => fixture.held("network:chaos "), { timeout: 60_000, interval: 500 }).toEqual([]);
  for (const node of nodes) await expect.poll(() => answers(node), { timeout: 60_000 }).toBe(true);
  for (const daemon of running.values()) daemon.kill("SIGTERM");
  const codes = await Promise.all([...running.values()].map(async (daemon) => (await once(daemon, "exit"))[0]));
  expect(codes).toEqual([0, 0]);
});
