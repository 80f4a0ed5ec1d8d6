// Where tests keep their files: in memory, if the machine has enough. Everything is written and synced as ever, but not
// to a disk: its syncs were a third of the processor time of the embedded stories.
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { freemem } from "node:os";
import { join } from "node:path";

const memory = "/dev/shm";
const prefix = "holdfast-test-";
/** Two sets of three nodes with images and pods were seen to take less than 2 GiB, etcd's files some hundred MiB. */
const enoughBytes = 6 * 2 ** 30;

/** A new folder in memory, named by this process; undefined: the usual one serves. Leftovers of killed runs go. */
export function scratchFolder(parent = memory, isEnough = hasRoom): string | undefined {
  const folder = join(parent, `${prefix}${process.pid}`);
  try {
    for (const name of readdirSync(parent)) if (isLeft(name)) removeScratch(join(parent, name));
    if (!isEnough(parent)) return undefined;
    mkdirSync(folder, { recursive: true, mode: 0o755 });
    if (runsPrograms(folder)) return folder;
  } catch {
    return undefined; // no such folder, or not ours to write
  }
  removeScratch(folder);
  return undefined;
}

export function removeScratch(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch {
    // Something is mounted there still; the next run tries again.
  }
}

/** The folder of a run that has ended. */
function isLeft(name: string): boolean {
  const [, pid] = /^holdfast-test-(\d+)$/.exec(name) ?? [];
  if (pid === undefined) return false;
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch {
    return true;
  }
}

function hasRoom(parent: string): boolean {
  const { bavail, bsize } = statfsSync(parent);
  return Math.min(bavail * bsize, freemem()) > enoughBytes;
}

/** Some machines mount it so that nothing in it can be executed. */
function runsPrograms(folder: string): boolean {
  const script = join(folder, "runs");
  writeFileSync(script, "#!/bin/sh\n", { mode: 0o700 });
  const { status } = spawnSync(script);
  rmSync(script);
  return status === 0;
}
