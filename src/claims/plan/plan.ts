// What is to be done about one family now. Pure; level-triggered: from any state, whatever was seen or missed before.
// Promised: a bad object is an event, and the rest goes on; a settled family gets nothing but events and `again`.
import { creatingSteps } from "./creating.ts";
import { endingSteps, releasingSteps } from "./ending.ts";
import type { FamilyFacts, LauncherPod } from "./facts.ts";
import { type ClaimView, type Family, familyOf } from "./family.ts";
import { passingSteps } from "./hold-transfer.ts";
import { markingSteps } from "./object.ts";
import { statusSteps } from "./status.ts";
import { claimEvent, type ClaimStep } from "./steps.ts";
import { takingSteps } from "./taking.ts";

/** In the best order: steps that protect an address come before steps that let one go. */
export function planFamily(facts: FamilyFacts): readonly ClaimStep[] {
  const family = familyOf(facts);
  const each = (plan: (view: ClaimView, family: Family) => readonly ClaimStep[]): readonly ClaimStep[] =>
    family.claims.flatMap((view) => plan(view, family));
  return soonestAgain([
    ...each(markingSteps),
    ...passingSteps(family),
    ...each(takingSteps),
    ...creatingSteps(family),
    ...each(statusSteps),
    ...each(endingSteps),
    ...releasingSteps(family),
    ...each(unreadableSteps),
    ...facts.pods.flatMap(podSteps),
  ]);
}

function unreadableSteps(view: ClaimView): readonly ClaimStep[] {
  if (view.kind === "elsewhere") return [];
  if (view.kind === "unreadable") {
    const message = `its annotation for the owner is empty: nobody can say whose it is. Delete IPAMClaim ${view.name}, or correct it.`;
    return [claimEvent(view, "UnreadableClaim", message)];
  }
  if (view.network !== "") return [];
  const message = `it has no spec.network, so no network takes an address for it. Delete IPAMClaim ${view.name}; it is made anew where a VM needs it.`;
  return [claimEvent(view, "UnreadableClaim", message)];
}

function podSteps({ name, uid, problem, isOver }: LauncherPod): readonly ClaimStep[] {
  if (problem === undefined || isOver) return [];
  return [{ kind: "event", on: "pod", name, uid, reason: "UnreadableNetworks", message: problem }];
}

function soonestAgain(steps: readonly ClaimStep[]): readonly ClaimStep[] {
  const waits = steps.flatMap((step) => (step.kind === "again" ? [step.afterMs] : []));
  const rest = steps.filter(({ kind }) => kind !== "again");
  return waits.length === 0 ? rest : [...rest, { kind: "again", afterMs: Math.min(...waits) }];
}
