// A VM that started without a claim runs in a pod that holds its address itself. A claim that comes later takes it over
// when the guest migrates: a new one would leave the guest with an address that is freed, and given to another, when
// the pod ends. The same where a claim is gone under its guest (by force, VM deleted without the VMI) and the leader's
// new one has no address yet: a pod of this VMI at it is the proof, since nobody knows the VM of its identity any more.
// Promised: only from a living pod of the claim's namespace, of the same VMI by its own word too. Not promised: slices.
import { continuesAnnotation, nicOfIdentity } from "../../../api/claims/claim-marks.ts";
import type { Hold } from "../../../ipam/ledger.ts";
import { type ClaimOwner, ownerKey, type PodOwner } from "../../../ipam/owner.ts";
import { equal } from "../../../net/address.ts";
import { contains } from "../../../net/prefix.ts";
import type { Share } from "../../add/shares.ts";
import type { ClaimUse, Sibling } from "../resolve/claim-binding.ts";
import { passOn, type Quest } from "./amend-retry.ts";
import type { Count } from "./users.ts";

export interface Estate extends Quest {
  readonly interfaceName: string;
  readonly count: Count;
}

/** From whom a claim without an address may inherit. */
export interface Heirs {
  /** UID of the claim that it continues. */
  readonly before: string | undefined;
  readonly siblings: readonly Sibling[];
}

/** Undefined: nobody; most claims have an address, or no other pod. */
export function heirsOf({ range, recorded }: Share, use: ClaimUse): Heirs | undefined {
  const { annotations, deletionTimestamp } = use.claim.metadata;
  const { siblings = [] } = use;
  const isNew = recorded === undefined && deletionTimestamp === undefined;
  if (range === undefined || !isNew || use.identity === undefined || use.vmiUid === undefined) return undefined;
  const before = annotations?.[continuesAnnotation] || undefined;
  return before === undefined && siblings.length === 0 ? undefined : { before, siblings };
}

export async function inheritFrom({ before, siblings }: Heirs, estate: Estate): Promise<Hold | undefined> {
  // A hold that the earlier claim lacks may have been passed on since this claim was read.
  const continued = before && ((await passFromClaim(before, estate)) ?? (await wantedOf(estate.owner, estate))[0]);
  if (continued) return continued;
  for (const sibling of siblings) {
    const passed = await passFromPod(sibling, estate);
    if (passed !== undefined) return passed;
  }
  return undefined;
}

async function passFromClaim(uid: string, estate: Estate): Promise<Hold | undefined> {
  const { use, count, isGone, signal } = estate;
  const { part } = estate.owner;
  const { namespace } = use.owner;
  const claim: ClaimOwner = { kind: "claim", uid, namespace, name: "", ...(part && { part }) };
  const nic = nicOfIdentity(use.identity);
  const hold = (await wantedOf(claim, estate)).find(({ note }) => nicOfIdentity(note?.identity) === nic);
  if (hold === undefined || hold.owner.kind !== "claim") return undefined;
  const live = await count(hold.users ?? [], signal);
  const isGuests = live.some(({ vmiUid }) => vmiUid === use.vmiUid);
  return isGuests && (await isGone(hold.owner, signal)) ? passOn(estate, hold, hold.users) : undefined;
}

async function passFromPod({ uid, node }: Sibling, estate: Estate): Promise<Hold | undefined> {
  const { use, interfaceName, count, signal } = estate;
  const { part } = estate.owner;
  const { namespace } = use.owner;
  const pod: PodOwner = { kind: "pod", uid, namespace, name: "", interface: interfaceName, ...(part && { part }) };
  const [hold] = await wantedOf(pod, estate);
  if (hold === undefined) return undefined;
  const user = { uid, name: hold.owner.name, node };
  const [live] = await count([user], signal);
  return live?.vmiUid === use.vmiUid ? passOn(estate, hold, [user]) : undefined;
}

/** The owner's holds in the share's range, of the wanted address if any. */
async function wantedOf(owner: ClaimOwner | PodOwner, estate: Estate): Promise<readonly Hold[]> {
  const { ledger, domain, share, signal } = estate;
  const holds = await ledger.find(domain, ownerKey(owner), { signal });
  return holds.filter((hold) => {
    const isWanted = share.want.kind !== "given" || equal(share.want.address, hold.address);
    const isOwners = ownerKey(hold.owner) === ownerKey(owner) && hold.owner.namespace === owner.namespace;
    return isWanted && isOwners && contains(share.definition.prefix, hold.address);
  });
}
