// One share of an ADD: open its pool, take an address, and look again before a refusal is believed.
import { CniError, errorCodes } from "../cni/error.ts";
import { type Acquired, acquire, type Acquisition } from "../ipam/acquire.ts";
import { DefinitionError } from "../ipam/definition.ts";
import { type Hold, type HoldNote, type HoldUser, LedgerError } from "../ipam/ledger.ts";
import { formerKey, ownerKey } from "../ipam/owner.ts";
import type { Refusal } from "../ipam/request.ts";
import type { Random } from "../net/draw.ts";
import { contains } from "../net/prefix.ts";
import type { Held } from "./held.ts";
import { heldKind, type History } from "./history.ts";
import type { IntentTarget } from "./intent.ts";
import type { Ledgers } from "./ledgers.ts";
import { ObservedLedger } from "./observed-ledger.ts";
import { type OpenPool, type Pictures, stateChanged } from "./pictures.ts";
import type { Share, ShareOwner } from "./plan.ts";
import type { SlicedTaker } from "./sliced-taker.ts";
import { whyOf } from "./why.ts";

export interface TakerOptions {
  readonly ledgers: Ledgers;
  readonly pictures: Pictures;
  readonly held: Held;
  readonly random: Random;
  readonly now: () => number;
  readonly onConflict: () => void;
  /** Told the version of every new hold. */
  readonly history: Pick<History, "expect" | "reached">;
  /** Empty, or who paused handing out. */
  readonly paused: () => string;
  /** For what comes from this node's slices. */
  readonly sliced: Pick<SlicedTaker, "take">;
}

export interface TakeOrder {
  readonly share: Share;
  /** The network's name, for the note. */
  readonly network: string;
  readonly keeper?: string;
  /** Of a claim: what its hold says from its first moment on. */
  readonly claim?: { readonly identity: string | undefined; readonly user: HoldUser; readonly mac: string | undefined };
  /** The owner may hold an address that this node did not write: ask before deciding. */
  readonly lookFirst: boolean;
  readonly signal: AbortSignal;
}

export interface Taken {
  readonly share: Share;
  readonly namespace: string;
  readonly hold: Hold;
  /** This request made the hold: a failed ADD gives it back. */
  readonly isNew: boolean;
  readonly early: boolean;
}

/** A picture that was read anew and still is behind: others take at the same time. Three rounds of 64 tries are minutes. */
const roundsMax = 3;

/** Where a hold may have been written. Of a claim nobody takes it back: its next ADD finds it. */
export type TakeTarget = Omit<IntentTarget, "owner"> & { readonly owner: ShareOwner };

/** A hold may have been written for this owner in this domain, and nobody knows. `cause` is what failed. */
export class UncertainTake extends Error {
  readonly target: TakeTarget;

  constructor(target: TakeTarget, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.name = "UncertainTake";
    this.target = target;
  }
}

export class Taker {
  readonly #options: TakerOptions;

  constructor(options: TakerOptions) {
    this.#options = options;
  }

