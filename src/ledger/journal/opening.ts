// Opens the folder of a journal: locks it, reads the file, cuts a torn end, writes a damaged file anew. A torn end was
// never answered. Damage elsewhere is counted; all that can be read is kept; and the journal is in doubt from there on:
// an unreadable take may be a running pod's.
import { randomUUID } from "node:crypto";
import { join } from "node:path";

import { asError } from "../../kube/abort.ts";
import type { RestClock } from "./cooldown-clock.ts";
import type { Ballast } from "./disk-reserve.ts";
import { writeUnsynced } from "./disk.ts";
import { JournalError } from "./error.ts";
import { type Frame, scan } from "./frame.ts";
import { decodeRecord, foreignFormat, type HeadRecord, type Intern } from "./record.ts";
import { type LogFile, type LogPlace, openLog, removeBeside, writeLog } from "./rewrite.ts";
import { State } from "./state.ts";

export interface OpeningOptions {
  readonly place: LogPlace;
  readonly clock: RestClock;
  readonly ballast: Ballast;
}

export interface Opened extends LogFile, Pick<HeadRecord, "id" | "doubt" | "next"> {
  readonly state: State;
  readonly damaged: number;
  readonly unlock: () => void;
}

export async function openFolder(options: OpeningOptions): Promise<Opened> {
  const { disk, folder, what } = options.place;
  let unlock: (() => void) | undefined;
  try {
    await disk.prepare(folder);
    unlock = disk.lock(folder);
    const opened = await open(options);
    await options.ballast.load();
    return { ...opened, unlock };
  } catch (cause) {
    unlock?.();
    if (cause instanceof JournalError) throw cause;
    const remedy = "repair or free its disk, or give another --state";
    throw new JournalError("disk", `${what} cannot be opened: ${asError(cause).message}; ${remedy}.`, { cause });
  }
}

async function open({ place, clock }: OpeningOptions): Promise<Omit<Opened, "unlock">> {
  // Of a rewriting that a crash cut short.
  await removeBeside(place);
  const path = join(place.folder, place.name);
  const bytes = await place.disk.read(path);
  const state = new State(clock);
  const reader = new Reader(path, state);
  const keepBytes = bytes && scan(bytes, (frame) => reader.meet(frame));
  const { lines, id = randomUUID(), ...read } = bytes ? reader.end() : { lines: 0, damaged: 0, doubt: 0, next: 1 };
  const known = { ...read, state, id };
  if (bytes !== undefined && keepBytes !== undefined && known.damaged === 0) {
    state.settle(state.grantsNow());
    const file = await openLog(place, keepBytes, keepBytes < bytes.length);
    return { ...known, file, bytes: keepBytes, lines };
  }
  const damagedPath = join(place.folder, "journal.damaged");
  const dropDamaged = () => place.disk.remove(damagedPath).catch(() => {});
  // For people to look at, as good as it goes: no reason not to start.
  if (bytes !== undefined) await writeUnsynced(place.disk, damagedPath, bytes).catch(dropDamaged);
  // With all that could be read, and the doubt; so it is whole again, and stays in doubt over restarts.
  return { ...known, ...(await writeLog(place, state.snapshot(id, known.doubt), known.next)) };
}

class Reader {
  readonly #path: string;
  readonly #state: State;
  readonly #intern = interning();
  #head: HeadRecord | undefined;
  #lines = 0;
  #damaged = 0;
  #doubt = 0;
  /** Undefined: any. */
  #expected: number | undefined = 0;
  #isSnapshot = true;

  constructor(path: string, state: State) {
    this.#path = path;
    this.#state = state;
  }

  meet({ sequence, payload, at }: Frame): void {
    this.#lines += 1;
    if (sequence < 0) return this.#damage();
    const isExpected = this.#expected === undefined || sequence === this.#expected;
    const record = payload === undefined ? undefined : decodeRecord(payload, this.#intern);
    if (payload !== undefined && at === 0) this.#refuseForeign(payload);
    // A damaged line and a missing one are one doubt.
    if (!isExpected || record === undefined) this.#damage();
    if (record?.op === "head") {
      this.#head = record;
      this.#doubt = Math.max(this.#doubt, record.doubt);
    }
    if (record !== undefined) this.#state.apply(record);
    const isLast = this.#isSnapshot && this.#head !== undefined && sequence === this.#head.lines;
    if (isLast) this.#isSnapshot = false;
    this.#expected = isLast ? this.#head!.next : sequence + 1;
  }

  /** `id` is undefined where it cannot be read any more. */
  end(): Pick<Opened, "next" | "damaged" | "doubt" | "lines"> & { readonly id?: string | undefined } {
    // A snapshot was on the disk as a whole before it had its name: one that ends early was cut by something else.
    if (this.#isSnapshot) this.#damage();
    const next = Math.max(this.#expected ?? 0, this.#head?.next ?? 1);
    return { id: this.#head?.id, lines: this.#lines, next, damaged: this.#damaged, doubt: this.#doubt };
  }

  #damage(): void {
    this.#damaged += 1;
    this.#doubt = Math.max(this.#doubt, this.#state.versions, 1);
    // The next number is unknown where a header is lost.
    this.#expected = undefined;
  }

  #refuseForeign(payload: string): void {
    const format = foreignFormat(payload);
    if (format === undefined) return;
    const remedy = "start the version that wrote it, or a later one";
    throw new JournalError("foreign", `${this.#path} is a journal of format ${format}: ${remedy}.`);
  }
}

/** Domains, namespaces, interfaces and pools of a node: some thousand texts. Beyond, they are kept as they come. */
const internMax = 100_000;

function interning(): Intern {
  const known = new Map<string, string>();
  return (text) => {
    const found = known.get(text);
    if (found !== undefined) return found;
    if (known.size < internMax) known.set(text, text);
    return text;
  };
}
