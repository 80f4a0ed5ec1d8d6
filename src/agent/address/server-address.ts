// The address that a pool's clients renew at: which agent answers for it (ARP, ICMP echo). A Lease decides.
//
// Promised: who has the Lease answers, after a probe found nobody else. When its holder is killed another answers
// within five seconds. A holder that cannot reach the API server goes on; where nobody can reach it and the address is
// silent, an agent answers without the Lease. On shutdown the Lease is given up first, and the address is answered for
// until another has the Lease, for `handOverMs` at most. Not promised: one holder at any instant. Two give the same
// answers, since both serve the same bindings: a client that reaches either is served.
import { partsOfServerIdentity } from "../../api/vmnet/marks.ts";
import { asError } from "../../kube/abort.ts";
import { type Clock, deadline, sleep } from "../../kube/clock.ts";
import type { LeaseLock } from "../../kube/lease.ts";

export interface ServerAddressOptions {
  readonly lock: Pick<LeaseLock, "tryHold" | "release" | "look" | "holder" | "expiresAtMs">;
  readonly identity: string;
  readonly clock: Clock;
  readonly random: () => number;
  readonly renewMs: number;
  readonly leaseDurationMs: number;
  readonly handOverMs: number;
  /** The MAC that has the address, ours aside; undefined: nobody. Throws where the link is down. */
  readonly probe: (signal: AbortSignal) => Promise<string | undefined>;
  readonly answer: (isOn: boolean) => void;
  /** Somebody who is no agent has the address: it is not answered for. Told at every try. */
  readonly onForeign: (mac: string) => void;
  readonly onChange: (isHolder: boolean) => void;
  readonly onError: (error: Error) => void;
}

/** `unknown`: the API server does not say. */
type LeaseAnswer = "ours" | "another's" | "unknown";

/** Below a tenth of a second the clocks of two threads differ by as much. */
const pauseMsMin = 100;
/** Handing over, how often the Lease is read. */
const lookMs = 200;

export class ServerAddress {
  readonly #options: ServerAddressOptions;
  #isHolder = false;
  /** Since when the API server has not answered. */
  #awaySinceMs: number | undefined;
  /** The last other agent that was seen to hold the Lease. */
  #lastHolder = "";

  constructor(options: ServerAddressOptions) {
    this.#options = options;
  }

  get isHolder(): boolean {
    return this.#isHolder;
  }

  /** The identity of the last other agent that was seen to hold the Lease; empty: none. */
  get lastHolder(): string {
    return this.#lastHolder;
  }

  /** Ends after the signal, when the address is another's or nobody's. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const answer = await this.#ask(signal);
      if (signal.aborted) break;
      try {
        await this.#obey(answer, signal);
      } catch (error) {
        if (!signal.aborted) this.#options.onError(asError(error));
      }
      await sleep(this.#options.clock, this.#pauseMs(answer), signal);
    }
    await this.#handOver();
  }

  async #ask(signal: AbortSignal): Promise<LeaseAnswer> {
    const { lock, clock, renewMs, identity, onError } = this.#options;
    using limit = deadline(clock, renewMs, signal);
    try {
      const isOurs = await lock.tryHold(limit.signal, renewMs);
      this.#awaySinceMs = undefined;
      if (lock.holder !== identity && lock.holder !== "") this.#lastHolder = lock.holder;
      return isOurs ? "ours" : "another's";
    } catch (error) {
      if (!signal.aborted && this.#awaySinceMs === undefined) onError(asError(error));
      this.#awaySinceMs ??= clock.monotonicMs();
      return "unknown";
    }
  }

  async #obey(answer: LeaseAnswer, signal: AbortSignal): Promise<void> {
    if (answer === "another's") {
      // Nobody's, or set back by a restore: whoever asks next has it. Until it is another's it is answered for.
      if (this.#options.lock.holder !== "") this.#set(false);
      return;
    }
    if (this.#isHolder) return;
    const { clock, leaseDurationMs } = this.#options;
    const awayMs = this.#awaySinceMs === undefined ? 0 : clock.monotonicMs() - this.#awaySinceMs;
    if (answer === "unknown" && awayMs < leaseDurationMs) return;
    const mac = await this.#options.probe(signal);
    if (signal.aborted) return;
    // An agent that was cut off, or hands over: with the Lease, the address is ours all the same.
    const isTaken = mac !== undefined && !(answer === "ours" && mac === partsOfServerIdentity(this.#lastHolder).mac);
    if (!isTaken) this.#set(true);
    else if (answer === "ours") this.#options.onForeign(mac);
  }

  /** A Lease of another is asked for again when it ends, not up to a period later. */
  #pauseMs(answer: LeaseAnswer): number {
    const { clock, renewMs, random, lock } = this.#options;
    if (answer === "ours") return renewMs;
    if (answer === "unknown") return renewMs * (1 + random() / 2);
    const leftMs = lock.expiresAtMs - clock.monotonicMs();
    return Math.min(renewMs, Math.max(pauseMsMin, leftMs));
  }

  async #handOver(): Promise<void> {
    const { lock, clock, handOverMs, identity, onError } = this.#options;
    if (this.#isHolder || lock.holder === identity) {
      using limit = deadline(clock, handOverMs);
      try {
        await lock.release(limit.signal, handOverMs);
        while (this.#isHolder && !limit.signal.aborted && (await lock.look(limit.signal, handOverMs)) === "") {
          await sleep(clock, lookMs, limit.signal);
        }
      } catch (error) {
        if (!limit.expired) onError(asError(error)); // it expires by itself
      }
    }
    this.#set(false);
  }

  #set(isHolder: boolean): void {
    if (this.#isHolder === isHolder) return;
    this.#isHolder = isHolder;
    this.#options.answer(isHolder);
    this.#options.onChange(isHolder);
  }
}