  /** Throws CniError (101) where there is none to be had, LedgerError where the ledger is away. */
  async take(order: TakeOrder): Promise<Taken> {
    const { share, signal } = order;
    if (share.slice !== undefined) return (await this.#earlier(order)) ?? this.#options.sliced.take(order, share.slice);
    const open = await this.#open(order);
    if (order.lookFirst) await this.#look(order, open);
    for (let round = 1; ; round++) {
      const startedMs = this.#options.now();
      const { result, fresh, conflicts } = await this.#tryAmong(order, open);
      if (result.kind === "acquired") return this.#record(order, open, result, fresh);
      // What the ledger itself has just said of the one address that was asked for needs no second look.
      const isCertain = conflicts > 0 ? share.want.kind === "given" : round > 1;
      if (isCertain || round === roundsMax || !mayChange(result)) throw refused(share, result);
      await this.#options.pictures.refresh(share.namespace, startedMs, signal);
    }
  }

  /**
   * What the owner got while the range was shared, or what was moved there: it stays with it. What is gone from there meanwhile is
   * not made again: no slice leaves it out any more, and a node may have given it.
   */
  async #earlier({ share, signal }: TakeOrder): Promise<Taken | undefined> {
    const { owner, definition } = share;
    const { held, ledgers } = this.#options;
    const known = held.ofOwner(owner).find(({ hold }) => contains(definition.prefix, hold.address));
    if (known === undefined) return undefined;
    const { namespace } = known;
    const { domain, address, note } = known.hold;
    const ledger = ledgers.of(namespace, domain);
    const kept = note === undefined ? {} : { note };
    return this.#surely({ namespace, domain, owner }, async () => {
      const outcome = await ledger.take({ domain, address, owner, ...kept }, { signal });
      if (outcome.outcome === "yours") {
        held.put({ namespace, hold: outcome.hold });
        return { share, namespace, hold: outcome.hold, isNew: false, early: false };
      }
      if (outcome.outcome === "taken") {
        const { version } = outcome.hold;
        const cooldownMs = definition.cooldownMs ?? 0;
        await ledger.release({ domain, address, owner: ownerKey(owner), version, cooldownMs }, { signal });
      }
      if (held.get({ namespace, domain, address }) === known) held.delete({ namespace, domain, address });
      return undefined;
    });
  }

  async #open({ share, signal }: TakeOrder): Promise<OpenPool> {
    try {
      return await this.#options.pictures.open(share, signal);
    } catch (error) {
      if (error instanceof DefinitionError)
        throw new CniError(errorCodes.badConfiguration, error.message, { cause: error });
      throw error;
    }
  }

  /** What the owner holds by what others wrote: under its name alone, or from another node. */
  async #look({ share, signal }: TakeOrder, { picture, pool }: OpenPool): Promise<void> {
    const { owner, namespace } = share;
    const ledger = this.#options.ledgers.of(namespace, picture.domain);
    const holds = await ledger.find(picture.domain, ownerKey(owner), { formerly: formerKey(owner), signal });
    const hold = holds.find(({ address }) => contains(share.definition.prefix, address));
    if (hold !== undefined) pool.learn(hold.address, owner);
  }

  async #tryAmong(order: TakeOrder, open: OpenPool) {
    const { crowd } = open.picture;
    crowd.begin();
    try {
      return await this.#try(order, open);
    } finally {
      crowd.end();
    }
  }

  async #try(order: TakeOrder, { pool, picture, name }: OpenPool) {
    const { share, network, keeper, claim, signal } = order;
    const { owner, want } = share;
    let fresh = false;
    let conflicts = 0;
    const told = this.#options.history.expect(heldKind);
    const early = want.kind === "given";
    if (want.kind === "given" && pool.stateOf(want.address).state === "quarantined") {
      pool.take(want.address, owner); // asked for by its number: its rest is over
      pool.forget(want.address);
    }
    const observer = {
      asked: () => this.#assertCurrent(share.namespace, picture),
      taken: (_request: unknown, outcome: Awaited<ReturnType<ObservedLedger["take"]>>) => {
        if (outcome.outcome === "taken") {
          fresh = true;
          told(versionOf(outcome.hold));
        }
        if (outcome.outcome === "yours") this.#options.history.reached(heldKind, versionOf(outcome.hold));
        if (outcome.outcome === "taken" || outcome.outcome === "yours") return;
        conflicts += 1;
        picture.crowd.met();
        this.#options.onConflict();
        if (outcome.outcome === "held") picture.met(outcome.hold);
      },
    };
    const result = await this.#acquire(
      order,
      { pool, picture, name },
      {
        ledger: new ObservedLedger(this.#options.ledgers.of(share.namespace, picture.domain), observer, {
          early,
          loose: name === undefined,
          ...(claim !== undefined && { users: [claim.user] }),
        }),
        domain: picture.domain,
        pool,
        // By the claim's name: two daemons that take for one claim at once try the same address, and one of them finds it the claim's.
        request: { owner, want, strategy: claim === undefined ? picture.crowd.strategy : { kind: "sticky" } },
        random: this.#options.random,
        signal,
        note: (grant, candidate): HoldNote => ({
          ...(name !== undefined && { pool: name }),
          ...(keeper !== undefined && { keeper }),
          ...(claim?.identity !== undefined && { identity: claim.identity }),
          ...(claim?.mac !== undefined && { mac: claim.mac }),
          why: whyOf(network, grant, candidate),
        }),
      },
    );
    return { result, fresh, conflicts };
  }

  /** A pause counts from now on also for who was on the way, and by a pool that must be adopted anew nothing is taken. */
  #assertCurrent(namespace: string, picture: OpenPool["picture"]): void {
    const { paused, pictures } = this.#options;
    const reason = paused();
    if (reason !== "")
      throw new LedgerError("unavailable", `handing out is paused: ${reason}. It goes on by itself when that is over.`);
    if (pictures.find(namespace, picture.domain) !== picture) throw stateChanged();
  }

  async #acquire({ share: { namespace, owner } }: TakeOrder, open: OpenPool, acquisition: Acquisition) {
    const { domain } = open.picture;
    try {
      return await this.#surely({ namespace, domain, owner }, () => acquire(acquisition));
    } catch (error) {
      if (error instanceof UncertainTake && owner.kind === "claim") supposed(open, owner);
      throw error;
    }
  }

  /** Where it is not known what became of it, the error says so. */
  async #surely<T>(target: TakeTarget, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof LedgerError && error.code === "unavailable") throw error;
      throw new UncertainTake(target, error);
    }
  }

  #record({ share }: TakeOrder, { picture }: OpenPool, { hold, early }: Acquired, isNew: boolean): Taken {
    const { namespace } = share;
    // A claim's hold is no node's: others pass it on and free it, and a list says when.
    if (hold.owner.kind === "claim") picture.met(hold);
    else {
      this.#options.held.put({ namespace, hold });
      picture.took(hold);
    }
    return { share, namespace, hold, isNew, early };
  }
}

/** The server's own; a ledger of tests has none. */
function versionOf({ version }: Hold): string | undefined {
  return version.split("@")[1];
}

/** What the claim may hold, its outcome unknown, stands until a later list says otherwise: no release comes that would take the mark away. */
function supposed({ pool, picture }: OpenPool, owner: ShareOwner): void {
  const address = pool.addressOf(owner);
  const mark = address === undefined ? undefined : pool.ownerAt(address);
  if (address !== undefined && mark !== undefined) picture.met({ address, owner: mark });
}

/** A newer picture may say otherwise. */
function mayChange({ code }: Refusal): boolean {
  return code === "exhausted" || code === "held-by-another" || code === "reserved" || code === "cooling-down";
}

function refused(share: Share, refusal: Refusal): CniError {
  const { code, message } = refusal;
  const { want } = share;
  const isNamed = want.kind !== "given" || message.includes(String(want.address));
  return new CniError(errorCodes.refused, isNamed ? message : `${want.address}: ${message}`, { cause: code });
}
