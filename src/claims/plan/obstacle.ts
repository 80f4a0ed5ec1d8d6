// What is said where the name of a wanted claim is another's. Pure.
import { ownerEvents } from "./event.ts";
import type { ClaimView, Family } from "./family.ts";
import type { Life } from "./lives.ts";
import type { ClaimStep } from "./steps.ts";

/** The one that was wanted is made when this one is gone: its going is seen. */
export function obstacleSteps(obstacle: ClaimView, life: Life, family: Family): readonly ClaimStep[] {
  const what = `IPAMClaim ${family.facts.namespace}/${obstacle.name}`;
  return ownerEvents(family, life, "Warning", "ClaimNameTaken", `${what} ${wordsOf(obstacle, family)}`);
}

function wordsOf({ kind, ownerUid, isDeleting, hasFinalizer, claim, name }: ClaimView, { facts }: Family): string {
  const { namespace } = facts;
  switch (kind) {
    case "theirs":
      return (
        "is of kubevirt/ipam-extensions, and is neither used nor finished here: run " +
        `\`holdfast claims takeover -n ${namespace}\`, or delete it.`
      );
    case "by-hand":
      return "was made by hand and has no owner; it is not taken for this VM's by its name: delete it, or give it another name.";
    case "unreadable":
      return `does not say whose it is (its annotation is empty): correct it, or \`kubectl delete ipamclaim -n ${namespace} ${name}\`.`;
    case "owned":
    case "elsewhere": {
      if (isDeleting && !hasFinalizer) {
        return `is being deleted and waits for the finalizers of others: ${(claim.metadata.finalizers ?? []).join(", ")}.`;
      }
      return `is still that of ${ownerUid}, an earlier owner of this name; it is waited for.`;
    }
  }
}
