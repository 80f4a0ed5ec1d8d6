// Nothing is left behind: no process, namespace, mount, control group or file, after a stop and after a crash.
import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { beforeAll, expect, test } from "vitest";

import { ensureKubeBinaries } from "../../tools/kube/build.ts";
import { cgroupFolders } from "../lab/cgroup.ts";
import { isAlive } from "../lab/process.ts";
import { reap } from "../lab/reaper.ts";
import { cluster, coldStartTimeoutMs } from "../lab/start.ts";
import { type ClusterState, readStates } from "../lab/state.ts";
import { until } from "../lab/wait.ts";

beforeAll(async () => {
  await ensureKubeBinaries({ log: console.error });
}, coldStartTimeoutMs);

const stateOf = (name: string): ClusterState => {
  const state = readStates().find((each) => each.name === name);
  if (state === undefined) throw new Error(`no state of ${name}`);
  return state;
};

/** Everything on this machine that still carries the cluster's name or namespaces. */
function remains(state: ClusterState, namespaces: readonly string[]) {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return {
    processes: state.processes.filter(isAlive).map(({ role }) => role),
    named: pids.filter((pid) =>
      attempt(() => readFileSync(`/proc/${pid}/cmdline`, "utf8")).includes(`/${state.name}/`),
    ),
    inNamespaces: pids.filter((pid) => namespaces.includes(attempt(() => readlinkSync(`/proc/${pid}/ns/net`)))),
    mounts: readFileSync("/proc/self/mountinfo", "utf8")
      .split("\n")
      .filter((line) => line.includes(state.name)),
    cgroups: cgroupFolders("").flatMap((root) => readdirSync(root).filter((name) => name.startsWith(state.name))),
    files: [state.folder, `${state.folder}.json`].filter((path) => existsSync(path)),
  };
}
const nothing = { processes: [], named: [], inNamespaces: [], mounts: [], cgroups: [], files: [] };

function attempt(read: () => string): string {
  try {
    return read();
  } catch {
    return ""; // the process ended between the two looks
  }
}

test("after stop()", async () => {
  const lab = await cluster({ nodes: 2 });
  await lab.kubectl([
    "create",
    "deployment",
    "web",
    "--image=lab.local/busybox:1",
    "--replicas=4",
    "--",
    "sleep",
    "infinity",
  ]);
  await lab.kubectl(["rollout", "status", "deployment/web", "--timeout=60s"]);
  const state = stateOf(lab.name);
  const namespaces = lab.nodes.map(({ pid }) => readlinkSync(`/proc/${pid}/ns/net`));
  const before = remains(state, namespaces);
  for (const [kind, found] of Object.entries(before)) if (kind !== "mounts") expect(found, kind).not.toEqual([]);
  await lab.stop();
  await lab.stop();
  expect(remains(state, namespaces)).toEqual(nothing);
});

test("after the owner was killed: processes and namespaces at once, the rest with the next start", async () => {
  const owner = spawn(process.execPath, [fileURLToPath(import.meta.resolve("./owner.ts")), "1"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const line = await new Promise<string>((resolve, reject) => {
    owner.stdout.setEncoding("utf8").once("data", resolve);
    owner.once("exit", (code) => reject(new Error(`the owner ended early with ${code}`)));
  });
  const { name, namespaces } = JSON.parse(line) as { name: string; namespaces: string[] };
  const state = stateOf(name);
  expect(await reap()).not.toContain(name);
  expect(remains(state, namespaces)).toMatchObject({ processes: state.processes.map(({ role }) => role) });
  owner.kill("SIGKILL");
  await until(
    async () => {
      const { processes, named, inNamespaces } = remains(state, namespaces);
      return processes.length + named.length + inNamespaces.length === 0;
    },
    { what: "the kernel to end everything" },
  );
  await reap();
  expect(remains(state, namespaces)).toEqual(nothing);
});

test("after a start that failed half-way", async () => {
  const before = new Set(readStates().map(({ name }) => name));
  const abort = new AbortController();
  setTimeout(() => abort.abort(new Error("enough")), 2500);
  await expect(cluster({ nodes: 1, signal: abort.signal })).rejects.toThrow();
  const mine = readStates().filter(({ name, owner }) => owner.pid === process.pid && !before.has(name));
  expect(mine).toEqual([]);
});
