// How a claim and its addresses go. Pure. Three rounds on purpose, each from the present state, so that the next leader
// finishes what another began: the claim is deleted; our finalizer falls when nothing has it, and with it the claim; an
// address is freed when its claim is gone, no living pod has it, no listed user may still run, and nobody will want it
// back (a living VM gets its claim anew). Before acting all of that is read again (facts.ts).
import { claimFinalizer } from "../../api/claims/claim-marks.ts";
import type { HoldUser } from "../../ipam/ledger.ts";
import {
  type AttachmentTarget,
  attachedPods,
  isDetached,
  isInUse,
  listedPods,
  looseTarget,
  targetOf,
} from "./attachment.ts";
import type { ClaimHold } from "./facts.ts";
import type { ClaimView, Family, LooseHold } from "./family.ts";
import { hasReplacement, heirOf, isIdentified, isOnNetwork } from "./hold-transfer.ts";
import { hasInstance, isStillInGuest } from "./owners.ts";
import { adoptionWords, fateOf, mayBeThere } from "./retention.ts";
import { isSpare } from "./status.ts";
import { claimEvent, ownerEvents, type ClaimStep } from "./steps.ts";

/** Rounds 1 and 2: the claim. */
export function endingSteps(view: ClaimView, family: Family): readonly ClaimStep[] {
  if (view.kind === "by-hand") return byHandSteps(view, family);
  const fate = fateOf(view, family);
  switch (fate.kind) {
    case "goes":
      if (!view.isDeleting) return [{ kind: "delete", claim: view.claim, why: fate.why }];
      return view.hasFinalizer ? [{ kind: "drop-finalizer", claim: view.claim, why: fate.why }] : [];
    case "restored": {
      const told = claimEvent(view, "ClaimOfAnotherLife", adoptionWords(view, family));
      return [told, { kind: "again", afterMs: fate.untilMs - family.facts.nowMs }];
    }
    case "stays":
      return view.isDeleting && view.kind === "owned" ? stayingEvents(view, family) : [];
    case "held":
      return [];
  }
}

/** Made by hand: it carries our finalizer while a pod has it, and no longer. */
function byHandSteps(view: ClaimView, family: Family): readonly ClaimStep[] {
  if (!view.hasFinalizer || isInUse(targetOf(view), family)) return [];
  return [{ kind: "drop-finalizer", claim: view.claim, why: "no pod uses it" }];
}

function stayingEvents(view: ClaimView, family: Family): readonly ClaimStep[] {
  const { life, name, ownerUid } = view;
  if (life === undefined) {
    const message =
      `it is being deleted, and the cluster does not serve VirtualMachines, so that nobody can say whether its owner ${ownerUid} lives: ` +
      `install KubeVirt; where it is gone for good, take the finalizer ${claimFinalizer} off the claim.`;
    return [claimEvent(view, "OwnerUnknown", message)];
  }
  if (life.phase !== "alive") return [];
  const message =
    `IPAMClaim ${name} is being deleted while ${life.kind} ${family.facts.name} lives: ` +
    "it keeps its addresses until that is deleted, or the interface is.";
  return [claimEvent(view, "ClaimDeleted", message), ...ownerEvents(family, life, "ClaimDeleted", message)];
}

/** Round 3: addresses whose claim is gone, those that a claim has twice, and users that are over. */
export function releasingSteps(family: Family): readonly ClaimStep[] {
  return [
    ...family.loose.flatMap((hold) => looseSteps(hold, family)),
    ...family.claims.filter(({ kind }) => kind !== "elsewhere").flatMap((view) => heldSteps(view, family)),
  ];
}

function looseSteps(loose: LooseHold, family: Family): readonly ClaimStep[] {
  const target = looseTarget(loose);
  // One change of a hold at a time: the next plan sees its new version.
  if (heirOf(loose, family) !== undefined) return [];
  // Pods of the owner have the address that replaced it, whatever NIC they have.
  const isHad = !hasReplacement(loose, family) && isInUse(target, family);
  const isFree = remainingUsers(loose.hold, target, family).length === 0 && !isHad;
  if (isFree && !isWanted(loose, family)) {
    const { owner } = loose.hold.hold;
    const why = `its claim ${owner.namespace}/${owner.name} (${owner.uid}) is gone, and nothing uses it`;
    return [{ kind: "release", hold: loose.hold, why }];
  }
  return usersSteps(loose.hold, target, family);
}

/** A claim will be made for it, or may be once its definition is known, or a guest that is about to end has it. */
function isWanted(loose: LooseHold, family: Family): boolean {
  const { hold, nic, life, identity } = loose;
  if (life === undefined) return identity !== "" && mayBeThere(family);
  if (hasReplacement(loose, family)) return false;
  if (life.phase !== "alive") return hasInstance(life);
  const nics = (family.wanted.get(life) ?? []).filter((each) => each.nic === nic);
  if (nics.length === 0) return isStillInGuest(life, nic);
  return nics.some(({ outcome, network = "" }) => outcome !== "no" && isOnNetwork(hold, network));
}

function heldSteps(view: ClaimView, family: Family): readonly ClaimStep[] {
  const target = targetOf(view);
  return view.holds.flatMap((hold): readonly ClaimStep[] => {
    if (!isIdentified(view, hold)) return [];
    if (!isSpare(hold, view)) return usersSteps(hold, target, family);
    const { owner, address } = hold.hold;
    const why = `IPAMClaim ${owner.namespace}/${owner.name} has another address than ${address} from the same pool`;
    // Every pod that has the claim is in the list of an address of it: none may have the one that has no list.
    const areListed = attachedPods(target, family).length === listedPods(view, family).length;
    return areListed ? [{ kind: "release", hold, why }] : [];
  });
}

function usersSteps(hold: ClaimHold, target: AttachmentTarget, family: Family): readonly ClaimStep[] {
  const users = remainingUsers(hold, target, family);
  return users.length === (hold.hold.users ?? []).length ? [] : [{ kind: "users", hold, users }];
}

function remainingUsers({ hold }: ClaimHold, target: AttachmentTarget, family: Family): readonly HoldUser[] {
  return (hold.users ?? []).filter((user) => !isOver(user, target, family));
}

/** Certainly, as in leak collection: a pod that ended or left the API may still run on an unreachable node. */
function isOver(user: HoldUser, target: AttachmentTarget, family: Family): boolean {
  // A list that cannot be read counts as one user whom nobody can ask for.
  if (user.uid === "") return false;
  const pod = family.facts.pods.find(({ uid }) => uid === user.uid);
  if (pod !== undefined && !pod.isOver) return isDetached(pod, target, family);
  const state = pod === undefined ? family.facts.userOf(user) : "over";
  if (state === "alive" || state === "unknown") return false;
  return family.facts.node(user.node) !== "unreachable";
}
