// Guarded changes of a claim's hold: sent again where an answer was lost, not sent while handing out is paused.
import { type AmendableLedger, type AmendRequest, type Hold, LedgerError } from "../../ipam/ledger.ts";
import type { Address } from "../../net/address.ts";
import { type ClaimUse, claimText } from "./use.ts";
import type { LiveUser } from "./users.ts";

/** Those of a list that live, as the API server says. */
export type Count = (users: NonNullable<Hold["users"]>, signal: AbortSignal) => Promise<readonly LiveUser[]>;

/** A guarded write may be sent again when its answer was lost: what it changed shows in the answer to the second. */
export async function amendSurely(ledger: AmendableLedger, request: AmendRequest, signal: AbortSignal) {
  try {
    return await ledger.amend(request, { signal });
  } catch (error) {
    if (!(error instanceof LedgerError) || error.code !== "outcome-unknown") throw error;
    return ledger.amend(request, { signal });
  }
}

export function assertNotPaused(reason: string): void {
  if (reason === "") return;
  throw new LedgerError("unavailable", `handing out is paused: ${reason}. It goes on by itself when that is over.`);
}

export function lostMeanwhile(use: ClaimUse, address: Address): LedgerError {
  return new LedgerError("unavailable", `${address} of ${claimText(use)} changed hands at this moment: try again.`);
}
