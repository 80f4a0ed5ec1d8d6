// The file of releases still to be done: appended, checksummed, and on the disk before the runtime is told of success.
//
// Promised: what `add` has answered for survives kill -9 and a power cut; a torn last line is cut off when the file is opened,
// and a damaged one in the middle costs that line alone. Not promised: that a release marked as done is not replayed after a
// crash; replaying one is harmless (intent.ts).
import { constants, type FileHandle, mkdir, open, readFile, rename } from "node:fs/promises";
import { dirname, join } from "node:path";

import type { Attachment } from "../cni/attachments.ts";
import { type AttachmentKey, attachmentKey } from "./attachment.ts";
import { decodeRecord, encodeRecord, type Intent, type IntentRecord, joinIntents } from "./intent.ts";

/** A node has some hundred pods; 10,000 sandboxes torn down while the API server is away are days of crash loops, 5 MB. */
const maxPending = 10_000;
/** The file is written anew when it has so many lines more than there are intents: below 1 MB. */
const slackLines = 2000;
const newline = 0x0a;

export class IntentsError extends Error {
  readonly code: "full" | "disk";

  constructor(code: IntentsError["code"], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "IntentsError";
    this.code = code;
  }
}

export class Intents {
  readonly #path: string;
  #file: FileHandle;
  readonly #pending: Map<AttachmentKey, Intent>;
  #lines: number;
  /** The last write failed, and may have left a part of a line. */
  #isTorn = false;
  /** Appends go one after another; those that wait meanwhile share the next write and its fsync. */
  #queue: { text: string; done: PromiseWithResolvers<void> }[] = [];
  #writing: Promise<void> | undefined;
  /** Lines that could not be read when the file was opened. */
  readonly damaged: number;

  private constructor(path: string, file: FileHandle, read: ReadResult) {
    this.#path = path;
    this.#file = file;
    this.#pending = read.pending;
    this.#lines = read.lines;
    this.damaged = read.damaged;
  }

  static async open(folder: string): Promise<Intents> {
    const path = join(folder, "releases.log");
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const file = await open(path, constants.O_RDWR | constants.O_CREAT | constants.O_APPEND, 0o600);
      const read = parse(await readFile(path));
      if (read.torn > 0) await file.truncate(read.keepBytes);
      await file.sync();
      await syncFolder(folder);
      return new Intents(path, file, read);
    } catch (cause) {
      throw diskError(path, cause);
    }
  }

  get size(): number {
    return this.#pending.size;
  }

  all(): Intent[] {
    return [...this.#pending.values()];
  }

  get(attachment: Attachment): Intent | undefined {
    return this.#pending.get(attachmentKey(attachment));
  }

  /** On the disk when it resolves. */
  async add(intent: Intent): Promise<void> {
    const key = attachmentKey(intent);
    const known = this.#pending.get(key);
    if (known === undefined && this.#pending.size >= maxPending) {
      throw new IntentsError(
        "full",
        `${maxPending} releases wait in ${this.#path} already: bring the API server back first.`,
      );
    }
    const whole = known === undefined ? intent : joinIntents(known, intent);
    await this.#append({ op: "add", intent: whole });
    this.#pending.set(key, whole);
  }

  /** Done, or no longer wanted. */
  async remove(attachment: Attachment): Promise<void> {
    const key = attachmentKey(attachment);
    if (!this.#pending.has(key)) return;
    // In force until the disk says otherwise: a new start would do it.
    await this.#append({ op: "done", key });
    this.#pending.delete(key);
    if (this.#lines > this.#pending.size + slackLines) await this.#compact();
  }

  async close(): Promise<void> {
    await this.#writing;
    await this.#file.close();
  }

  async #append(record: IntentRecord): Promise<void> {
    const done = Promise.withResolvers<void>();
    this.#queue.push({ text: encodeRecord(record), done });
    this.#writing ??= this.#drain();
    await done.promise;
  }

  async #drain(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#queue;
      this.#queue = [];
      try {
        const text = batch.map((each) => each.text).join("");
        await this.#file.appendFile(this.#isTorn ? `\n${text}` : text);
        this.#isTorn = false;
        await this.#file.datasync();
        this.#lines += batch.length;
        for (const { done } of batch) done.resolve();
      } catch (cause) {
        this.#isTorn = true;
        for (const { done } of batch) done.reject(diskError(this.#path, cause));
      }
    }
    this.#writing = undefined;
  }

  /** A new file beside the old, on the disk before it takes its name. */
  async #compact(): Promise<void> {
    if (this.#writing !== undefined) return;
    const done = Promise.withResolvers<void>();
    this.#writing = done.promise;
    let file: FileHandle | undefined;
    try {
      const beside = `${this.#path}.new`;
      const flags = constants.O_RDWR | constants.O_CREAT | constants.O_TRUNC | constants.O_APPEND;
      file = await open(beside, flags, 0o600);
      const intents = this.all();
      await file.appendFile(intents.map((intent) => encodeRecord({ op: "add", intent })).join(""));
      await file.sync();
      await rename(beside, this.#path);
      // From here on the old file has no name: whatever fails now, nothing is written to it any more.
      const old = this.#file;
      this.#file = file;
      this.#lines = intents.length;
      this.#isTorn = false;
      await syncFolder(dirname(this.#path));
      await old.close();
    } catch (cause) {
      if (file !== undefined && file !== this.#file) await file.close().catch(() => {});
      throw diskError(this.#path, cause);
    } finally {
      this.#writing = undefined;
      done.resolve();
      if (this.#queue.length > 0) this.#writing = this.#drain();
    }
  }
}

interface ReadResult {
  readonly pending: Map<AttachmentKey, Intent>;
  readonly lines: number;
  readonly damaged: number;
  /** Bytes up to the end of the last whole line. */
  readonly keepBytes: number;
  readonly torn: number;
}

export function parse(bytes: Uint8Array): ReadResult {
  const pending = new Map<AttachmentKey, Intent>();
  // Counted in bytes: what was garbled may be longer in text.
  const keepBytes = bytes.lastIndexOf(newline) + 1;
  const text = Buffer.from(bytes.subarray(0, keepBytes)).toString("utf8");
  const lines = text.split("\n").slice(0, -1);
  let damaged = 0;
  for (const line of lines) {
    if (line === "") continue; // after a write that failed
    const record = decodeRecord(line);
    if (record === undefined) damaged += 1;
    else if (record.op === "add") pending.set(attachmentKey(record.intent), record.intent);
    else pending.delete(record.key as AttachmentKey);
  }
  return { pending, lines: lines.length, damaged, keepBytes, torn: bytes.length - keepBytes };
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function diskError(path: string, cause: unknown): IntentsError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new IntentsError("disk", `${path} cannot be written: ${reason}. Free the disk, or give another --state.`, {
    cause,
  });
}
