// CHECK of an interface that goes by a claim: what the claim holds, and whether the pod is on its list.
import type { Hold } from "../../ipam/ledger.ts";
import type { Asking } from "../asking.ts";
import type { Parts } from "../parts.ts";
import type { Share } from "../plan.ts";
import type { ClaimUse } from "./use.ts";

/** Answers the hold of a share; undefined: there is none, or none with this pod. */
export async function heldByClaim(
  parts: Parts,
  { shares }: Asking,
  use: ClaimUse,
  signal: AbortSignal,
): Promise<(share: Share) => Hold | undefined> {
  // Without an identity nothing is passed on: a CHECK writes nothing.
  const found = await parts.claims.holds.find(shares, { ...use, identity: undefined }, signal);
  return (share) => {
    const hold = found[shares.indexOf(share)]?.hold;
    return hold?.users?.some(({ uid }) => uid === use.user.uid) === true ? hold : undefined;
  };
}
