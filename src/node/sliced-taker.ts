// One share of an ADD out of this node's slices: decided in memory, on the disk by one fsync, no API server on the way.
//
// Promised: as for shared pools (take.ts). Where nothing is free the controller hears of it at once, and the request waits a while for
// more before it is refused, with what the controller said.
import { CniError, errorCodes } from "../cni/error.ts";
import { type Acquired, acquire } from "../ipam/acquire.ts";
import { DefinitionError } from "../ipam/definition.ts";
import { type Domain, type HoldNote, LedgerError, type TakeOutcome } from "../ipam/ledger.ts";
import type { Pool } from "../ipam/pool.ts";
import type { Refusal } from "../ipam/request.ts";
import { type Clock, deadline, sleep } from "../kube/clock.ts";
import type { Random } from "../net/draw.ts";
import { later } from "./failure.ts";
import { ObservedLedger } from "./observed-ledger.ts";
import type { Share } from "./plan.ts";
import type { SlicedPools } from "./sliced-pools.ts";
import type { SliceKeeper, SliceUse } from "./slices/keeper.ts";
import { describeUse } from "./slicing.ts";
import { type TakeOrder, type Taken, UncertainTake } from "./take.ts";
import { whyOf } from "./why.ts";

export interface SlicedTakerOptions {
  readonly keeper: Pick<SliceKeeper, "journal" | "domainOf" | "why" | "refusal" | "short" | "changed">;
  readonly pools: SlicedPools;
  readonly clock: Clock;
  readonly random: Random;
  /** Empty, or in a sentence why nothing is handed out now: a pause, whereabouts, the node's own authority. */
  readonly obstacle: () => string;
  /** The daemon has just started and is comparing its slices: a matter of moments. Default: never. */
  readonly isStarting?: () => boolean;
}

/** The kubelet waits four minutes; a slice that can be had is there within seconds, and the runtime's own retry comes after. */
const patienceMs = 20_000;
/** What a daemon needs after its start to hear from the API server, or to find that it is away. */
const startMs = 5000;
const startLookMs = 50;

type Sliced = TakeOrder & { readonly use: SliceUse };

export class SlicedTaker {
  readonly #options: SlicedTakerOptions;

  constructor(options: SlicedTakerOptions) {
    this.#options = options;
  }

  /** Throws CniError: 101 where there is none to be had, 11 where there may be later; LedgerError where the disk fails. */
  async take(order: TakeOrder, use: SliceUse): Promise<Taken> {
    const { clock, keeper } = this.#options;
    await this.#started(order.signal);
    using limit = deadline(clock, patienceMs, order.signal);
    for (;;) {
      this.#assertAllowed();
      const refusal = await this.#once({ ...order, use });
      if (!("code" in refusal)) return refusal;
      if (keeper.refusal(use) !== undefined) throw this.#nothingLeft(use, refusal);
      keeper.short(use);
      try {
        await keeper.changed(use, limit.signal);
      } catch (error) {
        order.signal.throwIfAborted();
        if (!limit.signal.aborted) throw error;
        throw this.#nothingLeft(use, refusal);
      }
    }
  }

  async #started(signal: AbortSignal): Promise<void> {
    const { clock, isStarting = () => false } = this.#options;
    const endMs = clock.monotonicMs() + startMs;
    while (isStarting() && clock.monotonicMs() < endMs) await sleep(clock, startLookMs, signal);
  }

  /** The address, or why there is none now; throws what more slices would not change. */
  async #once(order: Sliced): Promise<Taken | Pick<Refusal, "code" | "message">> {
    const { keeper, pools } = this.#options;
    const domain = keeper.domainOf(order.use);
    if (domain === undefined) return { code: "exhausted", message: "" };
    let { result, fresh } = await this.#try(order, domain);
    if (result.kind === "refusal") {
      // Not all that frees in the journal tells the pools: a refusal is believed of one that was made anew.
      pools.forget(domain);
      ({ result, fresh } = await this.#try(order, domain));
    }
    if (result.kind === "acquired") return this.#record(order, result, fresh);
    if (order.share.want.kind !== "given" && isWant(result)) return result;
    throw refused(order, result);
  }

  async #try({ share, network, signal, use }: Sliced, domain: Domain) {
    const { keeper, pools, random } = this.#options;
    const { owner, want } = share;
    let fresh = false;
    const taken = (_: unknown, { outcome }: TakeOutcome) => void (fresh ||= outcome === "taken");
    const pool = this.#pool(share, domain);
    const early = want.kind === "given";
    if (early && pool.stateOf(want.address).state === "quarantined") {
      pool.take(want.address, owner); // asked for by its number: its rest is over
      pool.forget(want.address);
    }
    try {
      const result = await acquire({
        ledger: new ObservedLedger(keeper.journal, { asked: () => this.#assertAllowed(), taken }, { early }),
        domain,
        pool,
        request: { owner, want },
        random,
        signal,
        note: (grant, candidate): HoldNote => ({ why: whyOf(network, grant, candidate) }),
      });
      return { result, fresh };
    } catch (error) {
      pools.forget(domain);
      if (error instanceof LedgerError && error.code === "unavailable") throw error;
      if (error instanceof CniError) throw error;
      throw new UncertainTake({ namespace: use.namespace, domain, owner }, error);
    }
  }

  #pool({ definition }: Share, domain: Domain): Pool {
    try {
      return this.#options.pools.poolFor(domain, definition);
    } catch (error) {
      if (!(error instanceof DefinitionError)) throw error;
      throw new CniError(errorCodes.badConfiguration, error.message, { cause: error });
    }
  }

  #record({ share, use }: Sliced, { hold, early }: Acquired, isNew: boolean): Taken {
    this.#options.pools.took(hold);
    return { share, namespace: use.namespace, hold, isNew, early };
  }

  #assertAllowed(): void {
    const reason = this.#options.obstacle();
    if (reason !== "") throw later(reason);
  }

  #nothingLeft(use: SliceUse, refusal: Pick<Refusal, "message">): CniError {
    const why = this.#options.keeper.why(use);
    const own = refusal.message === "" ? "" : ` ${refusal.message}`;
    return new CniError(errorCodes.refused, `this node has no free address of ${describeUse(use)}: ${why}${own}`);
  }
}

/** More slices may help. */
function isWant({ code }: Refusal): boolean {
  return code === "exhausted" || code === "too-small";
}

function refused({ share, use }: Sliced, refusal: Refusal): CniError {
  const { want } = share;
  if (want.kind === "given" && refusal.code === "excluded") {
    return new CniError(
      errorCodes.refused,
      `${want.address} is in no slice of this node: it may be another node's. Ask for an address of the part that belongs to no node ` +
        `(floating_slice_size) of ${describeUse(use)}.`,
      { cause: refusal.code },
    );
  }
  return new CniError(errorCodes.refused, refusal.message, { cause: refusal.code });
}
