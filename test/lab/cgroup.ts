// The control groups of a node: one folder in every hierarchy that is mounted, be it version 1, version 2 or both.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** What kubelet wants to set under version 2; a kernel without one of them still gets the others. */
const controllersV2 = ["cpuset", "cpu", "io", "memory", "pids"];

interface Hierarchy {
  readonly mountPoint: string;
  readonly version: 1 | 2;
}

/** The folders that the group `name` stands for on this machine. */
export function cgroupFolders(name: string): string[] {
  return hierarchies().map(({ mountPoint }) => join(mountPoint, name));
}

function hierarchies(): Hierarchy[] {
  return readFileSync("/proc/self/mounts", "utf8")
    .split("\n")
    .map((line) => line.split(" "))
    .flatMap(([, mountPoint = "", type]): Hierarchy[] => {
      if (type === "cgroup") return [{ mountPoint, version: 1 }];
      return type === "cgroup2" ? [{ mountPoint, version: 2 }] : [];
    });
}

export function makeCgroups(folders: readonly string[]): void {
  for (const folder of folders) mkdirSync(folder, { recursive: true });
  const all = hierarchies();
  // Beside version 1, the second one carries no controllers: runc only sorts processes there.
  if (all.some(({ version }) => version === 1)) return;
  for (const folder of [...all.map(({ mountPoint }) => mountPoint), ...folders]) {
    for (const controller of controllersV2) enable(folder, controller);
  }
}

function enable(folder: string, controller: string): void {
  try {
    writeFileSync(join(folder, "cgroup.subtree_control"), `+${controller}`);
  } catch {
    // This kernel has no such controller; kubelet says so itself where it matters.
  }
}

/** Removes the group and all below it, deepest first. EBUSY while a process in it is still dying: ask again. */
export function removeCgroup(folder: string): void {
  if (!existsSync(folder)) return;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) removeCgroup(join(folder, entry.name));
  }
  rmdirSync(folder);
}
