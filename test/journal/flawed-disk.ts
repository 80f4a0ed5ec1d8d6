// The disk of tests: the real one, whose calls fail on request.
import { type JournalDisk, type JournalFile, realJournalDisk } from "../../src/ledger/journal/disk.ts";

export type DiskCall =
  | "append"
  | "datasync"
  | "truncate"
  | "create"
  | "open"
  | "rename"
  | "remove"
  | "syncFolder"
  | "read";

/** What happens to one call. `torn`: so many bytes of an append arrive before it fails. `late`: done, then fails. */
export interface Flaw {
  readonly code: string;
  readonly torn?: number;
  readonly late?: boolean;
}

/** `flaw` is asked at every call, with the path's last part; undefined: it goes through. */
export function flawedDisk(
  flaw: (call: DiskCall, name: string) => Flaw | undefined,
  disk = realJournalDisk,
): JournalDisk {
  const nameOf = (path: string) => path.slice(path.lastIndexOf("/") + 1);
  async function strike<T>(call: DiskCall, path: string, act: () => Promise<T>): Promise<T> {
    const found = flaw(call, nameOf(path));
    if (found === undefined) return act();
    if (found.late === true) await act();
    throw Object.assign(new Error(`${found.code}: ${call} ${nameOf(path)}`), { code: found.code });
  }
  function wrap(file: JournalFile, path: string): JournalFile {
    return {
      async append(bytes) {
        const found = flaw("append", nameOf(path));
        if (found === undefined) return file.append(bytes);
        await file.append(found.late === true ? bytes : bytes.subarray(0, found.torn ?? 0));
        throw Object.assign(new Error(`${found.code}: append ${nameOf(path)}`), { code: found.code });
      },
      datasync: () => strike("datasync", path, () => file.datasync()),
      truncate: (bytes) => strike("truncate", path, () => file.truncate(bytes)),
      close: () => file.close(),
    };
  }
  return {
    prepare: (folder) => disk.prepare(folder),
    lock: (folder) => disk.lock(folder),
    read: (path) => strike("read", path, () => disk.read(path)),
    open: (path) => strike("open", path, async () => wrap(await disk.open(path), path)),
    create: (path) => strike("create", path, async () => wrap(await disk.create(path), path)),
    rename: (from, to) => strike("rename", to, () => disk.rename(from, to)),
    remove: (path) => strike("remove", path, () => disk.remove(path)),
    syncFolder: (folder) => strike("syncFolder", folder, () => disk.syncFolder(folder)),
  };
}
