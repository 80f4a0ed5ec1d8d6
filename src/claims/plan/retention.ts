// Whether a claim is to stay, and if not, why. Pure. A claim goes when its owner is gone or going and nothing of it
// runs, or when a living owner lost the NIC. A missing definition, or a gate that is off, is no reason.
import { claimOwnerAnnotation } from "../../api/claims/claim-marks.ts";
import { isInUse, targetOf } from "./attachment.ts";
import type { ClaimView, Family } from "./family.ts";
import { hasInstance, type Life, isStillInGuest } from "./owners.ts";

export type Fate =
  | { readonly kind: "stays" }
  /** Recorded for an owner of another life, as a restore leaves it: it stays a while, so that it can be adopted. */
  | { readonly kind: "restored"; readonly untilMs: number }
  /** It is to go, and a pod still has it. */
  | { readonly kind: "held"; readonly why: string }
  | { readonly kind: "goes"; readonly why: string };

const stays: Fate = { kind: "stays" };

/** Time to type `holdfast adopt` after a restore. A VM of the same name waits meanwhile, and is told. */
export const restoredGraceMs = 10 * 60_000;
/** A restore writes the object first, its status with the addresses in a second request: we wait for the second. */
const statusGraceMs = 60_000;

export function fateOf(view: ClaimView, family: Family): Fate {
  if (view.kind !== "owned") return stays;
  const why = reasonToGo(view, family);
  if (why === undefined) return stays;
  const untilMs = view.life === undefined ? restoredUntilMs(view, family) : 0;
  if (untilMs > family.facts.nowMs) return { kind: "restored", untilMs };
  return isInUse(targetOf(view), family) ? { kind: "held", why } : { kind: "goes", why };
}

function reasonToGo(view: ClaimView, family: Family): string | undefined {
  const { life, ownerUid } = view;
  if (life === undefined) return mayBeThere(family) ? undefined : `its owner ${ownerUid} is gone`;
  if (life.phase === "alive") return reasonWithOwner(view, life, family);
  return hasInstance(life) ? undefined : `its owner ${life.uid} is being deleted, and nothing of it runs`;
}

/** Of an owner that is not seen. In a namespace that is being deleted nothing of it can be left. */
export function mayBeThere({ facts }: Family): boolean {
  return facts.areOwnersUnknown === true && facts.isTerminating !== true;
}

function reasonWithOwner(view: ClaimView, life: Life, family: Family): string | undefined {
  const { nic, network } = view;
  if (nic === "" || network === "") return undefined;
  const nics = (family.wanted.get(life) ?? []).filter((each) => each.nic === nic);
  if (nics.length === 0) {
    return isStillInGuest(life, nic) ? undefined : `the network ${nic} is gone from ${life.kind} ${family.facts.name}`;
  }
  if (nics.every((each) => each.network !== undefined && each.network !== network)) {
    return `${nic} is on another network now than ${network}`;
  }
  const kept = keptOf(view, family);
  return kept === view ? undefined : `${kept.name} is the claim for the same`;
}

/** Of several claims for one NIC on one network: one with addresses, not being deleted, the oldest. */
function keptOf(view: ClaimView, { claims }: Family): ClaimView {
  const same = claims.filter(
    (each) =>
      each.kind === "owned" && each.life === view.life && each.nic === view.nic && each.network === view.network,
  );
  return same.toSorted(
    (a, b) =>
      Number(b.holds.length > 0) - Number(a.holds.length > 0) ||
      Number(a.isDeleting) - Number(b.isDeleting) ||
      order(a.claim.metadata.creationTimestamp, b.claim.metadata.creationTimestamp) ||
      order(a.name, b.name),
  )[0]!;
}

function order(a = "", b = ""): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** 0: not restored. Holds of our claims have the identity; a restored claim has a new UID: no hold, or none with it. */
function restoredUntilMs({ claim, holds, network, isDeleting }: ClaimView, { facts }: Family): number {
  const { annotations = {}, creationTimestamp = "" } = claim.metadata;
  const isRecorded = annotations[claimOwnerAnnotation] !== undefined;
  if (isDeleting || !isRecorded || facts.giverOf(network) !== "holdfast") return 0;
  if (holds.some(({ hold }) => hold.note?.identity !== undefined)) return 0;
  const createdMs = Date.parse(creationTimestamp);
  return Number.isNaN(createdMs) ? 0 : Math.max(createdMs, facts.ownersSinceMs ?? 0) + graceOf(claim);
}

/** Claims that we made go with the owner they refer to: only a restore has a record without a reference. */
function graceOf({ metadata, status }: ClaimView["claim"]): number {
  if ((status?.ips ?? []).length > 0) return restoredGraceMs;
  return (metadata.ownerReferences ?? []).length === 0 ? statusGraceMs : 0;
}

export function adoptionWords({ ownerUid, claim }: ClaimView, { facts }: Family): string {
  if ((claim.status?.ips ?? []).length === 0) {
    return (
      `it is recorded for ${ownerUid}, which is not there, and its status shows no address. Restored from a backup? Restore its status too; ` +
      `else it is deleted ${statusGraceMs / 1000} seconds after it was made.`
    );
  }
  return (
    `it is recorded for ${ownerUid}, which is not there. Restored from a backup? ` +
    `\`holdfast adopt ${facts.namespace}/${facts.name} --from ${ownerUid}\` gives its addresses to the VM of that name; ` +
    `else it is deleted ${restoredGraceMs / 60_000} minutes after it was made.`
  );
}
