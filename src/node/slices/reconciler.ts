// Reconciles a node's slices, each by its key: reads its IPPool when the Lease names a change, brings the journal
// there, does the grant's tasks (lend, return, drain), shows the journal on the object. Level-based: nothing is lost
// while the API server is away. Promised: a slice has one worker at a time: a word on the object is on the disk.
import { nodeLabel, nodeLabelName } from "../../api/holds/hold-marks.ts";
import { type NodeSlices, sliceUseKey } from "../../api/slices/node-lease.ts";
import { sliceLabelName } from "../../api/slices/slice-grant.ts";
import { ipPools } from "../../cluster/resources.ts";
import { asError } from "../../kube/abort.ts";
import { isApiError } from "../../kube/errors.ts";
import { keyOf } from "../../kube/meta.ts";
import { Controller } from "../../kube/queue/controller.ts";
import { perItemExponential } from "../../kube/queue/ratelimit.ts";
import type { Journal } from "../../ledger/journal/journal.ts";
import { RetryPause } from "../retry-pause.ts";
import type { SliceAgentOptions } from "./agent.ts";
import { act } from "./grant/apply-phase.ts";
import { SliceState } from "./grant/slice-object.ts";
import { look } from "./grant/sync-grant.ts";
import { show, writeEveryMs } from "./mirror/mirror-writer.ts";
import type { Shortage } from "./shortage.ts";

export interface SliceReconcilerOptions extends Pick<
  SliceAgentOptions,
  "client" | "node" | "journal" | "clock" | "random" | "log" | "pods" | "ledgerOf" | "onMoved" | "tell" | "workers"
> {
  readonly shortage: Shortage;
  /** The controller's part of the Lease is known, be it nothing. */
  readonly isLeaseHeard: () => boolean;
  /** The leader can know that the node was asleep, if it was. */
  readonly hasSaidSo: () => boolean;
  /** A grant that the journal does not know may be of a copy. */
  readonly doubtsNew: () => boolean;
  readonly onCompared: () => void;
  /** The API server answered, or did not. */
  readonly onAnswer: (isHeard: boolean) => void;
}

/** Ten slices, 20 ms each: at four at once, 1,000 nodes kept a two-core API server so busy that its leader was lost. */
const defaultWorkers = 1;
/** Several changes of one moment are one write. */
const gatherMs = 50;
/** Cooling ends silently: free addresses are counted anew. Absent: a slice not left yet (grant/lost-slice.ts). */
/** The Lease is renewed at once after a sleep, and a look follows that. */
const saidMs = 1000;
const lookOverMs = { cooling: 30_000, absent: 30_000, quiet: 600_000 } as const;
const passing = ["unreachable", "outcome-unknown", "unavailable", "too-many-requests", "internal", "aborted"] as const;
const slow = { fromMs: 1000, times: 3, maxMs: 30_000 } as const;

export class SliceReconciler {
  readonly #options: SliceReconcilerOptions;
  readonly #controller: Controller;
  readonly #states = new Map<string, SliceState>();
  /** Domain -> the key of its range. */
  readonly #uses = new Map<string, string>();
  #named: Readonly<Record<string, string>> = {};
  /** The Lease does not name all slices. */
  #hasMore = false;
  /** The epoch in which all of this node's slices were listed. */
  #listedEpoch = 0;
  /** Raised when all slices must be read anew before they are handed out of. */
  #epoch = 1;
  /** Slices that the journal had when the comparing began, and that were not read since. */
  #uncompared: Set<string>;
  /** Slices of the journal that the leader has to grant anew before they are handed out of. */
  #doubted: ReadonlySet<string> = new Set();
  /** The reason why a slice is not compared; empty: nothing but time. */
  trouble = "";
  /** While the API server is away. */
  readonly #pause: RetryPause;
  /** A slow server is left to others, but for words that somebody waits for. */
  #restUntilMs = Number.NEGATIVE_INFINITY;

