// The control groups of a node: one folder in every hierarchy (version 1), or one folder (version 2).
import { existsSync, mkdirSync, readdirSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const mountPoint = "/sys/fs/cgroup";
const controllersV1 = ["cpu", "cpuacct", "cpuset", "memory", "devices", "freezer", "blkio", "pids", "systemd"];
/** What kubelet wants to set; a kernel without one of them still gets the others. */
const controllersV2 = ["cpuset", "cpu", "io", "memory", "pids"];

/** The folders that the group `name` stands for on this machine. */
export function cgroupFolders(name: string): string[] {
  if (existsSync(join(mountPoint, "cgroup.controllers"))) return [join(mountPoint, name)];
  return controllersV1
    .map((controller) => join(mountPoint, controller))
    .filter((folder) => existsSync(folder))
    .map((folder) => join(folder, name));
}

export function makeCgroups(folders: readonly string[]): void {
  for (const folder of folders) {
    mkdirSync(folder, { recursive: true });
    if (!existsSync(join(folder, "cgroup.controllers"))) continue;
    for (const controller of controllersV2) {
      for (const parent of [mountPoint, folder]) enable(parent, controller);
    }
  }
}

function enable(folder: string, controller: string): void {
  try {
    writeFileSync(join(folder, "cgroup.subtree_control"), `+${controller}`);
  } catch {
    // This kernel has no such controller; kubelet says so itself where it matters.
  }
}

/** Removes the group and all below it, deepest first. A group with a process that is still dying throws EBUSY: ask again. */
export function removeCgroup(folder: string): void {
  if (!existsSync(folder)) return;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) removeCgroup(join(folder, entry.name));
  }
  rmdirSync(folder);
}
