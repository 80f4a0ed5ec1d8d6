// What a cluster takes from the machine, on disk: written before it is taken, so that a crash leaves nothing unknown.
//
// One file per cluster beside its folder: <root>/<name>.json and <root>/<name>/. The file is there before the folder is
// made and goes away after the folder is gone.
import { lstatSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { identify, type ProcessIdentity } from "./process.ts";

interface RecordedProcess extends ProcessIdentity {
  readonly role: string;
  /** It only waits for the program it started in a pid namespace. */
  readonly wrapper: boolean;
}

export interface ClusterState {
  readonly name: string;
  /** Start ticks count from boot: a file from before a reboot names processes that cannot be alive. */
  readonly bootId: string;
  readonly owner: ProcessIdentity;
  readonly folder: string;
  readonly processes: readonly RecordedProcess[];
  /** Absolute folders below /sys/fs/cgroup. */
  readonly cgroups: readonly string[];
}

export function labRoot(): string {
  return join(tmpdir(), `holdfast-lab-${process.getuid?.() ?? 0}`);
}

/**
 * Makes the root, or makes sure that it is ours alone. Whoever could write a record here could have any folder removed
 * and any process killed by the next start, which often is root's.
 */
function openRoot(root: string): void {
  mkdirSync(root, { recursive: true, mode: 0o700 });
  const found = lstatSync(root);
  const ours = found.isDirectory() && found.uid === process.getuid?.() && (found.mode & 0o022) === 0;
  if (!ours) throw new Error(`${root} is not a folder that only this user can write: remove it and try again`);
}

export function readBootId(): string {
  return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
}

export class StateFile {
  readonly folder: string;
  readonly #path: string;
  #state: ClusterState;

  constructor(name: string, root: string = labRoot()) {
    openRoot(root);
    this.folder = join(root, name);
    this.#path = join(root, `${name}.json`);
    this.#state = {
      name,
      bootId: readBootId(),
      owner: identify(process.pid)!,
      folder: this.folder,
      processes: [],
      cgroups: [],
    };
    this.#write();
    mkdirSync(this.folder, { mode: 0o700 });
  }

  get state(): ClusterState {
    return this.#state;
  }

  recordProcess(role: string, pid: number, wrapper = false): ProcessIdentity {
    const identity = identify(pid);
    if (identity === undefined) throw new Error(`${role} ended before it could be recorded (pid ${pid})`);
    this.#state = { ...this.#state, processes: [...this.#state.processes, { role, wrapper, ...identity }] };
    this.#write();
    return identity;
  }

  recordCgroups(folders: readonly string[]): void {
    this.#state = { ...this.#state, cgroups: [...this.#state.cgroups, ...folders] };
    this.#write();
  }

  #write(): void {
    const temporary = `${this.#path}.new`;
    writeFileSync(temporary, JSON.stringify(this.#state), { mode: 0o600 });
    renameSync(temporary, this.#path);
  }
}

/** Every recorded cluster; a file that cannot be read as one is left alone. */
export function readStates(root: string = labRoot()): ClusterState[] {
  openRoot(root);
  return readdirSync(root)
    .filter((name) => name.endsWith(".json"))
    .flatMap((name) => {
      try {
        return [JSON.parse(readFileSync(join(root, name), "utf8")) as ClusterState];
      } catch {
        return [];
      }
    })
    .filter(({ name, folder }) => folder === join(root, name));
}

export function forgetState(state: ClusterState): void {
  rmSync(`${state.folder}.json`, { force: true });
}
