// A VM that started without a claim (the gate was off, the network did not allow it yet) runs in a pod that holds its address itself. The claim
// comes later, and has none; a migration brings the guest, and the guest brings its address along. So the claim takes it over from that pod: a
// new one would leave the guest with an address that is freed when the pod ends, and given to another.
//
// Promised: only from a pod that lives, in the claim's namespace, of the same VMI by its own word and not only by the VMI's. Not promised: what a
// node's slice gave; that cannot be passed on.
import type { AmendableLedger, Domain, Hold } from "../../ipam/ledger.ts";
import { ownerKey, type PodOwner, sameOwner } from "../../ipam/owner.ts";
import { equal } from "../../net/address.ts";
import { contains } from "../../net/prefix.ts";
import type { Share } from "../plan.ts";
import { amendSurely, type Count, lostMeanwhile } from "./amending.ts";
import type { ClaimUse, Sibling } from "./use.ts";

export interface Estate {
  readonly ledger: AmendableLedger;
  readonly domain: Domain;
  readonly share: Share;
  readonly use: ClaimUse;
  readonly interfaceName: string;
  readonly count: Count;
  readonly signal: AbortSignal;
}

/** Whom the claim may inherit from; most claims have an address, or no other pod. */
export function heirsOf(
  { range, recorded }: Share,
  { identity, claim, siblings = [], vmiUid }: ClaimUse,
): readonly Sibling[] {
  const isNew = recorded === undefined && claim.metadata.deletionTimestamp === undefined;
  return range !== undefined && isNew && identity !== undefined && vmiUid !== undefined ? siblings : [];
}

export async function inheritFrom(siblings: readonly Sibling[], estate: Estate): Promise<Hold | undefined> {
  for (const sibling of siblings) {
    const hold = await heldBy(sibling, estate);
    const passed = hold && (await pass(hold, sibling, estate));
    if (passed !== undefined) return passed;
  }
  return undefined;
}

async function heldBy({ uid }: Sibling, estate: Estate): Promise<Hold | undefined> {
  const { ledger, domain, share, use, interfaceName, signal } = estate;
  const { part } = share.owner;
  const { namespace } = use.owner;
  const pod: PodOwner = { kind: "pod", uid, namespace, name: "", interface: interfaceName, ...(part && { part }) };
  const holds = await ledger.find(domain, ownerKey(pod), { signal });
  return holds.find(({ address, owner }) => {
    const isWanted = share.want.kind !== "given" || equal(share.want.address, address);
    return isWanted && owner.namespace === namespace && contains(share.definition.prefix, address);
  });
}

async function pass(hold: Hold, { uid, node }: Sibling, estate: Estate): Promise<Hold | undefined> {
  const { ledger, share, use, count, signal } = estate;
  const { domain, address, owner, version } = hold;
  const user = { uid, name: owner.name, node };
  const [live] = await count([user], signal);
  if (live?.vmiUid !== use.vmiUid || share.owner.kind !== "claim") return undefined;
  const note = { ...hold.note, ...(use.identity !== undefined && { identity: use.identity }) };
  const request = { domain, address, owner: ownerKey(owner), version, to: share.owner, users: [user], note };
  const outcome = await amendSurely(ledger, request, signal);
  if (outcome.outcome === "gone") return undefined;
  if (outcome.outcome === "amended" || sameOwner(outcome.hold.owner, share.owner)) return outcome.hold;
  throw lostMeanwhile(use, address);
}
