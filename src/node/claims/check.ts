// CHECK of an interface that goes by a claim: what the claim holds, and whether the pod is on its list.
import type { Asking } from "../asking.ts";
import type { Parts } from "../parts.ts";
import type { Share } from "../plan.ts";
import type { ClaimUse } from "./use.ts";

/** The hold of the share; undefined: there is none, or none with this pod. */
export async function heldByClaim(parts: Parts, { shares }: Asking, use: ClaimUse, signal: AbortSignal) {
  const found = await Promise.all(shares.map((share) => parts.claims.holds.find(share, use, signal)));
  return (share: Share) => {
    const hold = found[shares.indexOf(share)]?.hold;
    return hold?.users?.some(({ uid }) => uid === use.user.uid) === true ? hold : undefined;
  };
}
