// A file of the state folder: records, one checksummed line each. The journal's writer appends, and writes it anew when
// most of it is over. Promised: a record that `append` has answered for survives kill -9, and a power cut unless the
// file is unsynced. A torn last line is cut off at the opening; a damaged line in the middle costs itself alone.
import { join } from "node:path";
import { crc32 } from "node:zlib";

import { asError } from "../../kube/abort.ts";
import { Ballast } from "../../ledger/journal/disk-reserve.ts";
import { pageCacheDisk, realJournalDisk } from "../../ledger/journal/disk.ts";
import { JournalError } from "../../ledger/journal/error.ts";
import { type LogPlace, openLog, writeLog } from "../../ledger/journal/rewrite.ts";
import { Writer } from "../../ledger/journal/writer.ts";

/** The file is written anew when it has so many lines too many: a few MB. */
const slackLines = 2000;
const newline = 0x0a;
const nothing = { lines: () => [], count: 0, settle: () => {} };

export interface LineFileOptions<R> {
  readonly folder: string;
  /** Ends in `.log`. */
  readonly name: string;
  readonly isUnsynced?: boolean;
  readonly meet: (record: R) => void;
  /** All records that count, with those being appended; and about how many. */
  readonly all: () => readonly R[];
  readonly live: () => number;
}

export class LineFile<R> {
  readonly path: string;
  /** Lines that could not be read when the file was opened. */
  readonly damaged: number;
  readonly #writer: Writer;

  private constructor(path: string, damaged: number, writer: Writer) {
    this.path = path;
    this.damaged = damaged;
    this.#writer = writer;
  }

  static async open<R>({ folder, name, meet, all, ...options }: LineFileOptions<R>): Promise<LineFile<R>> {
    const path = join(folder, name);
    const disk = options.isUnsynced === true ? pageCacheDisk : realJournalDisk;
    const encode = (_: number, payload: string) => Buffer.from(encodeLine(payload));
    const place: LogPlace = { disk, folder, name, what: path, encode };
    try {
      await disk.prepare(folder);
      const bytes = await disk.read(path);
      const { records, lines, keepBytes } = readLines(bytes ?? Buffer.alloc(0));
      for (const record of records) meet(record as R);
      const opened =
        bytes === undefined
          ? await writeLog(place, nothing, 0)
          : { file: await openLog(place, keepBytes, keepBytes < bytes.length), bytes: keepBytes, lines };
      const snapshot = () => {
        const payloads = all().map((record) => JSON.stringify(record));
        return { ...nothing, lines: () => payloads, count: payloads.length };
      };
      const ballast = new Ballast(disk, folder, 0, () => 0);
      const own = { next: 0, slackLines, undoesUnsynced: true, say: () => {}, ballast };
      const writer = new Writer({ ...place, ...opened, ...own, ...options, snapshot });
      return new LineFile<R>(path, lines - records.length, writer);
    } catch (cause) {
      throw new JournalError("disk", `${path} cannot be opened: ${asError(cause).message}. ${remedy}`, { cause });
    }
  }

  /** Memory has the record already, so that a new file has it. `undo` takes it back there before the next write. */
  async append(record: R, undo = () => {}): Promise<void> {
    try {
      await this.#writer.commit({ payloads: [JSON.stringify(record)], undo });
    } catch (cause) {
      throw new JournalError("disk", `${asError(cause).message} ${remedy}`, { cause });
    }
  }

  close(): Promise<void> {
    return this.#writer.close();
  }
}

const remedy = "Free the disk, or give another --state.";

function readLines(bytes: Buffer) {
  // Counted in bytes: garbled text may be longer.
  const keepBytes = bytes.lastIndexOf(newline) + 1;
  const lines = bytes.toString("utf8", 0, keepBytes).split("\n");
  // An empty line is left by a failed write of an older version.
  const whole = lines.filter((line) => line !== "");
  return { records: whole.map(decodeLine).filter((record) => record !== undefined), lines: whole.length, keepBytes };
}

/** The checksum of what follows, a space, JSON. JSON has no line break inside. */
export function encodeLine(json: string): string {
  return `${checksum(json)} ${json}\n`;
}

/** Undefined where the line is torn or damaged. */
function decodeLine(line: string): unknown {
  const json = line.slice(9);
  return line[8] === " " && line.slice(0, 8) === checksum(json) ? JSON.parse(json) : undefined;
}

function checksum(json: string): string {
  return crc32(json).toString(16).padStart(8, "0");
}
