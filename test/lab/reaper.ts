// Removes what a cluster took: at its end, or at the next start when its owner died without a word.
//
// Most of it goes by itself: every process of a cluster dies with its owner (PR_SET_PDEATHSIG), and its namespaces,
// which no name or mount holds, die with the processes. What the kernel does not collect is collected here: a process
// that got away, cgroups, mounts below the folder, the folder.
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";

import { acquireLock } from "../../tools/kube/lock.ts";
import { removeCgroup } from "./cgroup.ts";
import { run } from "./command.ts";
import { isAlive, sendSignal } from "./process.ts";
import { type ClusterState, forgetState, labRoot, readBootId, readStates } from "./state.ts";
import { until } from "./wait.ts";

/** Removes everything that the state names, its own record last. */
export async function removeCluster(state: ClusterState): Promise<void> {
  if (state.bootId === readBootId()) await endProcesses(state);
  for (const folder of state.cgroups) {
    await until(async () => (removeCgroup(folder), true), { what: `cgroup ${folder} to be empty`, everyMs: 20 });
  }
  for (const mount of mountsBelow(state.folder)) await run(["umount", "--lazy", mount]);
  rmSync(state.folder, { recursive: true, force: true, maxRetries: 5 });
  forgetState(state);
}

/** How long a wrapper may take to collect its program and end by itself: it takes 10 ms. */
const wrapperPatienceMs = 1000;

async function endProcesses({ name, processes }: ClusterState): Promise<void> {
  const ended = async () => processes.every((process) => !isAlive(process));
  // A wrapper that is killed leaves its program to be collected by the machine's init, and a node's namespace cannot
  // end before that; so the programs go first, and their wrappers follow by themselves.
  for (const process of processes) if (!process.wrapper) sendSignal(process, "SIGKILL");
  await until(ended, { what: "wrappers", everyMs: 5, timeoutMs: wrapperPatienceMs }).catch(() => {});
  for (const process of processes) sendSignal(process, "SIGKILL");
  await until(ended, { what: `the processes of ${name} to end`, everyMs: 10 });
}

/**
 * Removes every cluster whose owner is dead; returns their names. Clusters of living owners are left alone. One that
 * cannot be removed does not keep the others from it, and is told when all were tried.
 */
export async function reap(root: string = labRoot()): Promise<string[]> {
  if (dead(root).length === 0) return [];
  const release = await acquireLock(join(root, "reaper.lock"));
  try {
    const removed: string[] = [];
    const failures: unknown[] = [];
    for (const state of dead(root)) {
      await removeCluster(state).then(
        () => removed.push(state.name),
        (error: unknown) => failures.push(error),
      );
    }
    if (failures.length > 0) throw new AggregateError(failures, failures.map(String).join("; "));
    return removed;
  } finally {
    await release();
  }
}

function dead(root: string): ClusterState[] {
  const bootId = readBootId();
  return readStates(root).filter((state) => state.bootId !== bootId || !isAlive(state.owner));
}

/** Mount points at or below the folder as this process sees them, innermost first. */
function mountsBelow(folder: string): string[] {
  return readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .map((line) => (line.split(" ")[4] ?? "").replaceAll(String.raw`\040`, " "))
    .filter((point) => point === folder || point.startsWith(`${folder}/`))
    .reverse();
}
