// Small files whose contents do not matter. On a full disk they are deleted one by one, so that a release can be
// written: one block each, and only when a release needs it, since other writers take what is free. Not promised: that
// the release gets the room, where another writer was faster. It is then refused and asked for again.
import { join } from "node:path";

import { type JournalDisk, writeUnsynced } from "./disk.ts";

/** A block of most file systems. */
const pieceBytes = 4096;
/** A release is a line of some 150 bytes: room for 1,700, the most that 170 pods with ten networks each have. */
export const ballastBytes = 64 * pieceBytes;
/** How often a full disk is tried again. */
const retryMs = 1000;

export class Ballast {
  readonly #disk: JournalDisk;
  readonly #folder: string;
  readonly #wanted: number;
  readonly #now: () => number;
  /** Pieces 0 to this, without it, are there. */
  #pieces = 0;
  #triedMs = -Infinity;
  /** It is being written, and may fill the disk itself. */
  #loading: Promise<void> | undefined;

  constructor(disk: JournalDisk, folder: string, bytes: number, now: () => number) {
    this.#disk = disk;
    this.#folder = join(folder, "ballast");
    this.#wanted = Math.ceil(bytes / pieceBytes);
    this.#now = now;
  }

  /** The disk was full, and what is left is for releases. */
  get isShort(): boolean {
    return this.#pieces < this.#wanted;
  }

  /** Writes what is missing, as far as there is room. Not synced: the room is taken by the write. */
  async load(): Promise<void> {
    this.#loading ??= this.#load().finally(() => (this.#loading = undefined));
    await this.#loading;
  }

  /** As `load`, unless that was just tried. A clock that jumped back does not stop it. */
  async retry(): Promise<void> {
    const now = this.#now();
    if (Math.abs(now - this.#triedMs) < retryMs) return;
    this.#triedMs = now;
    await this.load();
  }

  /** True where that made some room. */
  async giveUp(): Promise<boolean> {
    await this.#loading;
    if (this.#pieces === 0) return false;
    this.#pieces -= 1;
    this.#triedMs = this.#now();
    return this.#disk.remove(this.#pathOf(this.#pieces)).then(
      () => true,
      () => false,
    );
  }

  async giveUpAll(): Promise<boolean> {
    let isRoom = false;
    while (await this.giveUp()) isRoom = true;
    return isRoom;
  }

  async #load(): Promise<void> {
    try {
      if (this.isShort) await this.#disk.prepare(this.#folder);
      for (; this.isShort; this.#pieces += 1) {
        const path = this.#pathOf(this.#pieces);
        const there = await this.#disk.read(path);
        if (there?.length !== pieceBytes) await writeUnsynced(this.#disk, path, Buffer.alloc(pieceBytes));
      }
    } catch {
      // The disk is full still: what there is, is there.
      await this.#disk.remove(this.#pathOf(this.#pieces)).catch(() => {});
    }
  }

  #pathOf(piece: number): string {
    return join(this.#folder, String(piece));
  }
}

export function isFull(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === "ENOSPC" || code === "EDQUOT";
}
