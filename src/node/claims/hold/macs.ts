// Two VMs of one network must not have the same MAC: neither would be reached. Holds of the network's ranges decide, those of
// stopped VMs too: only daemons write them. A claim's label is for people, and whoever makes claims may write it. Not
// promised: two VMs that ask anew for one MAC at once, each at an address that it has already, may both get it.
import { allocationReasons } from "../../../api/claims/claim-marks.ts";
import type { Hold } from "../../../ipam/ledger.ts";
import { ownerKey } from "../../../ipam/owner.ts";
import { contains } from "../../../net/prefix.ts";
import type { Share } from "../../add/shares.ts";
import { ClaimRefusal, type ClaimUse } from "../resolve/claim-binding.ts";
import type { Quest } from "./amend-retry.ts";

export interface MacQuest extends Pick<Quest, "ledger" | "domain" | "signal"> {
  readonly share: Pick<Share, "definition" | "owner">;
  /** What stood there a moment ago is enough: the answer comes without a wait. */
  readonly mayBeOld: boolean;
}

/** Throws ClaimRefusal where an address of the range is on record with the MAC for another NIC. */
export async function assertMacFree({ ledger, domain, share, ...options }: MacQuest, use: ClaimUse): Promise<void> {
  const { mac } = use;
  if (mac === undefined) return;
  const alike = await ledger.find(domain, ownerKey(share.owner), { mac, ...options });
  const rival = alike.find((each) => contains(share.definition.prefix, each.address) && isRival(each, use));
  if (rival === undefined) return;
  const { namespace, name } = rival.owner;
  throw new ClaimRefusal(
    allocationReasons.macConflict,
    `the MAC ${mac} is that of IPAMClaim ${namespace}/${name}, which has ${rival.address} of the same network: give one of the two VMs another, ` +
      "or delete the one that is not needed.",
  );
}

/** Claims of the same NIC, one after the other, are none. */
function isRival({ owner, note }: Hold, use: ClaimUse): boolean {
  return owner.uid !== use.owner.uid && (use.identity === undefined || note?.identity !== use.identity);
}
