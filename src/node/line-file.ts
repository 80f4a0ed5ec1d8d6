// A file of the state folder that records are appended to: one line each, checksummed, written anew when most of it is over.
//
// Promised: with `sync` what `append` has answered for survives kill -9 and a power cut, without it kill -9 alone; a torn last line
// is cut off when the file is opened, and a damaged one in the middle costs that line alone.
import { constants, type FileHandle, mkdir, open, readFile, rename } from "node:fs/promises";
import { dirname, join } from "node:path";
import { crc32 } from "node:zlib";

export class StateFileError extends Error {
  readonly code: "full" | "disk";

  constructor(code: StateFileError["code"], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "StateFileError";
    this.code = code;
  }
}

/** The file is written anew when it has so many lines more than it needs: a few MB. */
const slackLines = 2000;
const newline = 0x0a;

export interface LineFileOptions {
  readonly folder: string;
  readonly name: string;
  /** Every append is on the disk when it is answered. */
  readonly sync: boolean;
}

export class LineFile<R> {
  readonly path: string;
  readonly #sync: boolean;
  #file: FileHandle;
  #lines: number;
  /** The last write failed, and may have left a part of a line. */
  #isTorn = false;
  /** Appends go one after another; those that wait meanwhile share the next write and its fsync. */
  #queue: { text: string; done: PromiseWithResolvers<void> }[] = [];
  #writing: Promise<void> | undefined;
  /** Lines that could not be read when the file was opened. */
  readonly damaged: number;

  private constructor({ folder, name, sync }: LineFileOptions, file: FileHandle, { lines, damaged }: ReadLines) {
    this.path = join(folder, name);
    this.#sync = sync;
    this.#file = file;
    this.#lines = lines;
    this.damaged = damaged;
  }

  static async open<R>(options: LineFileOptions): Promise<{ readonly file: LineFile<R>; readonly records: R[] }> {
    const { folder, name, sync } = options;
    const path = join(folder, name);
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const file = await open(path, constants.O_RDWR | constants.O_CREAT | constants.O_APPEND, 0o600);
      const read = readLines(await readFile(path));
      if (read.torn > 0) await file.truncate(read.keepBytes);
      if (sync) {
        await file.sync();
        await syncFolder(folder);
      }
      return { file: new LineFile<R>(options, file, read), records: read.records as R[] };
    } catch (cause) {
      throw diskError(path, cause);
    }
  }

  async append(record: R): Promise<void> {
    const done = Promise.withResolvers<void>();
    this.#queue.push({ text: encodeLine(record), done });
    this.#writing ??= this.#drain();
    await done.promise;
  }

  /** `records`: all that still counts. A new file beside the old, on the disk before it takes its name. */
  async shrink(size: number, records: () => readonly R[]): Promise<void> {
    if (this.#lines <= size + slackLines || this.#writing !== undefined) return;
    const done = Promise.withResolvers<void>();
    this.#writing = done.promise;
    let file: FileHandle | undefined;
    try {
      const beside = `${this.path}.new`;
      const flags = constants.O_RDWR | constants.O_CREAT | constants.O_TRUNC | constants.O_APPEND;
      file = await open(beside, flags, 0o600);
      const all = records();
      await file.appendFile(all.map(encodeLine).join(""));
      await file.sync();
      await rename(beside, this.path);
      // From here on the old file has no name: whatever fails now, nothing is written to it any more.
      const old = this.#file;
      this.#file = file;
      this.#lines = all.length;
      this.#isTorn = false;
      if (this.#sync) await syncFolder(dirname(this.path));
      await old.close();
    } catch (cause) {
      if (file !== undefined && file !== this.#file) await file.close().catch(() => {});
      throw diskError(this.path, cause);
    } finally {
      this.#writing = undefined;
      done.resolve();
      if (this.#queue.length > 0) this.#writing = this.#drain();
    }
  }

  async close(): Promise<void> {
    await this.#writing;
    await this.#file.close();
  }

  async #drain(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#queue;
      this.#queue = [];
      try {
        const text = batch.map((each) => each.text).join("");
        await this.#file.appendFile(this.#isTorn ? `\n${text}` : text);
        this.#isTorn = false;
        if (this.#sync) await this.#file.datasync();
        this.#lines += batch.length;
        for (const { done } of batch) done.resolve();
      } catch (cause) {
        this.#isTorn = true;
        for (const { done } of batch) done.reject(diskError(this.path, cause));
      }
    }
    this.#writing = undefined;
  }
}

interface ReadLines {
  readonly records: readonly unknown[];
  readonly lines: number;
  readonly damaged: number;
  /** Bytes up to the end of the last whole line. */
  readonly keepBytes: number;
  readonly torn: number;
}

function readLines(bytes: Uint8Array): ReadLines {
  // Counted in bytes: what was garbled may be longer in text.
  const keepBytes = bytes.lastIndexOf(newline) + 1;
  const text = Buffer.from(bytes.subarray(0, keepBytes)).toString("utf8");
  // One that is empty is left by a write that failed.
  const lines = text.split("\n").filter((line) => line !== "");
  const records = lines.map(decodeLine).filter((record) => record !== undefined);
  return {
    records,
    lines: lines.length,
    damaged: lines.length - records.length,
    keepBytes,
    torn: bytes.length - keepBytes,
  };
}

/** The checksum of what follows, a space, JSON. JSON has no line break inside. */
export function encodeLine(record: unknown): string {
  const text = JSON.stringify(record);
  return `${checksum(text)} ${text}\n`;
}

/** Undefined where the line is torn or damaged. */
function decodeLine(line: string): unknown {
  const text = line.slice(9);
  if (line[8] !== " " || line.slice(0, 8) !== checksum(text)) return undefined;
  return JSON.parse(text);
}

function checksum(text: string): string {
  return crc32(text).toString(16).padStart(8, "0");
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function diskError(path: string, cause: unknown): StateFileError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new StateFileError("disk", `${path} cannot be written: ${reason}. Free the disk, or give another --state.`, {
    cause,
  });
}
