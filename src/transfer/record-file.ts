// The record as a file: written beside, fsynced, renamed, and the folder fsynced too. After a power cut it is the old one or the new one.
import { open, readFile, rename } from "node:fs/promises";
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
      const file = await open(beside, "w", 0o600);
      try {
        await file.writeFile(encodeRecord(record));
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(beside, path);
      const folder = await open(dirname(path), "r");
      try {
        await folder.sync();
      } finally {
        await folder.close();
      }
    },
  };
}
