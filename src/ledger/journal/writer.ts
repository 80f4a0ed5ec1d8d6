// Group commit: entries decided while a batch is on its way to the disk go with the next, in one write and one
// fdatasync. Promised: an entry resolves only when it and all before it are on the disk. A failed one is "unavailable"
// if the disk certainly has none of it, "outcome-unknown" if it may; memory undoes it and all decided after it, unless
// it stands in the file, only the fsync failed, and `undoesUnsynced` is not set. The file is then given up, since the
// kernel may have dropped what it says is written: the next entry waits for a new file, written whole.
import { LedgerError } from "../../ipam/ledger.ts";
import { asError } from "../../kube/abort.ts";
import { type Ballast, isFull } from "./disk-reserve.ts";
import { Compaction, removeBeside, takePlace, writeBeside } from "./rewrite.ts";
import type { LogFile, LogPlace, Snapshot } from "./rewrite.ts";

/** Ten networks of 250 pods, started 25 times over while the disk stands still: 65,536 entries of 1 KiB are 64 MiB. */
const waitingMax = 65_536;
/** Fewer dead lines are not worth a rewriting: at 200 bytes a line, 800 KB. */
export const slackLines = 4096;
/** 1 MiB is some 5,000 takes, more than a node starts at once; one entry that is larger goes alone. */
const batchBytesMax = 2 ** 20;

interface Entry {
  /** None: it only waits for what was decided before it. */
  readonly payloads: readonly string[];
  /** It goes to the disk even when that is full: it makes room, or hands less out. */
  readonly isUrgent: boolean;
  /** Takes it back in memory. Called in the reverse order. */
  readonly undo: () => void;
  readonly settle: () => void;
  readonly done: PromiseWithResolvers<void>;
}

export interface WriterOptions extends LogPlace, LogFile {
  readonly ballast: Ballast;
  /** All that the log says at this moment, with what waits. */
  readonly snapshot: () => Snapshot;
  readonly live: () => number;
  /** So many more than twice that are left alone. */
  readonly slackLines: number;
  readonly next: number;
  /** An entry resolves when the kernel has it: it survives the process, not a power cut. */
  readonly isUnsynced?: boolean;
  /** An entry that stands in the file is undone too where its fsync failed: the caller goes by the failure. */
  readonly undoesUnsynced?: boolean;
  readonly say: (message: string, fields: Readonly<Record<string, unknown>>) => void;
}

export class Writer {
  readonly #options: WriterOptions;
  /** `bytes` and `lines`: what of the file is on the disk. */
  #log: LogFile;
  #next: number;
  #fsyncs = 0;
  #broken = "";
  #isClosed = false;
  #queue: Entry[] = [];
  #running: Promise<void> | undefined;
  #compaction: Compaction | undefined;
  /** Not before there are so many lines. */
  #compactAt = 0;

  constructor(options: WriterOptions) {
    this.#options = options;
    this.#log = options;
    this.#next = options.next;
  }

