// What is said where the name of a wanted claim is another's. Pure.
import { ownerEvents } from "./event.ts";
import type { ClaimView, Family } from "./family.ts";
import { fateOf, restoredGraceMs, statusGraceMs } from "./fate.ts";
import type { Life } from "./lives.ts";
import type { ClaimStep } from "./steps.ts";

/** The one that was wanted is made when this one is gone: its going is seen. */
export function obstacleSteps(obstacle: ClaimView, life: Life, family: Family): readonly ClaimStep[] {
  const what = `IPAMClaim ${family.facts.namespace}/${obstacle.name}`;
  return ownerEvents(family, life, "Warning", "ClaimNameTaken", `${what} ${wordsOf(obstacle, family)}`);
}

function wordsOf(obstacle: ClaimView, family: Family): string {
  const { namespace } = family.facts;
  switch (obstacle.kind) {
    case "theirs":
      return (
        "is of kubevirt/ipam-extensions, and is neither used nor finished here: run " +
        `\`holdfast claims takeover -n ${namespace}\`, or delete it.`
      );
    case "by-hand":
      return "was made by hand and has no owner; it is not taken for this VM's by its name: delete it, or give it another name.";
    case "unreadable":
      return (
        "does not say whose it is (its annotation is empty): correct it, or " +
        `\`kubectl delete ipamclaim -n ${namespace} ${obstacle.name}\`.`
      );
    case "owned":
    case "elsewhere":
      return wordsOfOwned(obstacle, family);
  }
}

function wordsOfOwned(obstacle: ClaimView, family: Family): string {
  const { ownerUid, isDeleting, hasFinalizer, claim } = obstacle;
  if (isDeleting && !hasFinalizer) {
    return `is being deleted and waits for the finalizers of others: ${(claim.metadata.finalizers ?? []).join(", ")}.`;
  }
  if (fateOf(obstacle, family).fate === "restored") return `is of another life: ${adoptionWords(obstacle, family)}`;
  return `is still that of ${ownerUid}, an earlier owner of this name; it is waited for.`;
}

/** Of a claim that a backup brought back. */
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
