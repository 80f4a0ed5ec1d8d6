// A VM that started without a claim (the gate was off, the network did not allow it yet) runs in a pod that holds its address itself. The claim
// comes later, and has none; a migration brings the guest, and the guest brings its address along. So the claim takes it over from that pod: a
// new one would leave the guest with an address that is freed when the pod ends, and given to another.
//
// The same with a claim that is gone while its guest runs (taken away by force, its VM deleted without the VMI): the leader makes another, which says
// which one it continues, and a migration may come before the leader has passed the address on. The hold has the identity of a VM that nobody
// knows any more; that a pod of this VMI is at it is the proof.
//
// Promised: only from a pod that lives, in the claim's namespace, of the same VMI by its own word and not only by the VMI's. Not promised: what a
// node's slice gave; that cannot be passed on.
import { continuesAnnotation, nicOfIdentity } from "../../api/claim-marks.ts";
import type { AmendableLedger, Domain, Hold } from "../../ipam/ledger.ts";
import { type ClaimOwner, ownerKey, type PodOwner, sameOwner } from "../../ipam/owner.ts";
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
  /** The claim is not there any more, by its UID, as the API server says now. */
  readonly isGone: (claim: ClaimOwner, signal: AbortSignal) => Promise<boolean>;
  readonly signal: AbortSignal;
}

/** Whom a claim without an address may have one from. */
export interface Heirs {
  /** UID of the claim that it continues. */
  readonly before: string | undefined;
  readonly siblings: readonly Sibling[];
}

/** Undefined: from nobody; most claims have an address, or no other pod. */
export function heirsOf(
  { range, recorded }: Share,
  { identity, claim, siblings = [], vmiUid }: ClaimUse,
): Heirs | undefined {
  const { annotations, deletionTimestamp } = claim.metadata;
  const isNew = recorded === undefined && deletionTimestamp === undefined;
  if (range === undefined || !isNew || identity === undefined || vmiUid === undefined) return undefined;
  const before = annotations?.[continuesAnnotation] || undefined;
  return before === undefined && siblings.length === 0 ? undefined : { before, siblings };
}

export async function inheritFrom({ before, siblings }: Heirs, estate: Estate): Promise<Hold | undefined> {
  const continued = before === undefined ? undefined : await continueClaim(before, estate);
  if (continued !== undefined) return continued;
  for (const sibling of siblings) {
    const passed = await passFromPod(sibling, estate);
    if (passed !== undefined) return passed;
  }
  return undefined;
}

/** What the one before has not any more, the leader may have passed on since this claim was looked at. */
async function continueClaim(uid: string, estate: Estate): Promise<Hold | undefined> {
  const { owner } = estate.share;
  const passed = await passFromClaim(uid, estate);
  return passed ?? (owner.kind === "claim" ? (await wantedOf(owner, estate))[0] : undefined);
}

async function passFromClaim(uid: string, estate: Estate): Promise<Hold | undefined> {
  const { share, use, count, isGone, signal } = estate;
  const { part } = share.owner;
  const { namespace } = use.owner;
  const claim: ClaimOwner = { kind: "claim", uid, namespace, name: "", ...(part && { part }) };
  const nic = nicOfIdentity(use.identity);
  const hold = (await wantedOf(claim, estate)).find(({ note }) => nicOfIdentity(note?.identity) === nic);
  if (hold === undefined || hold.owner.kind !== "claim") return undefined;
  const live = await count(hold.users ?? [], signal);
  const isGuests = live.some(({ vmiUid }) => vmiUid === use.vmiUid);
  return isGuests && (await isGone(hold.owner, signal)) ? pass(hold, hold.users, estate) : undefined;
}

async function passFromPod({ uid, node }: Sibling, estate: Estate): Promise<Hold | undefined> {
  const { share, use, interfaceName, count, signal } = estate;
  const { part } = share.owner;
  const { namespace } = use.owner;
  const pod: PodOwner = { kind: "pod", uid, namespace, name: "", interface: interfaceName, ...(part && { part }) };
  const [hold] = await wantedOf(pod, estate);
  if (hold === undefined) return undefined;
  const user = { uid, name: hold.owner.name, node };
  const [live] = await count([user], signal);
  return live?.vmiUid === use.vmiUid ? pass(hold, [user], estate) : undefined;
}

/** What the owner holds of the share's range, of what was asked for. */
async function wantedOf(owner: ClaimOwner | PodOwner, estate: Estate): Promise<readonly Hold[]> {
  const { ledger, domain, share, signal } = estate;
  const holds = await ledger.find(domain, ownerKey(owner), { signal });
  return holds.filter((hold) => {
    const isWanted = share.want.kind !== "given" || equal(share.want.address, hold.address);
    const isOwners = ownerKey(hold.owner) === ownerKey(owner) && hold.owner.namespace === owner.namespace;
    return isWanted && isOwners && contains(share.definition.prefix, hold.address);
  });
}

async function pass(hold: Hold, users: Hold["users"], estate: Estate): Promise<Hold | undefined> {
  const { ledger, share, use, signal } = estate;
  const { domain, address, owner, version } = hold;
  if (share.owner.kind !== "claim") return undefined;
  const note = { ...hold.note, ...(use.identity !== undefined && { identity: use.identity }) };
  const request = { domain, address, owner: ownerKey(owner), version, to: share.owner, ...(users && { users }), note };
  const outcome = await amendSurely(ledger, request, signal);
  if (outcome.outcome === "gone") return undefined;
  if (outcome.outcome === "amended" || sameOwner(outcome.hold.owner, share.owner)) return outcome.hold;
  throw lostMeanwhile(use, address);
}
