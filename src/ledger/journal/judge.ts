// What a take or a release does, by what the journal has of the address; and which holds of a mirror it takes over. Pure.
import type { Cooling } from "../../ipam/cooling.ts";
import type { Domain, Hold, ReleaseOutcome, ReleaseRequest, TakeOutcome, TakeRequest } from "../../ipam/ledger.ts";
import { formerKey, ownerKey, sameContainer, sameOwner, succeeds } from "../../ipam/owner.ts";
import type { Address } from "../../net/address.ts";

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

/** The journal is ahead of its mirror, but for holds at or below `doubt`: those may be another's by now. */
export function mergeMirror(
  mirror: readonly Hold[],
  get: (domain: Domain, address: Address) => Hold | undefined,
  doubt: number,
): Hold[] {
  return mirror.filter((hold) => {
    const own = get(hold.domain, hold.address);
    if (own === undefined) return true;
    return Number(own.version) <= doubt && !sameOwner(own.owner, hold.owner);
  });
}