  get stats() {
    return { bytes: this.#log.bytes, records: this.#log.lines, fsyncs: this.#fsyncs, broken: this.#broken };
  }

  get isSettled(): boolean {
    return this.#running === undefined && this.#broken === "";
  }

  async commit(entry: Partial<Omit<Entry, "done">>): Promise<void> {
    const { payloads = [], isUrgent = true, undo = () => {}, settle = () => {} } = entry;
    if (this.#isClosed || this.#queue.length >= waitingMax) {
      undo();
      const why = this.#isClosed ? "is closed" : `has ${waitingMax} requests waiting for its disk already`;
      throw new LedgerError("unavailable", `${this.#options.what} ${why}.`);
    }
    const done = Promise.withResolvers<void>();
    this.#queue.push({ payloads, isUrgent, undo, settle, done });
    this.#running ??= this.#run();
    await done.promise;
  }

  /** The whole file anew, before anything else is written. */
  async rewrite(): Promise<void> {
    this.#broken ||= "it is about to be written anew";
    await this.commit({});
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#compaction?.abandon();
    await this.#running;
    await this.#abandon();
    await this.#log.file.close();
  }

  /** Starts in the next turn, so that all that is asked for in this one shares the first write. */
  async #run(): Promise<void> {
    await Promise.resolve();
    while (this.#queue.length > 0 || this.#compaction?.isReady === true) {
      if (this.#broken !== "") await this.#heal();
      else if (this.#compaction?.isReady === true) await this.#swap(this.#compaction);
      else await this.#write(nextBatch(this.#queue));
    }
    this.#running = undefined;
  }

  async #write(batch: readonly Entry[]): Promise<void> {
    let next = this.#next;
    const frames = batch.flatMap(({ payloads }) => payloads.map((payload) => this.#options.encode(next++, payload)));
    if (frames.length > 0) {
      const bytes = Buffer.concat(frames);
      if (!(await this.#append(batch, bytes)) || !(await this.#sync(batch))) return;
      const { file, bytes: before, lines } = this.#log;
      this.#log = { file, bytes: before + bytes.length, lines: lines + frames.length };
      this.#next = next;
      this.#compaction?.push(bytes, frames.length);
    }
    succeed(batch);
    this.#considerCompaction();
  }

  /** False: the batch has failed. */
  async #append(batch: readonly Entry[], bytes: Buffer): Promise<boolean> {
    for (;;) {
      try {
        await this.#log.file.append(bytes);
        return true;
      } catch (cause) {
        if (!(await this.#cutBack())) {
          this.#break(cause);
          this.#fail(batch, "outcome-unknown", cause);
          return false;
        }
        // Each turn gives a piece of it up. Takes alone are not worth one.
        const isWorth = batch.some(({ isUrgent }) => isUrgent);
        if (isWorth && isFull(cause) && (await this.#options.ballast.giveUp())) continue;
        this.#fail(batch, "unavailable", cause);
        return false;
      }
    }
  }

  async #sync(batch: readonly Entry[]): Promise<boolean> {
    if (this.#options.isUnsynced === true) return true;
    try {
      this.#fsyncs += 1;
      await this.#log.file.datasync();
      return true;
    } catch (cause) {
      this.#break(cause);
      if (this.#options.undoesUnsynced === true) this.#fail(batch, "outcome-unknown", cause);
      // It stands in the file for whoever reads it, so it stays in memory; and it is in the file that is written next.
      else for (const { done } of batch) done.reject(this.#error("outcome-unknown", cause));
      return false;
    }
  }

  /** The file as it was before the batch, on the disk. Only then is it certain that nothing of the batch comes back. */
  async #cutBack(): Promise<boolean> {
    try {
      await this.#log.file.truncate(this.#log.bytes);
      await this.#log.file.datasync();
      return true;
    } catch {
      return false;
    }
  }

  #break(cause: unknown): void {
    this.#broken = asError(cause).message || "it failed";
    this.#compaction?.abandon();
    this.#options.say(`${this.#options.what} cannot be written and is to be written anew`, { error: cause });
  }

  /** Takes back the batch, and all that was decided on top of it. */
  #fail(batch: readonly Entry[], code: LedgerError["code"], cause: unknown): void {
    this.#compaction?.abandon();
    const later = this.#queue.splice(0);
    for (const { undo } of [...batch, ...later].reverse()) undo();
    for (const { done } of later) done.reject(this.#error("unavailable", cause));
    for (const { payloads, done } of batch)
      done.reject(this.#error(payloads.length === 0 ? "unavailable" : code, cause));
  }

  #error(code: LedgerError["code"], cause: unknown): LedgerError {
    const remedy = isFull(cause) ? "its disk is full: free some of it" : asError(cause).message;
    const known = code === "unavailable" ? "nothing was written" : "whether it was written is not known";
    return new LedgerError(code, `${this.#options.what} cannot be written, and ${known}: ${remedy}.`, { cause });
  }

  /** Everything known, and all that waits, in a new file. */
  async #heal(): Promise<void> {
    const { snapshot, ballast } = this.#options;
    await this.#abandon();
    const batch = this.#queue.splice(0);
    const taken = snapshot();
    for (;;) {
      let rewritten: LogFile;
      try {
        rewritten = await writeBeside(this.#options, taken, this.#next);
      } catch (cause) {
        if (isFull(cause) && (await ballast.giveUpAll())) continue;
        this.#break(cause);
        this.#fail(batch, "unavailable", cause);
        return;
      }
      const failure = await this.#replace(rewritten);
      // It may have its name, or not: the next entry writes another.
      if (failure !== undefined) return this.#fail(batch, "outcome-unknown", failure);
      this.#broken = "";
      taken.settle();
      return succeed(batch);
    }
  }

  async #swap(compaction: Compaction): Promise<void> {
    let rewritten: LogFile;
    try {
      rewritten = await compaction.finish();
    } catch {
      return this.#abandon();
    }
    this.#compaction = undefined;
    this.#compactAt = 0;
    await this.#replace(rewritten);
  }

  /** Gives the new file its name and goes on with it. Returns a failure: which file has the name is then not known. */
  async #replace(rewritten: LogFile): Promise<unknown> {
    const { file: old } = this.#log;
    this.#log = rewritten;
    await old.close().catch(() => {});
    try {
      return await takePlace(this.#options);
    } catch (cause) {
      this.#break(cause);
      return cause ?? new Error("it failed");
    }
  }

  async #abandon(): Promise<void> {
    const compaction = this.#compaction;
    if (compaction === undefined) return;
    compaction.abandon();
    await compaction.done;
    this.#compaction = undefined;
    await removeBeside(this.#options).catch(() => {});
  }

  #considerCompaction(): void {
    if (this.#compaction?.isEnded === true) this.#compaction = undefined;
    const { snapshot, live, slackLines: slack } = this.#options;
    if (this.#compaction !== undefined || this.#log.lines < this.#compactAt) return;
    if (this.#log.lines <= slack + 2 * live()) return;
    // Should it fail, the next try comes when the file has grown by as much again.
    this.#compactAt = this.#log.lines + slack;
    this.#compaction = new Compaction(this.#options, snapshot(), this.#next, () => {
      this.#running ??= this.#run();
    });
  }
}

/** Takes from the front of the queue what is written next; at least one. */
function nextBatch(queue: Entry[]): Entry[] {
  let bytes = 0;
  let count = 0;
  for (const { payloads } of queue) {
    for (const payload of payloads) bytes += payload.length;
    if (count > 0 && bytes > batchBytesMax) break;
    count += 1;
  }
  return queue.splice(0, count);
}

function succeed(batch: readonly Entry[]): void {
  for (const { settle } of batch) settle();
  for (const { done } of batch) done.resolve();
}
