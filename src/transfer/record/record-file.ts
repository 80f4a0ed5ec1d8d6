// The record as a file: written beside, fsynced, renamed, folder fsynced. After a power cut it is the old or the new
// one.
import { open, readFile, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";

import { decodeRecord, encodeRecord, type MigrationRecord, type RecordStore } from "./record.ts";

export function fileStore(path: string): RecordStore {
  return {
    place: path,
    async load() {
      const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT") return undefined;
        throw error;
      });
      return text === undefined ? undefined : decodeRecord(text, path);
    },
    async save(record: MigrationRecord) {
      const beside = `${path}.new`;
      // It has the names of pods and the text of definitions: nobody else's business.
      await writeFile(beside, encodeRecord(record), { mode: 0o600, flush: true });
      await rename(beside, path);
      await using folder = await open(dirname(path), "r");
      await folder.sync();
    },
  };
}
