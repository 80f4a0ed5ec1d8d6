// A claim with two addresses of one pool: an answer was lost and a search came too early, or two pods were the first at once. Pure.
import { ownerKey } from "../../ipam/owner.ts";
import { compare } from "../../net/address.ts";
import type { ClaimHold } from "./facts.ts";
import type { ClaimView } from "./family.ts";

/**
 * The one that no pod is at and that the status does not have goes, beside one that a pod is at or that the status has. One that the status has goes only beside
 * another that both have: no ADD is answered with an address that the status lacks, so a pod that is listed at such a one has not got it, or
 * is over, and its end was seen here first.
 */
export function isSpare(spare: ClaimHold, view: ClaimView): boolean {
  if (isUsed(spare)) return false;
  const others = doublesOf(spare, view);
  if (isTold(spare, view)) return others.some((each) => isUsed(each) && isTold(each, view));
  return others.some((each) => isUsed(each) || isTold(each, view));
}

/**
 * It is not to be told beside the other: of two pods that were the first at once the daemons decide by the status which address is the claim's,
 * and who finds another than its own there gives its own back. The first that is told counts; where none is, the lowest.
 */
export function isSecond(hold: ClaimHold, view: ClaimView): boolean {
  if (isTold(hold, view)) return false;
  return doublesOf(hold, view).some((each) => isTold(each, view) || compare(each.hold.address, hold.hold.address) < 0);
}

function doublesOf({ hold }: ClaimHold, { holds }: ClaimView): readonly ClaimHold[] {
  const { domain, owner, note } = hold;
  if (note?.pool === undefined) return [];
  return holds.filter(
    ({ hold: each }) =>
      each !== hold &&
      each.domain === domain &&
      each.note?.pool === note.pool &&
      ownerKey(each.owner) === ownerKey(owner),
  );
}

function isTold({ hold }: ClaimHold, { claim }: ClaimView): boolean {
  return (claim.status?.ips ?? []).some((each) => each.split("/")[0] === hold.address.toString());
}

function isUsed({ hold }: ClaimHold): boolean {
  return (hold.users ?? []).length > 0;
}
