// What the commands of the daemon see of this node's slices, put together: holds, the leader's word on ranges, what may be handed out.
import { parseDomain } from "../api/domain.ts";
import type { Attachment } from "../cni/attachments.ts";
import type { IpamConfig } from "../cni/ipam-config.ts";
import type { Hold } from "../ipam/ledger.ts";
import type { OwnerKey } from "../ipam/owner.ts";
import { type Clock, sleep } from "../kube/clock.ts";
import { contains } from "../net/prefix.ts";
import type { HeldEntry } from "./held.ts";
import type { SlicedPools } from "./sliced-pools.ts";
import type { SlicedLook, SlicedView } from "./sliced-view.ts";
import type { SliceKeeper } from "./slices/keeper.ts";

export interface SlicedOptions {
  readonly keeper: Pick<SliceKeeper, "journal">;
  readonly pools: SlicedPools;
  readonly view: SlicedView;
  readonly clock: Clock;
  /** Empty, or in a sentence why nothing is handed out of slices now. */
  readonly obstacle: () => string;
}

/** A runtime asks again anyway. */
const patienceMs = 10_000;
const lookMs = 100;

export class Sliced {
  readonly #options: SlicedOptions;

  constructor(options: SlicedOptions) {
    this.#options = options;
  }

  /** The ranges that are sliced; kept until it is disposed of. */
  look(): SlicedLook {
    return this.#options.view.look();
  }

  /** Until the leader's word is known: one that has just begun to lead says it within seconds. */
  async told(signal: AbortSignal): Promise<void> {
    const { clock, view } = this.#options;
    const endMs = clock.monotonicMs() + patienceMs;
    while (!view.isTold && clock.monotonicMs() < endMs && (await sleep(clock, lookMs, signal)));
  }

  /** Every address comes from a slice, says the configuration itself. */
  isWhole({ ranges }: IpamConfig): boolean {
    return ranges.length > 0 && ranges.every(({ sliceLength }) => sliceLength !== undefined);
  }

  obstacles(): string[] {
    const { broken } = this.#options.keeper.journal.stats;
    const reasons = [this.#options.obstacle(), broken === "" ? "" : `the journal cannot be written: ${broken}`];
    return reasons.filter((reason) => reason !== "");
  }

  ofAttachment(attachment: Attachment): HeldEntry[] {
    return this.#options.keeper.journal.ofAttachment(attachment).map(entryOf);
  }

  all(): HeldEntry[] {
    return Array.from(this.#options.keeper.journal.holds(), entryOf);
  }

  released(hold: Hold, cooldownMs: number, lastOwner?: OwnerKey): void {
    this.#options.pools.released(hold, cooldownMs, lastOwner);
  }

  /** Whether an ADD with this configuration could have given it. */
  isFrom({ ranges, networkName }: IpamConfig, { domain, address }: Hold): boolean {
    const { journal } = this.#options.keeper;
    const grants = journal.grants().filter((grant) => grant.domain === domain && contains(grant.slice, address));
    const isOurs = grants.length === 0 || grants.some(({ network }) => network === networkName);
    return isOurs && ranges.some(({ prefix }) => contains(prefix, address));
  }
}

function entryOf(hold: Hold): HeldEntry {
  const domain = parseDomain(hold.domain);
  return { namespace: domain.scope === "network" ? "" : domain.namespace, hold };
}
