// How a claim goes: deleted, and let go of when nothing has it. Pure.
//
// Two steps on purpose: a claim whose deletion is on record is finished by whoever leads next. Our finalizer falls last, and with it the
// claim; its addresses are another matter (releasing.ts).
import { claimFinalizer } from "../../api/claim-marks.ts";
import { isInUse, targetOf } from "./attachment.ts";
import { claimEvent, ownerEvents } from "./event.ts";
import type { ClaimView, Family } from "./family.ts";
import { fateOf } from "./fate.ts";
import { adoptionWords } from "./obstacle.ts";
import type { ClaimStep } from "./steps.ts";

export function endingSteps(view: ClaimView, family: Family): readonly ClaimStep[] {
  if (view.kind === "by-hand") return byHandSteps(view, family);
  const fate = fateOf(view, family);
  switch (fate.fate) {
    case "goes":
      if (!view.isDeleting) return [{ kind: "delete", claim: view.claim, why: fate.why }];
      return view.hasFinalizer ? [{ kind: "drop-finalizer", claim: view.claim, why: fate.why }] : [];
    case "restored":
      return [...restoredEvents(view, family), { kind: "again", afterMs: fate.untilMs - family.facts.nowMs }];
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
  if (view.life === undefined) return [claimEvent(view, "Warning", "OwnerUnknown", unknownWords(view))];
  return view.life.phase === "alive" ? keptEvents(view, family) : [];
}

function unknownWords({ ownerUid }: ClaimView): string {
  return (
    `it is being deleted, and the cluster does not serve VirtualMachines, so that nobody can say whether its owner ${ownerUid} lives: ` +
    `install KubeVirt; where it is gone for good, take the finalizer ${claimFinalizer} off the claim.`
  );
}

function keptEvents(view: ClaimView, family: Family): readonly ClaimStep[] {
  const message =
    `IPAMClaim ${view.name} is being deleted while ${view.life?.kind ?? "its owner"} ${family.facts.name} lives: ` +
    "it keeps its addresses until that is deleted, or the interface is.";
  return [
    claimEvent(view, "Warning", "ClaimDeleted", message),
    ...ownerEvents(family, view.life, "Warning", "ClaimDeleted", message),
  ];
}

function restoredEvents(view: ClaimView, family: Family): readonly ClaimStep[] {
  return [claimEvent(view, "Warning", "ClaimOfAnotherLife", adoptionWords(view, family))];
}
