// A file without contents that matter, which is given up when the disk is full: what is released can then still be written down.
import { join } from "node:path";

import type { JournalDisk } from "./disk.ts";

const name = "journal.ballast";

/** A release is a line of some 150 bytes: room for the 1,700 that a node of 170 pods with ten networks each has at most. */
export const ballastBytes = 256 * 1024;

/** How often a full disk is tried again. */
const retryMs = 1000;

export class Ballast {
  readonly #disk: JournalDisk;
  readonly #folder: string;
  readonly #bytes: number;
  readonly #now: () => number;
  #isThere = false;
  #triedMs = -Infinity;
  /** It is being written, and may fill the disk itself. */
  #loading: Promise<boolean> | undefined;

  constructor(disk: JournalDisk, folder: string, bytes: number, now: () => number) {
    this.#disk = disk;
    this.#folder = folder;
    this.#bytes = bytes;
    this.#now = now;
  }

  /** The disk was full, and there is nothing left to give up. */
  get isGone(): boolean {
    return !this.#isThere;
  }

  /** True where there is one now. */
  async load(): Promise<boolean> {
    this.#loading ??= this.#load().finally(() => (this.#loading = undefined));
    return this.#loading;
  }

  async #load(): Promise<boolean> {
    const path = join(this.#folder, name);
    try {
      const there = await this.#disk.read(path);
      if (there?.length === this.#bytes) return (this.#isThere = true);
      const file = await this.#disk.create(path);
      try {
        await file.append(Buffer.alloc(this.#bytes));
        await file.datasync();
      } finally {
        await file.close();
      }
      this.#isThere = true;
    } catch {
      await this.#disk.remove(path).catch(() => {});
    }
    return this.#isThere;
  }

  /** As `load`, unless that was just tried. A clock that jumped back does not stop it. */
  async retry(): Promise<boolean> {
    const now = this.#now();
    if (Math.abs(now - this.#triedMs) < retryMs) return false;
    this.#triedMs = now;
    return this.load();
  }

  /** True where that made room. */
  async giveUp(): Promise<boolean> {
    // Where it could not be written, the part of it that filled the disk is gone again.
    if (this.#loading !== undefined && !(await this.#loading)) return true;
    if (!this.#isThere) return false;
    this.#isThere = false;
    this.#triedMs = this.#now();
    try {
      await this.#disk.remove(join(this.#folder, name));
      return true;
    } catch {
      return false;
    }
  }
}

export function isFull(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === "ENOSPC" || code === "EDQUOT";
}
