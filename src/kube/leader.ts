// Leader election on a Lease, after client-go's.
//
// Promised: while clocks run at about the same rate and the event loop is not stalled, at most one leads; the one who could not renew for
// `renewDeadlineMs` stops before another may begin; the lease is released on shutdown, after the leader's work has ended. A leader or candidate ends
// when the API server was restored from an older copy: what it knows by its watches is of another history, and versions do not always tell.
// Not promised: fencing. A process that was paused may act on for a moment after another has begun, so what the leader writes must be
// safe without leadership (guarded by resourceVersion, or created if absent); the lease only keeps two from doing the same work.
import { asError } from "./abort.ts";
import { type Clock, deadline, realClock, sleep } from "./clock.ts";
import { retryAfterOf } from "./errors.ts";
import { LeaseLock } from "./lease.ts";
import type { KubeClient } from "./rest.ts";

export interface ElectorOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly name: string;
  readonly identity: string;
  /** How long others wait after the last renewal they saw. */
  readonly leaseDurationMs?: number;
  /** How long the leader tries to renew before it gives up. */
  readonly renewDeadlineMs?: number;
  readonly retryPeriodMs?: number;
  /** On shutdown, how long the leader's work may take to end; if it takes longer the lease is not released but left to expire. */
  readonly shutdownGraceMs?: number;
  readonly clock?: Clock;
  readonly random?: () => number;
  readonly onChange?: (leading: boolean) => void;
  /** The API server was restored from an older copy: the last that a leader does, for the next one to know it. */
  readonly onRestore?: (signal: AbortSignal) => Promise<void>;
  readonly onError?: (error: Error) => void;
}

export class LeadershipLostError extends Error {
  readonly code = "leadership-lost";
  override readonly name = "LeadershipLostError";
}

interface Lost {
  readonly error: LeadershipLostError;
  /** How long the work may still take before another may have begun. */
  readonly graceMs: number;
}

/** client-go's: waits are up to 2.2 times the period, so that candidates do not move in step. */
const jitter = 1.2;
const setBack = "it is older than it was, so the API server was restored from an older copy";

export class Elector {
  readonly #lock: LeaseLock;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #options: ElectorOptions;
  readonly #leaseDurationMs: number;
  readonly #renewDeadlineMs: number;
  readonly #retryPeriodMs: number;
  /** How long the server asked to be left alone, when it was asked last. */
  #askedMs = 0;

  constructor(options: ElectorOptions) {
    this.#options = options;
    this.#clock = options.clock ?? realClock;
    this.#random = options.random ?? Math.random;
    this.#leaseDurationMs = options.leaseDurationMs ?? 15_000;
    this.#renewDeadlineMs = options.renewDeadlineMs ?? 10_000;
    this.#retryPeriodMs = options.retryPeriodMs ?? 2000;
    if (this.#leaseDurationMs <= this.#renewDeadlineMs || this.#renewDeadlineMs <= jitter * this.#retryPeriodMs) {
      throw new RangeError("Leader election needs lease duration > renew deadline > 1.2 x retry period.");
    }
    this.#lock = new LeaseLock({ ...options, clock: this.#clock, leaseDurationMs: this.#leaseDurationMs });
  }

  /** Who leads, as far as this process has seen; empty if nobody. */
  get leader(): string {
    return this.#lock.holder;
  }

