// What goes to the disk together, and what becomes of it.
import { LedgerError } from "../../ipam/ledger.ts";
import { isFull } from "./ballast.ts";
import { reasonOf } from "./error.ts";

export interface Entry {
  /** None: it only waits for what was decided before it. */
  readonly payloads: readonly string[];
  /** It goes to the disk even where that is full: what makes room, or hands less out. */
  readonly isUrgent: boolean;
  /** Takes it back in memory. Called in the reverse order. */
  readonly undo: () => void;
  /** It is on the disk. */
  readonly settle: () => void;
}

export interface Waiting extends Entry {
  readonly done: PromiseWithResolvers<void>;
}

/** 1 MiB is some 5,000 takes, more than a node starts at once; one entry that is larger goes alone. */
const batchBytesMax = 2 ** 20;
/** Takes from the front of the queue what is written next; at least one. */
export function nextBatch(queue: Waiting[]): Waiting[] {
  let bytes = 0;
  let count = 0;
  for (const { payloads } of queue) {
    for (const payload of payloads) bytes += payload.length;
    if (count > 0 && bytes > batchBytesMax) break;
    count += 1;
  }
  return queue.splice(0, count);
}

export function succeed(batch: readonly Waiting[]): void {
  for (const { settle } of batch) settle();
  for (const { done } of batch) done.resolve();
}

export function writeError(folder: string, code: LedgerError["code"], cause: unknown): LedgerError {
  const remedy = isFull(cause) ? "its disk is full: free some of it" : reasonOf(cause);
  const known = code === "unavailable" ? "nothing was written" : "whether it was written is not known";
  return new LedgerError(code, `the journal in ${folder} cannot be written, and ${known}: ${remedy}.`, { cause });
}
