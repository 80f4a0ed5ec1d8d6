// What a take or a release does about an address's record, object or journal. Pure: record and request in, step out.
import type { Cooling } from "../api/holds/hold-marks.ts";
import type { Hold, ReleaseOutcome, ReleaseRequest, TakeOutcome, TakeRequest } from "../ipam/ledger.ts";
import { formerKey, ownerKey, sameContainer, succeeds } from "../ipam/owner.ts";

export interface Met {
  readonly hold?: Hold | undefined;
  /** The hold, if there is one, is the last owner's. */
  readonly cooling?: Cooling | undefined;
  /** It is being deleted, and not by us. */
  readonly leaving?: boolean;
}

export type TakeStep =
  | { readonly kind: "answer"; readonly answer: TakeOutcome }
  /** Write the request's owner, guarded by what was met, and then answer. */
  | { readonly kind: "write"; readonly outcome: "taken" | "yours" }
  /** It would be this owner's, and is about to be gone. */
  | { readonly kind: "wait" };

export function judgeTake(met: Met, { owner, early = false, asIs = false }: TakeRequest, nowMs: number): TakeStep {
  const { hold, cooling, leaving = false } = met;
  const mine = ownerKey(owner);
  if (hold === undefined || cooling !== undefined) {
    const { untilMs, lastOwner } = cooling ?? { untilMs: nowMs, lastOwner: mine };
    const isBack = lastOwner === mine || lastOwner === formerKey(owner);
    if (untilMs > nowMs && !isBack && !early) {
      return { kind: "answer", answer: { outcome: "cooling", untilMs, lastOwner } };
    }
    return leaving ? { kind: "wait" } : { kind: "write", outcome: "taken" };
  }
  const isSame = ownerKey(hold.owner) === mine;
  if (!isSame && !succeeds(owner, hold.owner)) return { kind: "answer", answer: { outcome: "held", hold } };
  if (leaving) return { kind: "wait" };
  if (isSame && (asIs || sameContainer(hold.owner, owner)))
    return { kind: "answer", answer: { outcome: "yours", hold } };
  return { kind: "write", outcome: "yours" };
}

/** The answer, or undefined where the hold that was met is to be freed or changed. */
export function judgeWrite(
  { hold, cooling }: Met,
  { owner, version }: Pick<ReleaseRequest, "owner" | "version">,
): Exclude<ReleaseOutcome, { outcome: "released" | "parked" }> | undefined {
  if (hold === undefined || cooling !== undefined) return { outcome: "gone" };
  const isMeant = ownerKey(hold.owner) === owner && (version ?? hold.version) === hold.version;
  return isMeant ? undefined : { outcome: "superseded", hold };
}
