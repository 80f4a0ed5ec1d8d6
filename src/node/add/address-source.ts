// Where the address of one share comes from: a range that all nodes share (shared-source.ts), or this node's slices
// (sliced-source.ts). take.ts takes from either in the same way. A source is made for one share of one ADD.
import { isSliceDomain } from "../../api/pools/domain.ts";
import type { Refused } from "../../ipam/acquire.ts";
import { type Domain, type Hold, type Ledger, LedgerError, type TakeOutcome } from "../../ipam/ledger.ts";
import type { Pool } from "../../ipam/pool.ts";
import type { Strategy } from "../../ipam/request.ts";
import type { Address } from "../../net/address.ts";
import type { ClaimUse } from "../claims/resolve/claim-binding.ts";
import type { IntentTarget } from "../release/intents.ts";
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
