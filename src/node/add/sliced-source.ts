// Addresses of this node's slices: decided in memory, on the disk by one fsync, without the API server. If none is free
// the controller hears of it at once, and the request waits a while before it is refused with the controller's word.
import { CniError, errorCodes } from "../../cni/error.ts";
import type { Refused } from "../../ipam/acquire.ts";
import { type Domain, LedgerError } from "../../ipam/ledger.ts";
import { ownerKey } from "../../ipam/owner.ts";
import { type Clock, deadline, sleep } from "../../kube/clock.ts";
import { contains } from "../../net/prefix.ts";
import type { HoldIndex } from "../holds/hold-index.ts";
import type { Ledgers } from "../pools/ledgers.ts";
import type { SlicedPools } from "../pools/sliced-pools.ts";
import { later } from "../request/failure.ts";
import type { SliceAgent, SliceUse } from "../slices/agent.ts";
import { describeUse } from "./range-source.ts";
import { type AddressSource, failedTake, type OpenSource, type TakeOrder, type Taken } from "./take.ts";

export interface SlicedSourceParts {
  readonly agent: Pick<SliceAgent, "journal" | "domainOf" | "why" | "refusal" | "short" | "changed">;
  readonly pools: SlicedPools;
  readonly clock: Clock;
  readonly held: HoldIndex;
  readonly ledgers: Ledgers;
  /** Empty, or in a sentence why nothing is handed out now: a pause, whereabouts, the node's own authority. */
  readonly obstacle: () => string;
  /** The daemon has just started and is comparing its slices: a matter of moments. Default: never. */
  readonly isStarting?: () => boolean;
}

/** The kubelet waits four minutes; a slice that can be had comes within seconds, and the runtime's own retry after. */
const patienceMs = 20_000;
/** A started daemon needs so long to hear from the API server, or to find that it is away. */
const startMs = 5000;
const startLookMs = 50;

export class SlicedSource implements AddressSource {
  readonly #parts: SlicedSourceParts;
  readonly #order: TakeOrder;
  readonly #use: SliceUse;
  #endMs: number | undefined;
  /** Undefined: the node has no slice of the range yet. */
  #domain: Domain | undefined;
  /** The pool of the last try was made from the journal as it is. */
  #isAnew = false;

  /** The order's share comes from a slice. */
  constructor(parts: SlicedSourceParts, order: TakeOrder) {
    this.#parts = parts;
    this.#order = order;
    this.#use = order.share.slice!;
  }

  /** The owner's address from the shared range stays. A lost one is not made again: a slice may have given it. */
  async kept(): Promise<Taken | undefined> {
    const { share, signal } = this.#order;
    const { owner, definition } = share;
    const { held, ledgers } = this.#parts;
    const known = held.ofOwner(owner).find(({ hold }) => contains(definition.prefix, hold.address));
    if (known === undefined) return undefined;
    const { namespace } = known;
    const { domain, address, note } = known.hold;
    const ledger = ledgers.of(namespace, domain);
    try {
      const outcome = await ledger.take({ domain, address, owner, ...(note && { note }) }, { signal });
      if (outcome.outcome === "yours") {
        held.put({ namespace, hold: outcome.hold });
        return { share, namespace, hold: outcome.hold, isNew: false, early: false };
      }
      if (outcome.outcome === "taken") {
        const { version } = outcome.hold;
        const cooldownMs = definition.cooldownMs ?? 0;
        await ledger.release({ domain, address, owner: ownerKey(owner), version, cooldownMs }, { signal });
      }
    } catch (error) {
      throw failedTake(this.#order, { namespace, domain, owner }, error);
    }
    if (held.get({ namespace, domain, address }) === known) held.delete({ namespace, domain, address });
    return undefined;
  }

  async open(): Promise<OpenSource | undefined> {
    const { agent, pools, clock, obstacle, isStarting = () => false } = this.#parts;
    if (this.#endMs === undefined) {
      const startedMs = clock.monotonicMs() + startMs;
      while (isStarting() && clock.monotonicMs() < startedMs && (await sleep(clock, startLookMs, this.#order.signal)));
      this.#endMs = clock.monotonicMs() + patienceMs;
    }
    if (obstacle() !== "") throw later(obstacle());
    const domain = agent.domainOf(this.#use);
    this.#domain = domain;
    if (domain === undefined) return undefined;
    return {
      pool: pools.poolFor(domain, this.#order.share.definition),
      domain,
      namespace: this.#use.namespace,
      ledger: agent.journal,
      loose: false,
      mayTake: () => {
        if (obstacle() !== "") throw new LedgerError("unavailable", obstacle());
      },
      told: () => {},
      record: (hold) => pools.took(hold),
      failed: () => pools.forget(domain),
      [Symbol.dispose]: () => {},
    };
  }

  async refused(refusal: Refused | undefined): Promise<void> {
    const { agent, pools, clock } = this.#parts;
    const { share, signal } = this.#order;
    // Not every release in the journal reaches the pools: a refusal is believed only of a pool that was made anew.
    this.#isAnew = refusal !== undefined && !this.#isAnew;
    if (this.#isAnew) return pools.forget(this.#domain!);
    // Of an exhausted range more slices may help.
    if (refusal !== undefined && (share.want.kind === "given" || refusal.code !== "exhausted"))
      throw this.#refused(refusal);
    if (agent.refusal(this.#use) !== undefined) throw this.#nothingLeft(refusal);
    agent.short(this.#use);
    using limit = deadline(clock, Math.max(0, this.#endMs! - clock.monotonicMs()), signal);
    try {
      await agent.changed(this.#use, limit.signal);
    } catch (error) {
      signal.throwIfAborted();
      throw limit.signal.aborted ? this.#nothingLeft(refusal) : error;
    }
  }

  #nothingLeft(refusal: Refused | undefined): CniError {
    const own = refusal === undefined ? "" : ` ${refusal.message}`;
    const why = this.#parts.agent.why(this.#use);
    return new CniError(errorCodes.refused, `this node has no free address of ${describeUse(this.#use)}: ${why}${own}`);
  }

  #refused({ code, message }: Refused): CniError {
    const { want } = this.#order.share;
    const isElsewhere = want.kind === "given" && code === "excluded";
    const words = isElsewhere
      ? `${want.address} is in no slice of this node: it may be another node's. Ask for an address of the part that belongs to no node ` +
        `(floating_slice_size) of ${describeUse(this.#use)}.`
      : message;
    return new CniError(errorCodes.refused, words, { cause: code });
  }
}
