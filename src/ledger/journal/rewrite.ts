// A log's file, opened, and written anew beside the one in use: a snapshot, then what the old one got meanwhile. The
// new one gets its name once all of it is on the disk. A crash before leaves the old one as it was, and a useless one.
import { join } from "node:path";

import type { JournalDisk, JournalFile } from "./disk.ts";

export interface LogPlace {
  readonly disk: JournalDisk;
  readonly folder: string;
  /** Ends in `.log`. */
  readonly name: string;
  readonly what: string;
  readonly encode: (sequence: number, payload: string) => Buffer;
}

export interface LogFile {
  readonly file: JournalFile;
  readonly bytes: number;
  readonly lines: number;
}

export interface Snapshot {
  /** From the first at every call, since a full disk is tried again. `next`: the number of the line after them. */
  lines(next: number): Iterable<string>;
  readonly count: number;
  /** To be called once it is on the disk. */
  readonly settle: () => void;
}

/** So much is encoded between two turns of the event loop: some 1,500 lines, 2 ms. */
const chunkBytes = 256 * 1024;
/** What is appended while a million holds are written anew: 10 s at 30,000 takes/s. More, and it is abandoned. */
const tailBytesMax = 64 * 2 ** 20;

/** The existing file, without a torn end. */
export async function openLog({ disk, folder, name }: LogPlace, keepBytes: number, isTorn: boolean) {
  const file = await disk.open(join(folder, name));
  await orClose(file, async () => {
    if (isTorn) await file.truncate(keepBytes);
    // The bytes may have come from memory alone, written by a process that died before its fsync.
    await file.datasync();
    await disk.syncFolder(folder);
  });
  return file;
}

/** A new file in place of the one that is there, if any. */
export async function writeLog(place: LogPlace, snapshot: Snapshot, next: number): Promise<LogFile> {
  const written = await writeBeside(place, snapshot, next);
  await orClose(written.file, () => takePlace(place));
  snapshot.settle();
  return written;
}

/** The snapshot is on the disk when it resolves, without a name. `isOver`: nobody wants it any more. */
export async function writeBeside(place: LogPlace, snapshot: Snapshot, next: number, isOver = () => false) {
  const file = await place.disk.create(besidePath(place));
  let bytes = 0;
  await orClose(file, async () => {
    for (const chunk of chunks(place, snapshot.lines(next))) {
      if (isOver()) throw new Error("the rewriting was called off");
      await file.append(chunk);
      bytes += chunk.length;
    }
    await file.datasync();
  });
  return { file, bytes, lines: snapshot.count };
}

export async function takePlace(place: LogPlace): Promise<void> {
  const { disk, folder, name } = place;
  await disk.rename(besidePath(place), join(folder, name));
  await disk.syncFolder(folder);
}

export async function removeBeside(place: LogPlace): Promise<void> {
  await place.disk.remove(besidePath(place));
}

function besidePath({ folder, name }: LogPlace): string {
  return join(folder, name.replace(/\.log$/, ".new"));
}

async function orClose(file: JournalFile, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    await file.close().catch(() => {});
    throw error;
  }
}

function* chunks({ encode }: LogPlace, lines: Iterable<string>): IterableIterator<Buffer> {
  let frames: Buffer[] = [];
  let bytes = 0;
  let sequence = 0;
  for (const line of lines) {
    const frame = encode(sequence++, line);
    frames.push(frame);
    bytes += frame.length;
    if (bytes < chunkBytes) continue;
    yield Buffer.concat(frames, bytes);
    frames = [];
    bytes = 0;
  }
  if (frames.length > 0) yield Buffer.concat(frames, bytes);
}

/**
 * Rewrites a log that is mostly dead while entries go on: lines that the old file gets meanwhile go behind the
 * snapshot. The snapshot also has what is not on the disk yet: after a batch that failed, the rewriting is abandoned.
 */
export class Compaction {
  #tail: Buffer[] = [];
  #tailBytes = 0;
  #tailLines = 0;
  #isOver = false;
  #isWritten = false;
  #written: LogFile | undefined;
  /** Over, in one way or the other. Never rejects. */
  readonly done: Promise<void>;

  constructor(place: LogPlace, snapshot: Snapshot, next: number, onReady: () => void) {
    this.done = this.#write(place, snapshot, next, onReady);
  }

  /** It came to nothing, and writes no more. */
  get isEnded(): boolean {
    return this.#isWritten && this.#isOver;
  }

  get isReady(): boolean {
    return this.#written !== undefined && !this.#isOver;
  }

  push(bytes: Buffer, lines: number): void {
    if (this.#isOver) return;
    this.#tail.push(bytes);
    this.#tailBytes += bytes.length;
    this.#tailLines += lines;
    if (this.#tailBytes > tailBytesMax) this.abandon();
  }

  abandon(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#tail = [];
    void this.#written?.file.close().catch(() => {});
  }

  /** The whole new file is on the disk, and is the caller's, when it resolves. */
  async finish(): Promise<LogFile> {
    const { file, bytes, lines } = this.#written!;
    if (this.#tail.length > 0) {
      await file.append(Buffer.concat(this.#tail));
      await file.datasync();
    }
    this.#isOver = true;
    return { file, bytes: bytes + this.#tailBytes, lines: lines + this.#tailLines };
  }

  async #write(place: LogPlace, snapshot: Snapshot, next: number, onReady: () => void): Promise<void> {
    try {
      const written = await writeBeside(place, snapshot, next, () => this.#isOver);
      if (this.#isOver) await written.file.close();
      else {
        this.#written = written;
        onReady();
      }
    } catch {
      // The old file is as good as before. It may be this one that filled the disk.
      this.#isOver = true;
      await removeBeside(place).catch(() => {});
    } finally {
      this.#isWritten = true;
    }
  }
}
