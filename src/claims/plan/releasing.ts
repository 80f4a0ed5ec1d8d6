// Which addresses are free again, and which users of the others are over. Pure.
//
// An address is freed when its claim is gone, no pod that lives has it, nobody in its list may still run, and nobody will want it back: a
// claim is made anew for a VM that lives. Whoever acts on it reads all that again (facts.ts).
import { attachedPods, isInUse, looseTarget, targetOf } from "./attachment.ts";
import { isSpare } from "./doubles.ts";
import type { ClaimHold } from "./facts.ts";
import type { ClaimView, Family, LooseHold } from "./family.ts";
import { mayBeThere } from "./fate.ts";
import { hasInstance } from "./lives.ts";
import { hasReplacement, heirOf, isIdentified, isOnNetwork } from "./passing.ts";
import type { ClaimStep } from "./steps.ts";
import { remainingUsers, usersSteps } from "./users.ts";
import { isStillInGuest } from "./wanted.ts";

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
  return nics.some(({ verdict, network = "" }) => verdict !== "no" && isOnNetwork(hold, network));
}

function heldSteps(view: ClaimView, family: Family): readonly ClaimStep[] {
  const target = targetOf(view);
  return view.holds.flatMap((hold) => {
    if (!isIdentified(view, hold)) return [];
    if (!isSpare(hold, view)) return usersSteps(hold, target, family);
    return areListed(view, family) ? [spareStep(hold)] : [];
  });
}

/** Every pod that has the claim is in the list of an address of it: none may have the one that has no list. */
function areListed(view: ClaimView, family: Family): boolean {
  const listed = new Set(view.holds.flatMap(({ hold }) => hold.users ?? []).map(({ uid }) => uid));
  return attachedPods(targetOf(view), family).every(({ uid }) => listed.has(uid));
}

function spareStep(hold: ClaimHold): ClaimStep {
  const { owner, address } = hold.hold;
  const why = `IPAMClaim ${owner.namespace}/${owner.name} has another address than ${address} from the same pool`;
  return { kind: "release", hold, why };
}
