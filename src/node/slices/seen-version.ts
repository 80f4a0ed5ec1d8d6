// The newest version of the sliced ranges that this node has seen, and its place of pools, on its disk: after a restart
// an older one is not believed.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { readSeen } from "../../api/slices/node-lease.ts";
import type { Log } from "../../log/log.ts";

export interface SeenVersion {
  /** 0: none was ever seen. */
  readonly version: number;
  /** The namespace of the pools that this node acted by last; undefined: none yet. */
  readonly place: string | undefined;
  /** On the disk when it returns, before anything is handed out by it. Without a place the last one stays. */
  raise(version: number, place?: string): void;
}

const name = "seen-version";
/** A file of its own: the other has only a number in every version of Holdfast. */
const placeName = "seen-pool-namespace";

/** It changes a few times in the life of a cluster: a write that waits for the disk costs nothing. */
export function seenVersionIn(folder: string, log: Log): SeenVersion {
  let version = notedVersion(join(folder, name), log);
  let place = noted(join(folder, placeName), log) || undefined;
  const write = (file: string, text: string) => {
    const path = join(folder, file);
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      writeFileSync(`${path}.new`, text, { mode: 0o600, flush: true });
      renameSync(`${path}.new`, path);
    } catch (error) {
      // Until it ends, this process remembers it.
      log.error(`${path} cannot be written: free its disk; a restart may else believe an older state`, { error });
    }
  };
  return {
    get version() {
      return version;
    },
    get place() {
      return place;
    },
    raise(next, at) {
      // First: after a crash in between, the older version with the older place is not believed.
      if (at !== undefined && at !== place) write(placeName, (place = at));
      if (next > version) write(name, String((version = next)));
    },
  };
}

function notedVersion(path: string, log: Log): number {
  const text = noted(path, log);
  const read = text === undefined ? 0 : readSeen(text);
  if (read === undefined) log.error(`${path} cannot be read: it should be a number`, { text: text?.slice(0, 40) });
  return read ?? 0;
}

function noted(path: string, log: Log): string | undefined {
  try {
    return readFileSync(path, "utf8").trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") log.error(`${path} cannot be read`, { error });
    return undefined;
  }
}
