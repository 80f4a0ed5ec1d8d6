// Whether the API server's history went on since this daemon heard from it last, or was cut: an etcd restored from an
// older snapshot has forgotten holds that live sandboxes use, and the next take would get their addresses. The sign is
// a resourceVersion lower than one before, or higher by more than a server writes in a day (`etcdutl snapshot restore
// --bump-revision` adds a thousand million), within a kind, as Kubernetes promises. The disk has the highest, for a
// restore while the daemon is away. Other clients may have written as much again since: a daemon that lost the
// connection also asks for its node's last write (hold-loader.ts), and a renewal of its Lease meets the one before.
// After a restore every daemon makes its holds again, and hands out nothing of shared ranges for the settle time, so
// that the others can too. Each notices within seconds of the server's return; thousands that write at once are slower:
// 20 ms more for each. Until that is over the disk keeps the old versions: a restarted daemon notices it again.
import { CniError, errorCodes } from "../../cni/error.ts";
import { deadline } from "../../kube/clock.ts";
import type { DaemonOptions } from "../context.ts";
import { SingleFlight } from "../single-flight.ts";

/** Kind -> the highest version that was seen. */
export type SeenVersions = Readonly<Record<string, number>>;

export interface HistoryOptions extends Pick<DaemonOptions, "clock" | "log"> {
  readonly seen: SeenVersions;
  readonly note: (seen: SeenVersions) => Promise<void>;
  /** Reads a version of `probedKind` anew, and whether this node's last write is there. */
  readonly probe: (signal: AbortSignal) => Promise<{ readonly version: string | undefined; readonly isLost: boolean }>;
  /** How many daemons there are; 0: not known. */
  readonly daemons: () => number;
  /** Default: a minute, and 20 ms for every daemon. */
  readonly settleMs?: number | undefined;
  readonly onRestore: () => void;
}

export const probedKind = "ConfigMap";
/** Of both kinds that hold addresses: custom resources, which one etcd has. */
export const heldKind = "Hold";
const bumpMin = 500_000_000;
const settleMs = { least: 60_000, perDaemon: 20 };
const noteEveryMs = 60_000;
const probeMs = 5000;

export class History {
  readonly #options: HistoryOptions;
  #highest: Map<string, number>;
  #cuts = 0;
  #settledMs = Number.NEGATIVE_INFINITY;
  /** Kinds that were watched, and are not. */
  readonly #closed = new Set<string>();
  /** How often a watch ended before its time, and how often when the server was asked last. */
  #doubts = 0;
  #assured = 0;
  readonly #probes = new SingleFlight<void>({ keep: false });
  #notedMs: number;

  constructor(options: HistoryOptions) {
    this.#options = options;
    this.#highest = new Map(Object.entries(options.seen));
    this.#notedMs = options.clock.monotonicMs();
    // It may have been restored while this daemon was away.
    if (this.#highest.size > 0) this.#doubts = 1;
  }

  /** For a call that is about to be made: the function hears the version of the server's answer. */
  expect(kind: string): (version: string | undefined) => void {
    const before = this.#highest.get(kind);
    const cuts = this.#cuts;
    return (text) => {
      // Officially opaque; every known server counts.
      if (text === undefined || !/^\d{1,15}$/.test(text) || cuts !== this.#cuts) return;
      const version = Number(text);
      const isCut = before !== undefined && (version < before || version - before > bumpMin);
      if (isCut) this.#cut({ kind, before, now: version });
      this.reached(kind, text);
      const nowMs = this.#options.clock.monotonicMs();
      if (nowMs - this.#notedMs < noteEveryMs) return;
      this.#notedMs = nowMs;
      void this.keep();
    };
  }

  /** A version from a cache or an earlier moment: it proves no restore. */
  reached(kind: string, text: string | undefined): void {
    if (Number(text) > (this.#highest.get(kind) ?? 0)) this.#highest.set(kind, Number(text));
  }

  /** A watch ended early: the server may come back with another history, unseen while no watch is open. */
  watching(kind: string, is: "open" | "closed" | "early"): void {
    if (is === "open") this.#closed.delete(kind);
    else this.#closed.add(kind);
    if (is === "early") this.#doubts += 1;
  }

  /** This node's write is older than it was, whatever versions say (src/node/slices/lease.ts). */
  wentBack(): void {
    this.#cut({ kind: "Lease" });
  }

  /** The connection was lost, and nobody has asked since. */
  get isDoubted(): boolean {
    return this.#closed.size > 0 || this.#assured !== this.#doubts;
  }

  /** Looks, if the connection was lost since the last look. Costs nothing otherwise. */
  async assure(signal: AbortSignal): Promise<void> {
    if (this.isDoubted) await this.#probes.get("probe", signal, (own) => this.#probe(own));
  }

  /** Throws CniError (11) where nothing may be handed out of shared ranges. */
  assertSettled(): void {
    if (this.obstacle !== "") throw new CniError(errorCodes.tryAgainLater, this.obstacle);
  }

  /** Empty, or a sentence. */
  get obstacle(): string {
    const leftMs = this.#settledMs - this.#options.clock.monotonicMs();
    if (leftMs <= 0) return "";
    return `the API server was restored from an older copy, and nodes make their holds again: it goes on by itself in ${Math.ceil(leftMs / 1000)} s.`;
  }

  async keep(): Promise<void> {
    if (this.obstacle === "") await this.#options.note(Object.fromEntries(this.#highest));
  }

  async #probe(signal: AbortSignal): Promise<void> {
    const { clock, probe } = this.#options;
    const doubts = this.#doubts;
    using limit = deadline(clock, probeMs, signal);
    const [cuts, told] = [this.#cuts, this.expect(probedKind)];
    const { version, isLost } = await probe(limit.signal);
    told(version);
    if (isLost && cuts === this.#cuts) this.#cut({ kind: heldKind });
    this.#assured = doubts;
  }

  #cut(seen: object): void {
    const { clock, log, daemons, onRestore } = this.#options;
    this.#cuts += 1;
    this.#highest = new Map();
    const waitMs = this.#options.settleMs ?? settleMs.least + settleMs.perDaemon * daemons();
    this.#settledMs = clock.monotonicMs() + waitMs;
    const words = "the API server's history was cut: restored from an older copy. What this node holds is made again";
    log.error(words, { ...seen, waitMs });
    onRestore();
  }
}
