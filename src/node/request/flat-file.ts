// The flat file of whereabouts: the first that exists of a few paths, looked at again after a second. An author of
// definitions names `configuration_path`, and the daemon reads as root. So only regular files below the administrator's
// folders are opened, links do not lead out of those, the size is limited, and an error repeats nothing of the text.
import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { open, realpath } from "node:fs/promises";
import { resolve } from "node:path";

import type { FlatFile } from "../../cni/config/ipam-config.ts";
import { flatFilePaths } from "../../cni/config/merge.ts";
import { CniError, errorCodes } from "../../cni/error.ts";
import { maxConfigBytes, show } from "../../cni/json.ts";
import { Recent } from "../../kube/cache/recent.ts";

export interface Disk {
  /** At most `limit` bytes of a regular file below `folders`, all links followed; undefined: there is no such file. */
  read(path: string, folders: readonly string[], limit: number): Promise<Uint8Array | undefined>;
}

export const realDisk: Disk = {
  async read(path, folders, limit) {
    try {
      const real = await realpath(path);
      const roots = await Promise.all(folders.map((folder) => realpath(folder).catch(() => folder)));
      if (!isBelow(real, roots)) throw new Error("it is a link that leads out of the folder");
      // A pipe without a writer would keep a thread waiting.
      await using file = await open(real, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
      if (!(await file.stat()).isFile()) return undefined;
      const bytes = new Uint8Array(limit);
      let length = 0;
      for (let more = 1; more > 0 && length < limit; length += more) {
        ({ bytesRead: more } = await file.read(bytes, length, limit - length));
      }
      return bytes.subarray(0, length);
    } catch (error) {
      if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
      throw error;
    }
  },
};

interface StampedFile extends FlatFile {
  readonly stamp: string;
}

/** Takes the inline `configuration_path`. Undefined: no file, which is fine. Code 7: not allowed; 5: unreadable. */
export type FindFlatFile = (configurationPath: string) => Promise<StampedFile | undefined>;

export interface FlatFileOptions {
  readonly disk: Disk;
  readonly folders: readonly string[];
  /** Monotonic. */
  readonly now: () => number;
}

/** Requests come by the hundred in a second, and administrators edit by hand. */
const freshMs = 1000;
/** A handful of networks have one of their own; more of them cost reads. */
const maxKept = 64;

export function flatFiles(options: FlatFileOptions): FindFlatFile {
  /** `configuration_path` -> what was found last. */
  const looks = new Recent<{ readonly untilMs: number; readonly file: Promise<StampedFile | undefined> }>(maxKept);
  return (configurationPath) => {
    const nowMs = options.now();
    const known = looks.get(configurationPath);
    if (known !== undefined && nowMs < known.untilMs) return known.file;
    const file = find(options, configurationPath);
    file.catch(() => {}); // whoever waits is told
    looks.set(configurationPath, { untilMs: nowMs + freshMs, file });
    return file;
  };
}

async function find({ disk, folders }: FlatFileOptions, configurationPath: string): Promise<StampedFile | undefined> {
  if (configurationPath !== "" && !isBelow(resolve("/", configurationPath), folders)) {
    const what = `ipam.configuration_path is ${show(configurationPath)}: files are read below ${folders.join(", ")} only`;
    const remedy = "put it there, or let an administrator name its folder (--configuration-folders of the daemon)";
    throw new CniError(errorCodes.badConfiguration, `${what}; ${remedy}.`);
  }
  for (const path of flatFilePaths(configurationPath)) {
    const file = await read(disk, path, path === configurationPath ? folders : [...folders, resolve(path, "../..")]);
    if (file !== undefined) return file;
  }
  return undefined;
}

async function read(disk: Disk, path: string, folders: readonly string[]): Promise<StampedFile | undefined> {
  const bytes = await disk.read(path, folders, maxConfigBytes + 1).catch((cause: unknown) => {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new CniError(errorCodes.ioFailure, `the flat file ${path} cannot be read: ${reason}.`, { cause });
  });
  if (bytes === undefined) return undefined;
  const tooLong = `the flat file ${path} has more than ${maxConfigBytes} bytes: shorten it.`;
  if (bytes.length > maxConfigBytes) throw new CniError(errorCodes.ioFailure, tooLong);
  const stamp = `${path} ${createHash("sha256").update(bytes).digest("hex")}`;
  return { path, text: new TextDecoder().decode(bytes), stamp };
}

function isBelow(path: string, folders: readonly string[]): boolean {
  return folders.some((folder) => path.startsWith(`${folder.replace(/\/+$/, "")}/`));
}
