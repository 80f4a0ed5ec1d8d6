// The port behind which every durable record of addresses stands: one suite (test/conformance/ledger) for all of them.
// A domain is a set of addresses in which each has at most one owner. The record of an address is its hold; writing the
// hold is the commit point. Promised: two takes of one address never both succeed for different owners, whatever the
// number of ledgers, clients and crashes; an answer is durable. Not promised: that `list` and `find` show what another
// client wrote in the last moment. Only `take` arbitrates.
import type { Address } from "../net/address.ts";
import { CodedError } from "../net/coded-error.ts";
import type { Owner, OwnerKey } from "./owner.ts";

/** The name of a domain: a network name, a pool, a VM network, a slice. */
export type Domain = string;

/** For a sentence: `network red`. */
export function describeDomain(domain: Domain): string {
  return domain === "network:" ? "the network without a name" : domain.replace(":", " ");
}

export interface Hold {
  readonly domain: Domain;
  readonly address: Address;
  readonly owner: Owner;
  /** Opaque; changes with every write of the hold. A release that names an older one frees nothing. */
  readonly version: string;
  readonly note?: HoldNote;
  /** Of a claim: the pods that use its address, or did and have not been seen to end. */
  readonly users?: readonly HoldUser[];
}

/** A pod of the owner's namespace that uses an address of a claim. */
export interface HoldUser {
  readonly uid: string;
  readonly name: string;
  readonly node: string;
}

/** Kept with a hold for those who read it later. No ledger decides by it. */
export interface HoldNote {
  /** namespace/name of the pool object that the address was taken from: where its mirror is. */
  readonly pool?: string;
  /** What keeps the hold after its pod is gone, as kind/name: `statefulset/web`. */
  readonly keeper?: string;
  /** What a claim is for, as OWNER-UID/NIC: a claim made anew for the same gets the address of the one before. */
  readonly identity?: string;
  /** The MAC that a claim's guest asked for: while it is here, nobody else of the network gets an address with it. */
  readonly mac?: string;
  /** "true": the leader shows it in its claim's status. The ADD that took it names an older version: it stays. */
  readonly shown?: string;
  /** `SECONDS TIME`: so long after TIME its daemon vouches for a sandbox whose pod the API server has forgotten. */
  readonly vouched?: string;
  /** Why this address, and why not those before it: what `holdfast explain` prints. */
  readonly why?: string;
}

/** Names at most one hold. */
export type HoldKey = Pick<Hold, "domain" | "address">;

/** `users`: of a new hold of a claim. One that is this owner's already keeps its own: `amend` changes them. */
export interface TakeRequest extends Pick<Hold, "domain" | "address" | "owner" | "note" | "users"> {
  /** Take it although it is still cooling down: nothing else is left. */
  readonly early?: boolean;
  /** A hold that is this owner's already stays as it is, whichever of its sandboxes uses it. */
  readonly asIs?: boolean;
  /** It is in no pool, and so has no place in a pool's own record: its hold is all there is of it. */
  readonly loose?: boolean;
}

export type TakeOutcome =
  /** It was free, and is this owner's now. */
  | { readonly outcome: "taken"; readonly hold: Hold }
  /** This owner's, or its namesake's without a UID; now has this container id and UID, and if changed a new version. */
  | { readonly outcome: "yours"; readonly hold: Hold }
  | { readonly outcome: "held"; readonly hold: Hold }
  | { readonly outcome: "cooling"; readonly untilMs: number; readonly lastOwner: OwnerKey };

export interface ReleaseRequest extends HoldKey {
  /** Freed only where this owner has it. */
  readonly owner: OwnerKey;
  /** And, where given, only at this version: a late release of a sandbox that was replaced names an old one. */
  readonly version?: string;
  /** How long it cools before another owner gets it; the last owner may have it back at once. */
  readonly cooldownMs: number;
  /** The owner keeps it, and no sandbox uses it from now on. Under the same guards: a later sandbox keeps it in use. */
  readonly park?: boolean;
}

export type ReleaseOutcome =
  | { readonly outcome: "released" }
  /** As was asked for with `park`. */
  | { readonly outcome: "parked"; readonly hold: Hold }
  /** There is no hold: released before, or never taken. */
  | { readonly outcome: "gone" }
  /** The hold is another's, or a newer one of this owner's. It stays. */
  | { readonly outcome: "superseded"; readonly hold: Hold };

/** Changes a hold without freeing it in between. `users`: all of them. `note`: in place of the one before. */
export interface AmendRequest extends Pick<Hold, "domain" | "address" | "version" | "users" | "note"> {
  /** Only where this owner has it, and only at this version. */
  readonly owner: OwnerKey;
  /** Passes it on. */
  readonly to?: Owner;
}

export type AmendOutcome =
  | { readonly outcome: "amended"; readonly hold: Hold }
  | { readonly outcome: "gone" }
  /** The hold is another's, or has changed. It stays as it is. */
  | { readonly outcome: "superseded"; readonly hold: Hold };

export interface LedgerOptions {
  /** An abort before the call: nothing was done. A later one: not known, as with `outcome-unknown`. */
  readonly signal?: AbortSignal;
}

export interface TakeOptions extends LedgerOptions {
  /** Throws when the caller may write no more. Asked before each write: one that a server put off is a later one. */
  readonly mayTake?: () => void;
}

export interface FindOptions extends LedgerOptions {
  /** The owner's key in the records of an older system without UIDs: its holds are found too. */
  readonly formerly?: OwnerKey | undefined;
  /** In place of the owner: holds of claims with one of these identities (`HoldNote.identity`), whoever's they are. */
  readonly identities?: readonly string[] | undefined;
  /** In place of the owner: holds with this MAC (`HoldNote.mac`), whoever's they are. */
  readonly mac?: string | undefined;
  /** An answer that was true a moment ago is enough, if it comes sooner. */
  readonly mayBeOld?: boolean;
}

export interface Ledger {
  take(request: TakeRequest, options?: TakeOptions): Promise<TakeOutcome>;
  release(request: ReleaseRequest, options?: LedgerOptions): Promise<ReleaseOutcome>;
  /** The owner's holds in the domain; several where it has an address in each of several ranges. */
  find(domain: Domain, owner: OwnerKey, options?: FindOptions): Promise<readonly Hold[]>;
  list(domain: Domain, options?: LedgerOptions): AsyncIterable<Hold>;
}

/** A ledger whose holds can be passed on, and whose claims know their users. */
export interface AmendableLedger extends Ledger {
  amend(request: AmendRequest, options?: LedgerOptions): Promise<AmendOutcome>;
}

export type LedgerErrorCode =
  /** The request may or may not have been carried out: read back before anything else. */
  | "outcome-unknown"
  /** It was certainly not carried out. */
  | "unavailable";

export class LedgerError extends CodedError<LedgerErrorCode> {}
