// This node's slices as requests see them: holds, which ranges are cut, and the oldest version of those ranges that any
// request still works by. The leader cuts a shared range only when every daemon says that it has seen the change. A
// daemon says so only when no older take is under way: such a take could still write a reservation inside the range.
import { parseDomain } from "../../api/pools/domain.ts";
import type { RecordedHold } from "../../cluster/recorded-hold.ts";
import type { Attachment } from "../../cni/attachments.ts";
import type { IpamConfig } from "../../cni/config/ipam-config.ts";
import type { Hold } from "../../ipam/ledger.ts";
import { type Clock, sleep } from "../../kube/clock.ts";
import type { Journal } from "../../ledger/journal/journal.ts";
import { contains } from "../../net/prefix.ts";
import { type SlicedMap, withOwn } from "../add/range-source.ts";
import type { SlicedKnowledge } from "../shared-state.ts";

export interface SlicedOptions {
  readonly journal: Pick<Journal, "grants" | "holds" | "ofAttachment" | "stats">;
  readonly read: () => SlicedKnowledge;
  readonly clock: Clock;
  /** Empty, or in a sentence why nothing is handed out of slices now. */
  readonly obstacle: () => string;
}

/** A lost write may still arrive: nothing waits longer in an API server than its request timeout. */
export const requestTimeoutMs = 60_000;
const lateMs = 1.5 * requestTimeoutMs;
/** How long a request waits for the leader's word; a runtime asks again anyway. */
const patienceMs = 10_000;
const lookMs = 100;

export interface SlicedLook extends SlicedMap, Disposable {
  /** Its write may still arrive. */
  lost(): void;
}

export class SliceFacade {
  readonly #options: SlicedOptions;
  /** Versions that requests under way work by. */
  readonly #looks = new Map<symbol, number>();
  /** Versions of writes that may still arrive, and until when. */
  #late: readonly { readonly version: number; readonly untilMs: number }[] = [];

  constructor(options: SlicedOptions) {
    this.#options = options;
    // Writes of the process before this one, by the version it had seen, may still arrive.
    const { version } = options.read();
    if (version > 0) this.#keepBack(version);
  }

  /** The ranges that are sliced; kept until it is disposed of. */
  look(): SlicedLook {
    const { journal, read } = this.#options;
    const { version, ranges, unknown } = read();
    const key = Symbol("look");
    this.#looks.set(key, version);
    return {
      ranges: withOwn(ranges, journal.grants()),
      unknown,
      lost: () => this.#keepBack(version),
      [Symbol.dispose]: () => void this.#looks.delete(key),
    };
  }

  /** The version for the leader: no request works by an older one. 0: none was ever seen. */
  seen(): number {
    const nowMs = this.#options.clock.monotonicMs();
    this.#late = this.#late.filter(({ untilMs }) => untilMs > nowMs);
    return Math.min(this.#options.read().version, ...this.#looks.values(), ...this.#late.map(({ version }) => version));
  }

  /** Waits for the leader's word: a new leader says it within seconds. */
  async told(signal: AbortSignal): Promise<void> {
    const { clock, read } = this.#options;
    const endMs = clock.monotonicMs() + patienceMs;
    while (read().unknown !== "" && clock.monotonicMs() < endMs && (await sleep(clock, lookMs, signal)));
  }

  /** The configuration itself says that every address comes from a slice. */
  isWhole({ ranges }: IpamConfig): boolean {
    return ranges.length > 0 && ranges.every(({ sliceLength }) => sliceLength !== undefined);
  }

  obstacles(): string[] {
    const { broken } = this.#options.journal.stats;
    const reasons = [this.#options.obstacle(), broken === "" ? "" : `the journal cannot be written: ${broken}`];
    return reasons.filter((reason) => reason !== "");
  }

  ofAttachment(attachment: Attachment): RecordedHold[] {
    return this.#options.journal.ofAttachment(attachment).map(entryOf);
  }

  all(): RecordedHold[] {
    return Array.from(this.#options.journal.holds(), entryOf);
  }

  isFrom({ ranges, networkName }: IpamConfig, { domain, address }: Hold): boolean {
    const grants = this.#options.journal.grants();
    const own = grants.filter((grant) => grant.domain === domain && contains(grant.slice, address));
    const isOurs = own.length === 0 || own.some(({ network }) => network === networkName);
    return isOurs && ranges.some(({ prefix }) => contains(prefix, address));
  }

  #keepBack(version: number): void {
    this.#late = [...this.#late, { version, untilMs: this.#options.clock.monotonicMs() + lateMs }];
  }
}

function entryOf(hold: Hold): RecordedHold {
  const domain = parseDomain(hold.domain);
  return { namespace: domain.scope === "network" ? "" : domain.namespace, hold };
}
