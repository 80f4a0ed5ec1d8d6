// Writes the status of claims in the background: an ADD is answered when the hold is written. Promised: a claim's last
// word is written, one write at a time, over the status that was read; the leader's notes stay. Bounded: the leader
// writes from holds what does not fit, fails for long or is lost in a crash. At the end the rest gets a few seconds.
import { claimStatus, type ClaimStatus, type StatusInput } from "../../../api/claims/claim-status.ts";
import { ipamClaims, type StoredClaim } from "../../../cluster/resources.ts";
import { deadline, sleep } from "../../../kube/clock.ts";
import { isEqual } from "../../../kube/conditions.ts";
import { ApiError, isApiError } from "../../../kube/errors.ts";
import type { DaemonOptions } from "../../context.ts";

type StatusWriterOptions = Pick<DaemonOptions, "client" | "clock" | "log">;

export interface StatusOrder {
  /** As it was read. */
  readonly claim: StoredClaim;
  /** From the claim's status at the time of the write. */
  readonly make: (before: ClaimStatus | undefined) => Omit<StatusInput, "before" | "nowMs">;
}

/** About 4 KB each: 4 MB while the API server is away. A node starts some dozen VMs at once. */
const waitingMax = 1000;
/** A write takes some milliseconds: hundreds of VMs a second, which no node starts. */
const writersMax = 4;
const triesMax = 5;
const pauseMs = 500;
/** After the last request, which has 20 s, within the 25 s of the whole process. */
const flushMs = 4000;
const callMs = 10_000;

export class StatusWriter {
  readonly #options: StatusWriterOptions;
  /** Claim's UID -> its last order. */
  readonly #waiting = new Map<string, StatusOrder>();
  readonly #busy = new Set<string>();
  #wake = () => {};

  constructor(options: StatusWriterOptions) {
    this.#options = options;
  }

  /** Returns at once. */
  write(order: StatusOrder): void {
    const uid = order.claim.metadata.uid ?? "";
    this.#waiting.delete(uid);
    const full = "too many statuses of claims wait to be written; the leader writes this one";
    if (this.#waiting.size >= waitingMax) return this.#options.log.warn(full, { claim: nameOf(order.claim) });
    this.#waiting.set(uid, order);
    this.#wake();
  }

  /** Before anybody is told: on the claim as read, or a later `isOpen` one. Answers a claim that is open no more. */
  async settle(order: StatusOrder, isOpen: (claim: StoredClaim) => boolean, signal: AbortSignal) {
    let { claim } = order;
    for (let tries = 1; ; tries++) {
      try {
        await this.#once({ ...order, claim }, signal);
        return undefined;
      } catch (error) {
        if (tries === triesMax || signal.aborted || isApiError(error, "not-found", "forbidden")) throw error;
        // A patch whose tests fail, since the status or the claim has changed, is refused as one of these.
        if (!isApiError(error, "conflict", "invalid")) await sleep(this.#options.clock, pauseMs * tries, signal);
        const now = await this.#read(claim, signal);
        if (!isOpen(now)) return now;
        claim = now;
      }
    }
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const onAbort = () => this.#wake();
    signal.addEventListener("abort", onAbort, { once: true });
    const running = new Set<Promise<void>>();
    while (!signal.aborted) {
      const next = running.size < writersMax ? this.#next() : undefined;
      if (next === undefined) {
        await new Promise<void>((resolve) => (this.#wake = resolve));
        continue;
      }
      const work = this.#perform(next, signal).finally(() => {
        running.delete(work);
        this.#wake();
      });
      running.add(work);
    }
    using limit = deadline(clock, flushMs);
    await Promise.all(running);
    for (let next = this.#next(); next !== undefined && !limit.signal.aborted; next = this.#next()) {
      await this.#perform(next, limit.signal);
    }
  }

  /** The order that waits longest and is not being written. */
  #next(): StatusOrder | undefined {
    for (const [uid, order] of this.#waiting) {
      if (this.#busy.has(uid)) continue;
      this.#waiting.delete(uid);
      return order;
    }
    return undefined;
  }

  async #perform(order: StatusOrder, signal: AbortSignal): Promise<void> {
    const uid = order.claim.metadata.uid ?? "";
    this.#busy.add(uid);
    try {
      await this.settle(order, () => true, signal);
    } catch (error) {
      if (isApiError(error, "not-found")) return;
      // The flush at the end takes orders that were called off.
      if (signal.aborted && !this.#waiting.has(uid)) return void this.#waiting.set(uid, order);
      const failure = "the status of a claim could not be written; the leader writes it";
      this.#options.log.warn(failure, { claim: nameOf(order.claim), error });
    } finally {
      this.#busy.delete(uid);
    }
  }

  async #once({ claim, make }: StatusOrder, signal: AbortSignal): Promise<void> {
    const { client, clock } = this.#options;
    const before = claim.status;
    const status = claimStatus({ before, ...make(before), nowMs: clock.wallMs() });
    if (isEqual(before, status)) return;
    const { namespace = "", name = "", uid } = claim.metadata;
    const operations = [
      { op: "test", path: "/metadata/uid", value: uid },
      { op: "test", path: "/status", value: before ?? null }, // null: there is none
      { op: "add", path: "/status", value: status },
    ] as const;
    const options = { subresource: "status", signal, timeoutMs: callMs };
    await client.patch(ipamClaims, { namespace, name }, { type: "json", operations }, options);
  }

  /** Throws "not-found" if it is gone or another. An unreadable claim is tried as it was: its version guards it. */
  async #read(claim: StoredClaim, signal: AbortSignal): Promise<StoredClaim> {
    const { namespace = "", name = "", uid } = claim.metadata;
    try {
      const now = await this.#options.client.get(ipamClaims, { namespace, name }, { signal, timeoutMs: callMs });
      if (now.metadata.uid === uid) return now;
    } catch (error) {
      if (!isApiError(error, "not-found")) return claim;
      throw error;
    }
    throw new ApiError("not-found", `IPAMClaim ${nameOf(claim)} is another by now.`);
  }
}

function nameOf({ metadata }: StoredClaim): string {
  return `${metadata.namespace ?? ""}/${metadata.name ?? ""}`;
}
