// What a take or a release does, by what the journal has of the address. Pure.
import type { Cooling } from "../../ipam/cooling.ts";
import type { Hold, ReleaseOutcome, ReleaseRequest, TakeOutcome, TakeRequest } from "../../ipam/ledger.ts";
import { formerKey, ownerKey, sameContainer, succeeds } from "../../ipam/owner.ts";

export interface Known {
  readonly hold?: Hold | undefined;
  /** By the wall clock; only while it lasts. */
  readonly cooling?: Cooling | undefined;
  /** It may be handed out. */
  readonly isUsable: boolean;
}

export type TakeStep =
  | { readonly step: "answer"; readonly answer: TakeOutcome }
  | { readonly step: "write"; readonly outcome: "taken" | "yours" }
  /** No grant has it. */
  | { readonly step: "refuse" };

export function judgeTake(
  { hold, cooling, isUsable }: Known,
  { owner, early = false, asIs = false }: TakeRequest,
): TakeStep {
  const mine = ownerKey(owner);
  if (hold !== undefined) {
    const isSame = ownerKey(hold.owner) === mine;
    if (!isSame && !succeeds(owner, hold.owner)) return { step: "answer", answer: { outcome: "held", hold } };
    if (isSame && (asIs || sameContainer(hold.owner, owner)))
      return { step: "answer", answer: { outcome: "yours", hold } };
    return { step: "write", outcome: "yours" };
  }
  if (!isUsable) return { step: "refuse" };
  const isBack = cooling?.lastOwner === mine || cooling?.lastOwner === formerKey(owner);
  if (cooling === undefined || isBack || early) return { step: "write", outcome: "taken" };
  const { untilMs, lastOwner } = cooling;
  return { step: "answer", answer: { outcome: "cooling", untilMs, lastOwner } };
}

/** The answer, or undefined where the hold is to be freed or parked. */
export function judgeRelease(hold: Hold | undefined, request: ReleaseRequest): ReleaseOutcome | undefined {
  if (hold === undefined) return { outcome: "gone" };
  const { owner, version = hold.version } = request;
  return ownerKey(hold.owner) === owner && hold.version === version ? undefined : { outcome: "superseded", hold };
}
