// The newest version of the sliced ranges that this node has seen, on its disk: after a restart an older one is not believed.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { readSeen } from "../../api/node-lease.ts";
import { asError } from "../../kube/abort.ts";
import type { Log } from "../../log/log.ts";

export interface SeenVersion {
  /** 0: none was ever seen. */
  readonly version: number;
  /** On the disk when it returns: nothing is handed out by a version before. */
  raise(version: number): void;
}

const name = "seen-version";

/** It changes a few times in the life of a cluster: a write that waits for the disk costs nothing. */
export function seenVersionIn(folder: string, log: Log): SeenVersion {
  const path = join(folder, name);
  let version = noted(path, log);
  return {
    get version() {
      return version;
    },
    raise(next) {
      if (next <= version) return;
      version = next;
      try {
        mkdirSync(folder, { recursive: true, mode: 0o700 });
        writeFileSync(`${path}.new`, String(next), { mode: 0o600, flush: true });
        renameSync(`${path}.new`, path);
      } catch (error) {
        // Until it ends, this process remembers it.
        const what = `${path} cannot be written: free its disk; a restart may else believe an older state`;
        log.error(what, { error: asError(error) });
      }
    },
  };
}

function noted(path: string, log: Log): number {
  try {
    const text = readFileSync(path, "utf8").trim();
    const read = readSeen(text);
    if (read !== undefined) return read;
    log.error(`${path} cannot be read: it should be a number`, { text: text.slice(0, 40) });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT")
      log.error(`${path} cannot be read`, { error: asError(error) });
  }
  return 0;
}
