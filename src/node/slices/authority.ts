// How long a node may hand out of its slices without hearing from the API server (docs/decisions/0013): its authority,
// from the last renewal of its Lease; other nodes get the slices after twice that. The stricter of two clocks counts:
// the kernel's uptime, which nobody sets but which stands still while a hypervisor pauses the machine, and the wall
// clock, which can be set. A clock that went back proves nothing (lxcfs begins uptimes anew). A renewal is noted at
// most every few minutes: a restart believes a little less than it might, never more.
// Beside it, whether the node was asleep: off, stopped or paused for so long that its slices may be another's.
import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { realJournalDisk } from "../../ledger/journal/disk.ts";
import type { Log } from "../../log/log.ts";
import { orNone } from "../../net/or-none.ts";

/** One instant, by both clocks. */
export interface Moment {
  /** Of the kernel: another one is another boot. */
  readonly bootId: string;
  /** Since the boot, time asleep included. */
  readonly uptimeMs: number;
  readonly wallMs: number;
}

/** A text that survives the process. */
export interface Memory {
  read(): Promise<string | undefined>;
  write(text: string): Promise<void>;
}

export interface AuthorityOptions {
  readonly authorityMs: number;
  readonly moment: () => Moment;
  readonly memory: Memory;
  /** The journal's last renewal by the wall clock, for a node whose own note is lost. */
  readonly journal: { readonly renewedMs: number | undefined; renewed(wallMs: number): Promise<void> };
  readonly log: Log;
}

/** A wall clock is set back by so much in normal life, an uptime never. It costs so much of the 12 h to quarantine. */
const backMs = 300_000;
const writeEveryMs = 180_000;
/** A node silent for 300 s may be fenced (src/cluster/fencing.ts). One that is awake tries to renew every 66 s; its
 * note is 180 s older at worst, so that a daemon which restarts within 24 s was not asleep. */
const asleepMs = 270_000;

/** How long it still lasts; 0 or below: it is over. `slackMs`: by so much the wall clock may go back. */
export function leftMs(lastsMs: number, renewal: Moment | undefined, now: Moment, slackMs = backMs): number {
  const passedMs = renewal && msSince(renewal, now, slackMs);
  return passedMs === undefined ? 0 : lastsMs - passedMs;
}

/** Whether the node may have been off, by its last sign of life. Of another boot nobody knows how long it was away. */
function wasAsleep(sign: Moment, now: Moment): boolean {
  return !isOneBoot(sign, now) || (msSince(sign, now) ?? asleepMs) >= asleepMs;
}

const isOneBoot = (a: Moment, b: Moment) => a.bootId !== "" && a.bootId === b.bootId;

/** By the stricter clock; undefined: one went back. */
function msSince(before: Moment, now: Moment, slackMs = backMs): number | undefined {
  const upMs = isOneBoot(before, now) ? now.uptimeMs - before.uptimeMs : 0;
  const wallMs = now.wallMs - before.wallMs;
  return upMs < 0 || wallMs < -slackMs ? undefined : Math.max(upMs, wallMs, 0);
}

export class Authority {
  readonly #options: AuthorityOptions;
  #renewal: Moment | undefined;
  /** The last sign of life: a renewal that was tried, or that an earlier process noted. */
  #sign: Moment | undefined;
  #writtenMs = Number.NEGATIVE_INFINITY;

  constructor(options: AuthorityOptions) {
    this.#options = options;
  }

  /** Reads the note of an earlier process. */
  async load(): Promise<void> {
    const { journal, memory, log } = this.#options;
    const noted = await memory.read().catch((error: unknown) => {
      log.warn("the note of the last renewal cannot be read; the journal's own counts", { error });
      return undefined;
    });
    const { renewedMs: wallMs } = journal;
    const byJournal = wallMs === undefined ? undefined : { bootId: "", uptimeMs: 0, wallMs };
    this.#renewal = readMoment(noted) ?? byJournal;
    this.#sign = this.#renewal;
  }

  /** Before each renewal is tried, whatever comes of it. True: the node was asleep until now. */
  awake(at: Moment): boolean {
    const before = this.#sign;
    this.#sign = at;
    return before !== undefined && wasAsleep(before, at);
  }

  /** By the wall clock, before the renewal was sent; undefined: none is known. */
  get renewedMs(): number | undefined {
    return this.#renewal?.wallMs;
  }

  get leftMs(): number {
    const { authorityMs, moment } = this.#options;
    return leftMs(authorityMs, this.#renewal, moment());
  }

  /** Empty, or why it is over. */
  why(): string {
    const now = this.#options.moment();
    if (leftMs(this.#options.authorityMs, this.#renewal, now) > 0) {
      const isAsleep = this.#sign !== undefined && wasAsleep(this.#sign, now);
      return isAsleep ? "this node was asleep: its slices are compared with the API server first; try again" : "";
    }
    if (this.#renewal === undefined) return "this node has not renewed its Lease yet; look at the API server";
    const why = `this node has not renewed its Lease for ${this.#options.authorityMs / 3_600_000} h, or its clock was set back`;
    return `${why}: its slices may be another's soon; it goes on when the API server answers`;
  }

  /** `at`: before the renewal was sent. */
  async renewed(at: Moment): Promise<void> {
    this.#renewal = at;
    if (at.uptimeMs - this.#writtenMs < writeEveryMs) return;
    this.#writtenMs = at.uptimeMs;
    const { memory, journal, log } = this.#options;
    try {
      await memory.write(JSON.stringify(at));
      await journal.renewed(at.wallMs);
    } catch (error) {
      log.warn("the renewal of the node's Lease could not be noted on the disk", { error });
    }
  }
}

function readMoment(text: string | undefined): Moment | undefined {
  const { bootId, uptimeMs, wallMs } = orNone(() => JSON.parse(text ?? "") as Record<string, unknown> | null) ?? {};
  if (typeof bootId !== "string" || typeof uptimeMs !== "number" || typeof wallMs !== "number") return undefined;
  return { bootId, uptimeMs, wallMs };
}

/** Of the state that slices keep: journal, last renewal, seen version. */
export const sliceFolder = (state: string) => join(state, "slices");

/** Replaced whole. Not flushed: what a crash takes away is only newer than what stays. */
export function fileMemory(folder: string): Memory {
  const path = join(folder, "renewed.json");
  return {
    read: async () => (await realJournalDisk.read(path))?.toString(),
    async write(text) {
      await writeFile(`${path}.new`, text, { mode: 0o600 });
      await rename(`${path}.new`, path);
    },
  };
}

/** The kernel's own clocks. /proc/uptime counts time asleep, which Node's monotonic clock does not. */
export function kernelMoment(readText: (path: string) => string, wallMs: () => number): () => Moment {
  const bootId = readText("/proc/sys/kernel/random/boot_id").trim();
  return () => ({ bootId, uptimeMs: Number(readText("/proc/uptime").split(" ")[0]) * 1000, wallMs: wallMs() });
}
