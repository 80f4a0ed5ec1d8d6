// Guarded changes of a hold: sent again where an answer was lost. A claim's are not sent while handing out is paused.
import { type AmendableLedger, describeDomain, type Domain, type Hold, LedgerError } from "../../../ipam/ledger.ts";
import { type ClaimOwner, ownerKey, sameOwner } from "../../../ipam/owner.ts";
import type { Address } from "../../../net/address.ts";
import type { Share } from "../../add/shares.ts";
import { type ClaimUse, claimText } from "../resolve/claim-binding.ts";

export interface Quest {
  readonly ledger: AmendableLedger;
  readonly domain: Domain;
  readonly share: Share;
  /** The share's owner: the claim, or a part of it. */
  readonly owner: ClaimOwner;
  readonly use: ClaimUse;
  /** Empty, or who paused handing out: an ADD may have waited for its claim since the first question. */
  readonly paused: () => string;
  /** The claim of this UID is gone, as the API server says now. */
  readonly isGone: (claim: ClaimOwner, signal: AbortSignal) => Promise<boolean>;
  readonly signal: AbortSignal;
}

/** A guarded write may be sent again when its answer was lost: a second one is harmless, and shows what is there. */
export async function surely<T>(write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    if (!(error instanceof LedgerError) || error.code !== "outcome-unknown") throw error;
    return write();
  }
}

/** Other writers changed it between each read and write. */
export function restless({ address, domain }: Hold): LedgerError {
  const what = `the hold of ${address} in ${describeDomain(domain)} changes all the time: try again.`;
  return new LedgerError("unavailable", what);
}

/** The hold becomes the claim's, with these users if given. Undefined: it is gone. */
export async function passOn(quest: Quest, hold: Hold, users?: Hold["users"]): Promise<Hold | undefined> {
  const { ledger, owner: to, use, signal, paused } = quest;
  const { domain, address, version } = hold;
  assertNotPaused(paused());
  const note = { ...hold.note, ...(use.identity !== undefined && { identity: use.identity }) };
  const request = { domain, address, owner: ownerKey(hold.owner), version, to, note, ...(users && { users }) };
  const outcome = await surely(() => ledger.amend(request, { signal }));
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