  constructor(options: SliceReconcilerOptions) {
    this.#options = options;
    const { clock, random, log, workers = defaultWorkers } = options;
    this.#pause = new RetryPause(clock, random);
    this.#uncompared = keysOf(options.journal);
    this.#controller = new Controller({
      name: "slices",
      reconcile: (key, { signal }) => this.#reconcile(key, signal),
      concurrency: workers,
      clock,
      rateLimiter: perItemExponential(500, 30_000),
      shutdownGraceMs: 3000,
      onError: (error, key) => log.debug("tending a slice", { slice: key, error }),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { journal } = this.#options;
    const unfollow = journal.follow((domain) => this.#changed(domain));
    for (const { domain } of journal.grants()) this.#measure(domain);
    for (const { key } of journal.grants()) this.#controller.enqueue(key);
    await this.#controller.run(signal).finally(unfollow);
  }

  /** The slices that the Lease names. */
  name({ grants, more }: Pick<NodeSlices, "grants" | "more">): void {
    this.#named = grants;
    this.#hasMore = more > 0;
    const keys = keysOf(this.#options.journal).union(new Set(Object.keys(grants)));
    for (const key of keys) if (this.#states.get(key)?.token !== (grants[key] ?? "")) this.#controller.enqueue(key);
  }

  /** At once, for a word that somebody waits for. */
  hurry(key: string): void {
    this.#stateOf(key).isUrgent = true;
    this.#controller.enqueue(key);
  }

  /** Every slice of the journal has been compared with the API server since the start, or since `compareAnew`. */
  get isCompared(): boolean {
    return this.#uncompared.size === 0;
  }

  /** The node was asleep: another may have its slices, and nobody who is heard may know it. */
  doubt(): void {
    this.compareAnew();
    this.#doubted = new Set(this.#uncompared);
  }

  compareAnew(): void {
    this.#epoch += 1;
    this.#uncompared = keysOf(this.#options.journal);
    for (const key of this.#uncompared) this.#controller.enqueue(key);
  }

  /** The API server is there again: nothing waits for it any more. */
  resume(): void {
    if (this.#pause.leftMs <= 0) return;
    this.#pause.end();
    for (const { key } of this.#options.journal.grants()) this.#controller.enqueue(key);
  }

  /** In a sentence why the slice has no more; empty: no reason is said. */
  exhausted(key: string): string {
    return this.#states.get(key)?.granted?.grant.exhausted ?? "";
  }

  /** Slices whose object is behind, and for how long the oldest of them has been. */
  get behind(): { readonly behind: number; readonly oldestMs: number } {
    const since = [...this.#states.values()].flatMap(({ dirtySinceMs }) => dirtySinceMs ?? []);
    const nowMs = this.#options.clock.monotonicMs();
    return { behind: since.length, oldestMs: nowMs - Math.min(nowMs, ...since) };
  }

  #changed(domain: string): void {
    const { journal, clock } = this.#options;
    this.#measure(domain);
    for (const grant of journal.grants()) {
      if (grant.domain !== domain) continue;
      const state = this.#stateOf(grant.key);
      const nowMs = clock.monotonicMs();
      state.dirtySinceMs ??= nowMs;
      this.#controller.enqueueAfter(grant.key, Math.max(gatherMs, state.lastWriteMs + writeEveryMs - nowMs));
    }
  }

  /** A range whose last grant is gone has nothing. */
  #measure(domain: string): void {
    const { journal, shortage } = this.#options;
    const grant = journal.grants().find((each) => each.domain === domain);
    if (grant !== undefined) this.#uses.set(domain, sliceUseKey(grant));
    const use = this.#uses.get(domain);
    if (use === undefined) return;
    shortage.sized(use, journal.blocksOf(domain).size);
    shortage.held(use, Array.from(journal.holdsOf(domain)).length);
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<{ requeueAfterMs: number } | undefined> {
    const { clock, onAnswer, random } = this.#options;
    const beganMs = clock.monotonicMs();
    const restMs = this.#stateOf(key).isUrgent ? 0 : this.#restUntilMs - beganMs;
    const waitMs = Math.max(this.#pause.leftMs, restMs);
    if (waitMs > 0) return { requeueAfterMs: waitMs };
    try {
      const requeueAfterMs = await this.#tend(key, signal);
      const nowMs = clock.monotonicMs();
      // A quick answer to an urgent write cuts no rest short.
      this.#restUntilMs = Math.max(this.#restUntilMs, nowMs + restAfter(nowMs - beganMs, random()));
      this.#pause.answered();
      await this.#trust(signal);
      return requeueAfterMs === undefined ? undefined : { requeueAfterMs };
    } catch (error) {
      this.trouble = asError(error).message;
      if (signal.aborted || !isApiError(error, ...passing)) throw error;
      this.#pause.failed(error);
      onAnswer(false);
      throw asError(error);
    }
  }

  async #tend(key: string, signal: AbortSignal): Promise<number | undefined> {
    const { journal } = this.#options;
    const state = this.#stateOf(key);
    const token = this.#named[key] ?? "";
    const parts = { ...this.#options, key, state, signal, onHeard: () => this.#options.onAnswer(true) };
    if (state.token !== token || state.epoch !== this.#epoch || state.present === undefined) {
      const epoch = this.#epoch;
      const isKnown = journal.grant(key) !== undefined;
      const isDoubted = isKnown ? this.#doubted.has(key) : this.#options.doubtsNew();
      // Else the leader would take the node for one that has heard of everything.
      if (isDoubted && !this.#options.hasSaidSo()) return saidMs;
      await look({ ...parts, isDoubted });
      if (epoch === this.#epoch) this.#doubted = this.#doubted.difference(new Set([key]));
      state.token = token;
      state.epoch = epoch;
      if (epoch === this.#epoch && this.#uncompared.delete(key) && this.isCompared) this.#options.onCompared();
    }
    const grant = journal.grant(key);
    if (grant === undefined && !(key in this.#named)) this.#states.delete(key);
    if (grant === undefined) return undefined;
    const waits = [await act(parts), await show(parts)].filter((each) => each !== undefined);
    if (state.present === undefined) waits.push(lookOverMs.absent);
    const isCooling = Array.from(journal.coolingOf(grant.domain)).length > 0;
    return Math.min(...waits, isCooling ? lookOverMs.cooling : lookOverMs.quiet);
  }

  /** A journal that lost lines is believed again when every slice that it has, or may have lost, was read. */
  async #trust(signal: AbortSignal): Promise<void> {
    const { client, isLeaseHeard, journal, node } = this.#options;
    if (journal.suspect === "" || !isLeaseHeard() || !this.isCompared) return;
    if (Object.keys(this.#named).some((key) => this.#states.get(key)?.epoch !== this.#epoch)) return;
    if (this.#hasMore && this.#listedEpoch !== this.#epoch) {
      // Slices that the Lease has no room to name are found by their label, and read too.
      const epoch = this.#epoch;
      const labelSelector = `${sliceLabelName},${nodeLabelName}=${nodeLabel(node)}`;
      const { items } = await client.list(ipPools, { labelSelector, signal });
      const unread = items.map(keyOf).filter((key) => this.#states.get(key)?.epoch !== epoch);
      this.#listedEpoch = epoch;
      for (const key of unread) this.#uncompared.add(key);
      for (const key of unread) this.#controller.enqueue(key);
    }
    if (this.isCompared && (!this.#hasMore || this.#listedEpoch === this.#epoch)) await journal.trusted();
  }

  #stateOf(key: string): SliceState {
    const known = this.#states.get(key) ?? new SliceState();
    this.#states.set(key, known);
    return known;
  }
}

/** How long a daemon leaves a slow server to others: three times its answer, since every node may be about to write as
 * much; half to one and a half of that, so that slow ones do not come back together. 0 after a quick answer. */
export function restAfter(tookMs: number, random: number): number {
  return tookMs <= slow.fromMs ? 0 : Math.min(tookMs * slow.times, slow.maxMs) * (0.5 + random);
}

function keysOf(journal: Journal): Set<string> {
  return new Set(journal.grants().map(({ key }) => key));
}
