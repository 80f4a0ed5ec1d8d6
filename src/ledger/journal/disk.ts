// The disk as a journal needs it, and the real one. A port, so that tests fail each call of it in turn.
import { writeSync } from "node:fs";
import { constants, type FileHandle, mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";

import { asError } from "../../kube/abort.ts";
import { JournalError } from "./error.ts";

export interface JournalFile {
  /** Some of the bytes may be in the file when it fails. */
  append(bytes: Uint8Array): Promise<void>;
  /** What was appended survives a power cut when it resolves. */
  datasync(): Promise<void>;
  truncate(bytes: number): Promise<void>;
  close(): Promise<void>;
}

export interface JournalDisk {
  /** Makes the folder, for this user alone, where there is none. */
  prepare(folder: string): Promise<void>;
  /** One holder at a time; call the result, or die, to give the folder back. Throws JournalError "locked". */
  lock(folder: string): () => void;
  /** Undefined: there is no such file. */
  read(path: string): Promise<Buffer | undefined>;
  /** An existing file, to append to. */
  open(path: string): Promise<JournalFile>;
  /** A new file; one of this name is emptied. */
  create(path: string): Promise<JournalFile>;
  rename(from: string, to: string): Promise<void>;
  /** Fine where there is none. */
  remove(path: string): Promise<void>;
  /** What was made, renamed and removed in the folder survives a power cut when it resolves. */
  syncFolder(folder: string): Promise<void>;
}

const appending = constants.O_WRONLY | constants.O_APPEND;
const anew = appending | constants.O_CREAT | constants.O_TRUNC;

export const realJournalDisk: JournalDisk = {
  async prepare(folder) {
    const made = await mkdir(folder, { recursive: true, mode: 0o700 });
    if (made === undefined) return;
    // Each new folder is an entry of the one above it.
    for (let at = resolve(folder); at.length >= made.length; at = dirname(at)) await syncFolder(dirname(at));
  },
  lock: lockFolder,
  async read(path) {
    try {
      return await readFile(path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
  },
  open: async (path) => realFile(await open(path, appending, 0o600)),
  create: async (path) => realFile(await open(path, anew, 0o600)),
  rename,
  remove: (path) => rm(path, { force: true }),
  syncFolder,
};

/** For a file that nobody flushes: written in a microsecond, in the caller's turn. A thread costs an ADD 0.17 ms. */
export const pageCacheDisk: JournalDisk = {
  ...realJournalDisk,
  open: async (path) => pageCacheFile(await open(path, appending, 0o600)),
  create: async (path) => pageCacheFile(await open(path, anew, 0o600)),
};

/** Nothing is synced: the write takes the room. */
export async function writeUnsynced(disk: JournalDisk, path: string, bytes: Buffer): Promise<void> {
  const file = await disk.create(path);
  try {
    await file.append(bytes);
  } finally {
    await file.close();
  }
}

async function syncFolder(folder: string): Promise<void> {
  await using handle = await open(folder, "r");
  await handle.sync();
}

function realFile(handle: FileHandle): JournalFile {
  return {
    append: (bytes) => handle.appendFile(bytes),
    datasync: () => handle.datasync(),
    truncate: (bytes) => handle.truncate(bytes),
    close: () => handle.close(),
  };
}

function pageCacheFile(handle: FileHandle): JournalFile {
  return {
    ...realFile(handle),
    async append(bytes) {
      for (let at = 0; at < bytes.length;) at += writeSync(handle.fd, bytes, at);
    },
  };
}

/**
 * Guards against two daemons of one node with one folder (a rolling update whose old pod still runs, a second `holdfast
 * up`): both would hand out the same addresses. SQLite's file lock is the kernel's (fcntl): it holds across containers
 * with the same folder, unlike a socket's name (per network namespace) and a pid (per pid namespace), and ends with its
 * process. SQLite also sees a second holder inside this process. Not guarded: a network file system without locks.
 */
function lockFolder(folder: string): () => void {
  const path = join(folder, "journal.lock");
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path);
    database.exec("BEGIN EXCLUSIVE");
  } catch (cause) {
    database?.close();
    const isBusy = (cause as { errcode?: number }).errcode === 5; // SQLITE_BUSY
    throw isBusy
      ? new JournalError("locked", `${path} is another process's: stop the other daemon of this node.`, { cause })
      : new JournalError("disk", `${path} cannot be locked: ${asError(cause).message}.`, { cause });
  }
  const held = database;
  return () => held.close();
}
