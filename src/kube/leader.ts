// Leader election on a Lease, after client-go's.
//
// Promised: while clocks run at about the same rate and the event loop is not stalled, at most one leads; a leader that
// could not renew for `renewDeadlineMs` stops before another may begin; it releases the lease on shutdown, after its
// work. Leaders and candidates end when the API server was restored from an older copy: their watches are of another
// history. Not promised: fencing. A process that was paused may act for a moment after another has begun, so what the
// leader writes must be safe without leadership (guarded by resourceVersion, or created if absent).
import { asError } from "./abort.ts";
import { type Clock, deadline, realClock, sleep } from "./clock.ts";
import { retryAfterOf } from "./errors.ts";
import { LeaseLock, type LeaseLockOptions } from "./lease.ts";

export interface ElectorOptions extends Pick<LeaseLockOptions, "client" | "namespace" | "name" | "identity"> {
  /** How long others wait after the last renewal they saw. */
  readonly leaseDurationMs?: number;
  /** How long the leader tries to renew before it gives up. */
  readonly renewDeadlineMs?: number;
  readonly retryPeriodMs?: number;
  /** On shutdown, how long the leader's work may take to end; after that the lease is left to expire. */
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

/** client-go's times; the grace is ours. */
const defaults = {
  clock: realClock,
  random: () => Math.random(),
  leaseDurationMs: 15_000,
  renewDeadlineMs: 10_000,
  retryPeriodMs: 2000,
  shutdownGraceMs: 10_000,
};
/** client-go's: waits are up to 2.2 times the period, so that candidates do not move in step. */
const jitter = 1.2;
const setBack = "it is older than it was, so the API server was restored from an older copy";

export class Elector {
  readonly #lock: LeaseLock;
  readonly #options: ElectorOptions & typeof defaults;
  /** How long the server asked to be left alone, when it was asked last. */
  #askedMs = 0;

  constructor(options: ElectorOptions) {
    this.#options = { ...defaults, ...options };
    const { leaseDurationMs, renewDeadlineMs, retryPeriodMs } = this.#options;
    if (leaseDurationMs <= renewDeadlineMs || renewDeadlineMs <= jitter * retryPeriodMs) {
      throw new RangeError("Leader election needs lease duration > renew deadline > 1.2 x retry period.");
    }
    this.#lock = new LeaseLock(this.#options);
  }

  /** Who leads, as far as this process has seen; empty if nobody. */
  get leader(): string {
    return this.#lock.holder;
  }

  /**
   * Waits for the lease, then calls `lead` and renews until the signal aborts or `lead` ends. A lost lease throws
   * LeadershipLostError: the process should then exit, since nothing else guarantees that all of its work has stopped.
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
      void sleep(this.#options.clock, this.#options.shutdownGraceMs, renewing.signal).then(() => renewing.abort());
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
    const { clock, random, renewDeadlineMs, retryPeriodMs } = this.#options;
    while (!signal.aborted) {
      const askedMs = clock.monotonicMs();
      if (await this.#try(signal, renewDeadlineMs / 2)) return askedMs;
      if (this.#lock.isSetBack) throw this.#lost(setBack);
      await sleep(clock, Math.max(retryPeriodMs, this.#askedMs) * (1 + random() * jitter), signal);
    }
    return undefined;
  }

  /**
   * Renews until the signal aborts or the lease is lost. Time counts from when a renewal was sent, not answered.
   * `graceMs`: how long the work may still take before another may have begun.
   */
  async #renew(acquiredMs: number, signal: AbortSignal) {
    const { clock, renewDeadlineMs, leaseDurationMs, identity } = this.#options;
    let renewedMs = acquiredMs;
    for (;;) {
      const untilMs = renewedMs + renewDeadlineMs;
      await sleep(clock, this.#pauseMs(untilMs - clock.monotonicMs()), signal);
      if (signal.aborted) return undefined;
      const nowMs = clock.monotonicMs();
      const leftMs = untilMs - nowMs;
      if (leftMs <= 0) {
        const graceMs = Math.max(0, renewedMs + leaseDurationMs - nowMs);
        return { error: this.#lost(`it could not be renewed for ${renewDeadlineMs} ms`), graceMs };
      }
      if (await this.#try(signal, Math.min(leftMs, renewDeadlineMs / 2))) {
        renewedMs = nowMs;
        continue;
      }
      const { holder, isSetBack } = this.#lock;
      if (isSetBack) await this.#restored();
      else if (holder === identity || signal.aborted) continue;
      const nobody = "it is gone, or nobody's: deleted by hand, or restored";
      const why = isSetBack ? setBack : holder === "" ? nobody : `it is held by "${holder}"`;
      return { error: this.#lost(why), graceMs: 0 };
    }
  }

  /** What the server asked for counts, as far as the lease can be renewed once more afterwards. */
  #pauseMs(leftMs: number): number {
    const { retryPeriodMs } = this.#options;
    const longestMs = Math.max(retryPeriodMs, leftMs - retryPeriodMs);
    return Math.min(leftMs, longestMs, Math.max(retryPeriodMs, this.#askedMs));
  }

  /** One deadline over all that a try asks of the server. */
  async #try(signal: AbortSignal, timeoutMs: number): Promise<boolean> {
    using limit = deadline(this.#options.clock, timeoutMs, signal);
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
    await Promise.race([work, sleep(this.#options.clock, graceMs, waiting.signal)]);
    waiting.abort();
  }

  async #restored(): Promise<void> {
    using limit = deadline(this.#options.clock, this.#options.renewDeadlineMs / 2);
    try {
      await this.#options.onRestore?.(limit.signal);
    } catch (error) {
      this.#options.onError?.(asError(error)); // daemons notice a restore too
    }
  }

  async #release(): Promise<void> {
    try {
      await this.#lock.release(new AbortController().signal, this.#options.renewDeadlineMs / 2);
    } catch (error) {
      this.#options.onError?.(asError(error)); // it expires by itself
    }
  }

  #lost(why: string): LeadershipLostError {
    const { namespace, name, identity } = this.#options;
    const message = `"${identity}" lost the lease ${namespace}/${name}: ${why}. The process should exit.`;
    return new LeadershipLostError(message);
  }
}
