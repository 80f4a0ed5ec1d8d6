// Guarded changes of a claim's hold: sent again where an answer was lost, not sent while handing out is paused.
import { type AmendableLedger, type AmendRequest, type Domain, type Hold, LedgerError } from "../../../ipam/ledger.ts";
import { type ClaimOwner, ownerKey, sameOwner } from "../../../ipam/owner.ts";
import type { Address } from "../../../net/address.ts";
import type { Share } from "../../add/shares.ts";
import { type ClaimUse, claimText } from "../resolve/claim-binding.ts";
import type { LiveUser } from "./users.ts";

/** Those of a list that live, as the API server says. */
export type Count = (users: NonNullable<Hold["users"]>, signal: AbortSignal) => Promise<readonly LiveUser[]>;

export interface Quest {
  readonly ledger: AmendableLedger;
  readonly domain: Domain;
  readonly share: Share;
  readonly use: ClaimUse;
  /** Empty, or who paused handing out: an ADD may have waited for its claim since it was asked first. */
  readonly paused: () => string;
  /** The claim is not there any more, by its UID, as the API server says now. */
  readonly isGone: (claim: ClaimOwner, signal: AbortSignal) => Promise<boolean>;
  readonly signal: AbortSignal;
}

/** A guarded write may be sent again when its answer was lost: what it changed shows in the answer to the second. */
export async function amendSurely(ledger: AmendableLedger, request: AmendRequest, signal: AbortSignal) {
  try {
    return await ledger.amend(request, { signal });
  } catch (error) {
    if (!(error instanceof LedgerError) || error.code !== "outcome-unknown") throw error;
    return ledger.amend(request, { signal });
  }
}

/** The hold becomes the claim's, with these users where they are given. Undefined: it is gone. */
export async function passOn(
  { ledger, use, signal, paused }: Quest,
  { domain, address, owner, version, note }: Hold,
  to: ClaimOwner,
  users?: Hold["users"],
): Promise<Hold | undefined> {
  assertNotPaused(paused());
  const identified = { ...note, ...(use.identity !== undefined && { identity: use.identity }) };
  const request = { domain, address, owner: ownerKey(owner), version, to, note: identified, ...(users && { users }) };
  const outcome = await amendSurely(ledger, request, signal);
  if (outcome.outcome === "gone") return undefined;
  if (outcome.outcome === "amended" || sameOwner(outcome.hold.owner, to)) return outcome.hold;
  throw lostMeanwhile(use, address);
}

export function assertNotPaused(reason: string): void {
  if (reason === "") return;
  throw new LedgerError("unavailable", `handing out is paused: ${reason}. It goes on by itself when that is over.`);
}

export function lostMeanwhile(use: ClaimUse, address: Address): LedgerError {
  return new LedgerError("unavailable", `${address} of ${claimText(use)} changed hands at this moment: try again.`);
}
