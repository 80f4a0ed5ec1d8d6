// The flat file of whereabouts: the first that exists of a few paths, read again when it has changed.
import { readFileSync, statSync } from "node:fs";

import { CniError, errorCodes } from "../cni/error.ts";
import type { FlatFile } from "../cni/ipam-config.ts";
import { maxConfigBytes } from "../cni/json.ts";
import { flatFilePaths } from "../cni/merge.ts";

export interface Disk {
  /** Undefined where there is no file. */
  stat(path: string): { readonly mtimeMs: number; readonly size: number } | undefined;
  read(path: string): string;
}

export const realDisk: Disk = {
  stat(path) {
    const found = statSync(path, { throwIfNoEntry: false });
    return found?.isFile() === true ? { mtimeMs: found.mtimeMs, size: found.size } : undefined;
  },
  read: (path) => readFileSync(path, "utf8"),
};

export interface StampedFile extends FlatFile {
  /** Changes with the file. */
  readonly stamp: string;
}

export class FlatFiles {
  readonly #disk: Disk;
  /** Path -> what was read last. Paths are those of the configurations that are in use: a handful. */
  readonly #files = new Map<string, StampedFile>();

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  /** `configurationPath` is the inline one. Undefined where none exists, which is fine. Code 5 where one cannot be read. */
  find(configurationPath: string): StampedFile | undefined {
    for (const path of flatFilePaths(configurationPath)) {
      try {
        const found = this.#disk.stat(path);
        if (found !== undefined) return this.#read(path, found);
      } catch (cause) {
        if (cause instanceof CniError) throw cause;
        const reason = cause instanceof Error ? cause.message : String(cause);
        throw new CniError(errorCodes.ioFailure, `the flat file ${path} cannot be read: ${reason}.`, { cause });
      }
    }
    return undefined;
  }

  #read(path: string, { mtimeMs, size }: { mtimeMs: number; size: number }): StampedFile {
    const stamp = `${path} ${mtimeMs} ${size}`;
    const known = this.#files.get(path);
    if (known?.stamp === stamp) return known;
    if (size > maxConfigBytes) {
      throw new CniError(
        errorCodes.ioFailure,
        `the flat file ${path} has ${size} bytes, more than ${maxConfigBytes}: shorten it.`,
      );
    }
    const file = { path, text: this.#disk.read(path), stamp };
    this.#files.set(path, file);
    return file;
  }
}
