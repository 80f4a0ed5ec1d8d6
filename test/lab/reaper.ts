// Removes what a cluster took: at its end, or at the next start when its owner died without a word.
//
// Most of it goes by itself: every process of a cluster dies with its owner (PR_SET_PDEATHSIG), and its namespaces, which
// no name or mount holds, die with the processes. What the kernel does not collect is collected here: a process that got
// away, cgroups, mounts below the folder, the folder.
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
  const current = state.bootId === readBootId();
  // Last started first: pods' processes before the init that would start them again, components before their namespace.
  const processes = current ? state.processes.toReversed() : [];
  for (const process of processes) sendSignal(process, "SIGKILL");
  await until(async () => processes.every((process) => !isAlive(process)), {
    what: `the processes of ${state.name} to end`,
    everyMs: 10,
  });
  for (const folder of state.cgroups) {
    await until(async () => (removeCgroup(folder), true), { what: `cgroup ${folder} to be empty`, everyMs: 20 });
  }
  for (const mount of mountsBelow(state.folder)) await run(["umount", "--lazy", mount]);
  rmSync(state.folder, { recursive: true, force: true, maxRetries: 5 });
  forgetState(state);
}

/** Removes every cluster whose owner is dead; returns their names. Clusters of living owners are left alone. */
export async function reap(root: string = labRoot()): Promise<string[]> {
  if (dead(root).length === 0) return [];
  const release = await acquireLock(join(root, "reaper.lock"));
  try {
    const states = dead(root);
    for (const state of states) await removeCluster(state);
    return states.map(({ name }) => name);
  } finally {
    await release();
  }
}

function dead(root: string): ClusterState[] {
  const bootId = readBootId();
  return readStates(root).filter((state) => state.bootId !== bootId || !isAlive(state.owner));
}

/** Mount points at or below the folder as this process sees them, innermost first. */
export function mountsBelow(folder: string): string[] {
  return readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .map((line) => (line.split(" ")[4] ?? "").replaceAll(String.raw`\040`, " "))
    .filter((point) => point === folder || point.startsWith(`${folder}/`))
    .reverse();
}
