// A journal's file written anew, beside the one in use: a snapshot, and then what was appended to the other meanwhile.
//
// The new file has its name only when all of it is on the disk. A crash before leaves the old file as it was, and one without a use beside it.
import { join } from "node:path";

import type { JournalDisk, JournalFile } from "./disk.ts";
import { encodeFrame } from "./frame.ts";

export const fileName = "journal.log";
export const besideName = "journal.new";

/** All that a journal knew at one moment. */
export interface Snapshot {
  /** The head line's payload. */
  head(next: number): string;
  /** From the first, at every call: a disk that was full is tried again. Encoded when asked for: what they are made of does not change. */
  lines(): Iterable<string>;
  readonly count: number;
  /** To be called once it is on the disk. */
  readonly settle: () => void;
}

export interface Rewritten {
  readonly file: JournalFile;
  readonly bytes: number;
}

/** So much is encoded between two turns of the event loop: some 1,500 lines, 2 ms. */
const chunkBytes = 256 * 1024;

/** The snapshot is on the disk when it resolves, without a name. `isOver`: nobody wants it any more. */
export async function writeBeside(
  disk: JournalDisk,
  folder: string,
  snapshot: Snapshot,
  next: number,
  isOver: () => boolean,
): Promise<Rewritten> {
  const file = await disk.create(join(folder, besideName));
  try {
    let bytes = 0;
    for (const chunk of chunks(snapshot, next)) {
      if (isOver()) throw new Error("the rewriting was called off");
      await file.append(chunk);
      bytes += chunk.length;
    }
    await file.datasync();
    return { file, bytes };
  } catch (error) {
    await file.close().catch(() => {});
    throw error;
  }
}

/** Gives the new file its name. */
export async function takePlace(disk: JournalDisk, folder: string): Promise<void> {
  await disk.rename(join(folder, besideName), join(folder, fileName));
  await disk.syncFolder(folder);
}

function* chunks(snapshot: Snapshot, next: number): IterableIterator<Buffer> {
  let frames = [encodeFrame(0, snapshot.head(next))];
  let bytes = frames[0]!.length;
  let sequence = 0;
  for (const line of snapshot.lines()) {
    sequence += 1;
    const frame = encodeFrame(sequence, line);
    frames.push(frame);
    bytes += frame.length;
    if (bytes < chunkBytes) continue;
    yield Buffer.concat(frames, bytes);
    frames = [];
    bytes = 0;
  }
  if (frames.length > 0) yield Buffer.concat(frames, bytes);
}