  /**
   * Waits for the lease, then calls `lead` and renews until the signal aborts or `lead` ends. Throws LeadershipLostError if the lease is
   * lost: the process should then exit, since nothing else guarantees that all of its work has stopped.
   */
  async run(signal: AbortSignal, lead: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const acquiredMs = await this.#acquire(signal);
    if (acquiredMs === undefined) return;
    this.#options.onChange?.(true);
    const leading = new AbortController();
    let ended: { readonly error: Error | undefined } | undefined;
    const work = Promise.try(() => lead(leading.signal)).then(
      () => (ended = { error: undefined }),
      (error: unknown) => (ended = { error: asError(error) }),
    );
    // Renewed until the work has ended, also while a shutdown lets it finish: it leads until then.
    const renewing = new AbortController();
    const onAbort = () => {
      leading.abort(signal.reason);
      void sleep(this.#clock, this.#options.shutdownGraceMs ?? 10_000, renewing.signal).then(() => renewing.abort());
    };
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    void work.then(() => renewing.abort());
    try {
      const lost = await this.#renew(acquiredMs, renewing.signal);
      if (lost !== undefined) {
        leading.abort(lost.error);
        await this.#ending(work, lost.graceMs);
        throw lost.error;
      }
      if (ended !== undefined) await this.#release();
      if (ended?.error !== undefined && !signal.aborted) throw ended.error;
    } finally {
      signal.removeEventListener("abort", onAbort);
      renewing.abort();
      this.#options.onChange?.(false);
    }
  }

  /** The time from which it is ours, or undefined if the signal came first. */
  async #acquire(signal: AbortSignal): Promise<number | undefined> {
    while (!signal.aborted) {
      const askedMs = this.#clock.monotonicMs();
      if (await this.#try(signal, this.#renewDeadlineMs / 2)) return askedMs;
      if (this.#lock.isSetBack) throw this.#lost(setBack);
      const waitMs = Math.max(this.#retryPeriodMs, this.#askedMs) * (1 + this.#random() * jitter);
      await sleep(this.#clock, waitMs, signal);
    }
    return undefined;
  }

  /** Renews until the signal aborts; returns if the lease was lost. Time counts from when a renewal was sent, not answered. */
  async #renew(acquiredMs: number, signal: AbortSignal): Promise<Lost | undefined> {
    let renewedMs = acquiredMs;
    for (;;) {
      const untilMs = renewedMs + this.#renewDeadlineMs;
      const waitMs = this.#pauseMs(untilMs - this.#clock.monotonicMs());
      await sleep(this.#clock, waitMs, signal);
      if (signal.aborted) return undefined;
      const nowMs = this.#clock.monotonicMs();
      const leftMs = untilMs - nowMs;
      if (leftMs <= 0) {
        const graceMs = Math.max(0, renewedMs + this.#leaseDurationMs - nowMs);
        return { error: this.#lost(`it could not be renewed for ${this.#renewDeadlineMs} ms`), graceMs };
      }
      if (await this.#try(signal, Math.min(leftMs, this.#renewDeadlineMs / 2))) renewedMs = nowMs;
      else if (this.#lock.isSetBack) {
        await this.#restored();
        return { error: this.#lost(setBack), graceMs: 0 };
      } else if (this.#lock.holder !== this.#options.identity && !signal.aborted) {
        const { holder } = this.#lock;
        const why =
          holder === "" ? "it is gone, or nobody's: deleted by hand, or restored" : `it is held by "${holder}"`;
        return { error: this.#lost(why), graceMs: 0 };
      }
    }
  }

  /** What the server asked for counts, as far as the lease can be renewed once more afterwards. */
  #pauseMs(leftMs: number): number {
    const longestMs = Math.max(this.#retryPeriodMs, leftMs - this.#retryPeriodMs);
    return Math.min(leftMs, longestMs, Math.max(this.#retryPeriodMs, this.#askedMs));
  }

  /** One deadline over all that a try asks of the server. */
  async #try(signal: AbortSignal, timeoutMs: number): Promise<boolean> {
    using limit = deadline(this.#clock, timeoutMs, signal);
    this.#askedMs = 0;
    try {
      return await this.#lock.tryHold(limit.signal, timeoutMs);
    } catch (error) {
      this.#askedMs = retryAfterOf(error);
      if (!signal.aborted) this.#options.onError?.(asError(error));
      return false;
    }
  }

  /** Waits for the work of a leader that lost, but not longer than until others may begin. */
  async #ending(work: Promise<unknown>, graceMs: number): Promise<void> {
    const waiting = new AbortController();
    await Promise.race([work, sleep(this.#clock, graceMs, waiting.signal)]);
    waiting.abort();
  }

  async #restored(): Promise<void> {
    using limit = deadline(this.#clock, this.#renewDeadlineMs / 2);
    try {
      await this.#options.onRestore?.(limit.signal);
    } catch (error) {
      this.#options.onError?.(asError(error)); // daemons notice a restore too
    }
  }

  async #release(): Promise<void> {
    try {
      await this.#lock.release(new AbortController().signal, this.#renewDeadlineMs / 2);
    } catch (error) {
      this.#options.onError?.(asError(error)); // it expires by itself
    }
  }

  #lost(why: string): LeadershipLostError {
    const { namespace, name, identity } = this.#options;
    return new LeadershipLostError(
      `"${identity}" lost the lease ${namespace}/${name}: ${why}. The process should exit.`,
    );
  }
}
