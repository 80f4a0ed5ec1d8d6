// Opens the folder of a journal: locks it, reads the file, cuts what is torn, writes anew what is damaged.
import { join } from "node:path";

import type { Ballast } from "./ballast.ts";
import type { JournalDisk, JournalFile } from "./disk.ts";
import { JournalError, reasonOf } from "./error.ts";
import { load } from "./load.ts";
import type { RestClock } from "./rest-clock.ts";
import { besideName, fileName, takePlace, writeBeside } from "./rewrite.ts";
import { snapshotOf } from "./snapshot.ts";
import { State } from "./state.ts";

/** What of a damaged file is left for people to look at. */
const damagedName = "journal.damaged";

export interface OpeningOptions {
  readonly disk: JournalDisk;
  readonly folder: string;
  readonly clock: RestClock;
  readonly ballast: Ballast;
  readonly newId: () => string;
}

export interface Opened {
  readonly state: State;
  readonly id: string;
  readonly damaged: number;
  readonly doubt: number;
  readonly file: JournalFile;
  readonly bytes: number;
  readonly lines: number;
  readonly next: number;
  readonly unlock: () => void;
}

export async function openFolder(options: OpeningOptions): Promise<Opened> {
  const { disk, folder } = options;
  let unlock: (() => void) | undefined;
  try {
    await disk.prepare(folder);
    unlock = disk.lock(folder);
    const opened = await read(options);
    await options.ballast.load();
    return { ...opened, unlock };
  } catch (cause) {
    unlock?.();
    if (cause instanceof JournalError) throw cause;
    const remedy = "repair or free its disk, or give another --state";
    throw new JournalError("disk", `the journal in ${folder} cannot be opened: ${reasonOf(cause)}; ${remedy}.`, {
      cause,
    });
  }
}

async function read(options: OpeningOptions): Promise<Omit<Opened, "unlock">> {
  const { disk, folder, clock, newId } = options;
  // Of a rewriting that a crash cut short.
  await disk.remove(join(folder, besideName));
  const path = join(folder, fileName);
  const bytes = await disk.read(path);
  const state = new State(clock);
  if (bytes === undefined) return writeNew(options, { state, id: newId(), damaged: 0, doubt: 0, next: 1 });
  const { id = newId(), damaged, doubt, lines, next, keepBytes } = load(path, bytes, state);
  if (damaged > 0) {
    await keepDamaged(options, bytes);
    return writeNew(options, { state, id, damaged, doubt, next });
  }
  state.settle(state.grantsNow());
  const file = await disk.open(path);
  try {
    if (keepBytes < bytes.length) await file.truncate(keepBytes);
    // What was read may have come from memory alone, written by a process that died before its fsync.
    await file.datasync();
    await disk.syncFolder(folder);
  } catch (error) {
    await file.close().catch(() => {});
    throw error;
  }
  return { state, id, damaged, doubt, file, bytes: keepBytes, lines, next };
}

type Known = Pick<Opened, "state" | "id" | "damaged" | "doubt" | "next">;

/** A damaged file is written anew with all that could be read, and the doubt; so it is whole again, and stays in doubt over restarts. */
async function writeNew({ disk, folder, clock }: OpeningOptions, known: Known): Promise<Omit<Opened, "unlock">> {
  const snapshot = snapshotOf(known.state, clock, known.id, known.doubt);
  const { file, bytes } = await writeBeside(disk, folder, snapshot, known.next, () => false);
  try {
    await takePlace(disk, folder);
  } catch (error) {
    await file.close().catch(() => {});
    throw error;
  }
  snapshot.settle();
  return { ...known, file, bytes, lines: snapshot.count + 1 };
}

/** As good as it goes: no reason not to start. */
async function keepDamaged({ disk, folder }: OpeningOptions, bytes: Buffer): Promise<void> {
  try {
    const file = await disk.create(join(folder, damagedName));
    try {
      await file.append(bytes);
    } finally {
      await file.close();
    }
  } catch {
    await disk.remove(join(folder, damagedName)).catch(() => {});
  }
}
