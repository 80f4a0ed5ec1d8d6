// The rewriting of a journal that is mostly dead, while takes go on: the snapshot is written in the background, the lines that are appended to
// the old file meanwhile are kept, and put behind the snapshot between two batches.
//
// The snapshot has what was decided and not yet on the disk, too. It counts only if all of that got there: after a batch that failed, the
// rewriting is abandoned.
import { join } from "node:path";

import type { JournalDisk } from "./disk.ts";
import { besideName, type Rewritten, type Snapshot, writeBeside } from "./rewrite.ts";

/** What is appended while a million holds are written anew: 10 s at 30,000 takes/s. More, and it is abandoned. */
const tailBytesMax = 64 * 2 ** 20;

export class Compaction {
  readonly snapshot: Snapshot;
  /** Lines that the old file has got since. */
  lines = 0;
  #isEnded = false;
  #tail: Buffer[] = [];
  #tailBytes = 0;
  #isOver = false;
  #rewritten: Rewritten | undefined;
  /** Over, in one way or the other. Never rejects. */
  readonly done: Promise<void>;

  constructor(disk: JournalDisk, folder: string, snapshot: Snapshot, next: number, onReady: () => void) {
    this.snapshot = snapshot;
    this.done = this.#write(disk, folder, next, onReady);
  }

  /** It came to nothing, and writes no more. */
  get isEnded(): boolean {
    return this.#isEnded && this.#isOver;
  }

  get isReady(): boolean {
    return this.#rewritten !== undefined && !this.#isOver;
  }

  /** Bytes that the old file has got. */
  push(bytes: Buffer, lines: number): void {
    if (this.#isOver) return;
    this.lines += lines;
    this.#tail.push(bytes);
    this.#tailBytes += bytes.length;
    if (this.#tailBytes > tailBytesMax) this.abandon();
  }

  abandon(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#tail = [];
    void this.#rewritten?.file.close().catch(() => {});
  }

  /** The whole new file is on the disk, and is the caller's, when it resolves. */
  async finish(): Promise<Rewritten> {
    const { file, bytes } = this.#rewritten!;
    if (this.#tail.length > 0) {
      await file.append(Buffer.concat(this.#tail));
      await file.datasync();
    }
    this.#isOver = true;
    return { file, bytes: bytes + this.#tailBytes };
  }

  async #write(disk: JournalDisk, folder: string, next: number, onReady: () => void): Promise<void> {
    try {
      const rewritten = await writeBeside(disk, folder, this.snapshot, next, () => this.#isOver);
      if (this.#isOver) await rewritten.file.close();
      else {
        this.#rewritten = rewritten;
        onReady();
      }
    } catch {
      // The old file is as good as before. It may be this one that filled the disk.
      this.#isOver = true;
      await disk.remove(join(folder, besideName)).catch(() => {});
    } finally {
      this.#isEnded = true;
    }
  }
}
