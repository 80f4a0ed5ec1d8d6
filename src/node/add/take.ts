// One share of an ADD: open its source, take an address, and let the source look again before a refusal is believed. A
// source is made for one share of one ADD: a range that all nodes share (shared-source.ts), or this node's slices
// (sliced-source.ts).
import { isSliceDomain } from "../../api/pools/domain.ts";
import { type Acquired, acquire, type Acquisition, type Refused } from "../../ipam/acquire.ts";
import { type Domain, type Hold, type Ledger, LedgerError, type TakeOutcome } from "../../ipam/ledger.ts";
import type { Pool } from "../../ipam/pool.ts";
import type { Strategy } from "../../ipam/request.ts";
import type { Address } from "../../net/address.ts";
import type { ClaimUse } from "../claims/resolve/claim-binding.ts";
import type { IntentTarget } from "../release/intents.ts";
import { whyOf } from "./hold-note.ts";
import type { Share, ShareOwner } from "./shares.ts";

export interface TakeOrder {
  readonly share: Share;
  readonly network: string;
  readonly keeper?: string | undefined;
  /** The claim that its hold names from the first moment on. */
  readonly claim?: Pick<ClaimUse, "identity" | "user" | "mac"> | undefined;
  /** The owner may hold an address that this node did not write: ask before deciding. */
  readonly lookFirst: boolean;
  /** A write to a shared range may still arrive. */
  readonly onLost: () => void;
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

export interface AddressSource {
  /** The owner's address from elsewhere: it stays. */
  kept?(): Promise<Taken | undefined>;
  /** Undefined where there is nothing to take from yet. */
  open(): Promise<OpenSource | undefined>;
  /** Waits for a change of the refusal; throws CniError where it stands. Undefined: there was nothing to take from. */
  refused(refusal: Refused | undefined): Promise<void>;
}

export interface OpenSource extends Disposable {
  readonly pool: Pool;
  readonly domain: Domain;
  readonly namespace: string;
  readonly ledger: Ledger;
  /** namespace/name of the pool object; undefined where there is none. */
  readonly name?: string | undefined;
  /** There is neither a pool object nor a slice behind it. */
  readonly loose: boolean;
  readonly strategy?: Strategy;
  /** Asked before every write. Throws LedgerError (unavailable) where nothing may be taken any more. */
  mayTake(): void;
  told(outcome: TakeOutcome, address: Address): void;
  /** After a conflict: tells the pool of further taken addresses, where that costs little. */
  readonly lookAgain?: () => Promise<void>;
  /** After the commit: this node's knowledge follows. */
  record(hold: Hold): void;
  failed(isUncertain: boolean): void;
}

/** Where a hold may have been written. A claim's is not taken back: its next ADD finds it. */
export type TakeTarget = Omit<IntentTarget, "owner"> & { readonly owner: ShareOwner };

/** A hold may have been written for this owner in this domain, and nobody knows. `cause`: the failure. */
export class UncertainTake extends Error {
  readonly target: TakeTarget;

  constructor(target: TakeTarget, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.name = "UncertainTake";
    this.target = target;
  }
}

/** The error of a ledger's write, as UncertainTake where the write may have been done. */
export function failedTake({ onLost }: TakeOrder, target: TakeTarget, error: unknown): unknown {
  if (error instanceof LedgerError && error.code === "unavailable") return error;
  if (!isSliceDomain(target.domain)) onLost();
  return new UncertainTake(target, error);
}

export interface TakeParts {
  readonly sourceOf: (order: TakeOrder) => AddressSource;
  readonly random: () => number;
}

/** Throws CniError (101: none can be had; 11: later perhaps), LedgerError where the ledger is away, UncertainTake. */
export async function take({ sourceOf, random }: TakeParts, order: TakeOrder): Promise<Taken> {
  const { share } = order;
  const source = sourceOf(order);
  const kept = await source.kept?.();
  if (kept !== undefined) return kept;
  for (let { lookFirst } = order; ; lookFirst = false) {
    using open = await source.open();
    if (open === undefined) {
      await source.refused(undefined);
      continue;
    }
    const { namespace, domain } = open;
    let result: Acquired | Refused;
    let isAsked = false;
    const mayTake = () => {
      open.mayTake();
      isAsked = true;
    };
    try {
      result = await acquire({ ...acquisitionOf(order, open), random, lookFirst, mayTake });
    } catch (error) {
      // Before the first write nothing is uncertain.
      const failure = isAsked ? failedTake(order, { namespace, domain, owner: share.owner }, error) : error;
      open.failed(failure instanceof UncertainTake);
      throw failure;
    }
    if (result.kind === "acquired") {
      const { hold, isNew, early } = result;
      open.record(hold);
      return { share, namespace, hold, isNew, early };
    }
    await source.refused(result);
  }
}

function acquisitionOf(order: TakeOrder, open: OpenSource): Omit<Acquisition, "random"> {
  const { share, network, keeper, claim, signal } = order;
  const { owner, want } = share;
  const { pool, domain, ledger, name, loose, strategy, lookAgain } = open;
  return {
    ledger,
    domain,
    pool,
    request: { owner, want, ...(strategy && { strategy }) },
    signal,
    terms: { early: want.kind === "given", loose, ...(claim !== undefined && { users: [claim.user] }) },
    note: (grant, candidate) => ({
      ...(name !== undefined && { pool: name }),
      ...(keeper !== undefined && { keeper }),
      ...(claim?.identity !== undefined && { identity: claim.identity }),
      ...(claim?.mac !== undefined && { mac: claim.mac }),
      why: whyOf(network, grant, candidate),
    }),
    onOutcome: (outcome, address) => open.told(outcome, address),
    ...(lookAgain && { lookAgain }),
  };
}
