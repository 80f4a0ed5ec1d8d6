// What stands against persistent addresses in a cluster as a whole: kinds, definitions, and another system at the same work. Pure.
import type { Books } from "./books.ts";
import type { ClaimFinding } from "./finding.ts";
import { describeClaim } from "./move.ts";
import { isForeign } from "./takeover.ts";

export function examineSystems(books: Books): ClaimFinding[] {
  return [...noKind(books), ...refusedDefinitions(books), ...twoSystems(books), ...foreignClaims(books)];
}

function noKind({ snapshot, places }: Books): ClaimFinding[] {
  const allowed = [...places.persistence].filter(([, { isAllowed }]) => isAllowed).map(([key]) => key);
  if (snapshot.hasClaims || allowed.length === 0) return [];
  return [
    {
      code: "no-claim-kind",
      severity: "error",
      objects: allowed.map((key) => `NetworkAttachmentDefinition ${key}`),
      message: `allowPersistentIPs is set in ${listed(allowed)}, and the cluster does not have the kind IPAMClaim: no address stays with a VM.`,
      remedy: "kubectl apply -f deploy/holdfast.yaml, which brings it.",
    },
  ];
}

function refusedDefinitions({ places }: Books): ClaimFinding[] {
  return [...places.persistence].flatMap(([key, { problem, fault }]): ClaimFinding[] => {
    // A text that cannot be read at all asks for nothing.
    if (fault === undefined) return [];
    const objects = [`NetworkAttachmentDefinition ${key}`];
    const message = `${key} asks for persistent addresses, which it cannot have: ${problem}.`;
    const remedy = "Correct it as the sentence says. Claims that are there are kept.";
    return [{ code: "persistence-refused", severity: "warning", objects, message, remedy }];
  });
}

function twoSystems({ snapshot: { extensions, gate } }: Books): ClaimFinding[] {
  if (extensions.objects.length === 0) return [];
  const isOn = gate.gate === "on";
  return [
    {
      code: "two-systems",
      severity: isOn ? "error" : "warning",
      objects: extensions.objects,
      message: `kubevirt/ipam-extensions runs here too: ${extensions.why.join(" ")}${isOn ? " Both make claims for the same VMs." : ""}`,
      remedy:
        "Choose one. For ours: remove its webhook configuration and its Deployment, then holdfast claims takeover. For the other: holdfast controller --persistent-ips off.",
    },
  ];
}

function foreignClaims({ snapshot: { claims } }: Books): ClaimFinding[] {
  const foreign = claims.filter(isForeign);
  if (foreign.length === 0) return [];
  return [
    {
      code: "foreign-claims",
      severity: "warning",
      objects: foreign.map(describeClaim),
      message: `${foreign.length} ${foreign.length === 1 ? "claim is" : "claims are"} of kubevirt/ipam-extensions, and left alone here: their addresses are held by nobody.`,
      remedy: "holdfast claims takeover --dry-run says what would become of each; holdfast claims takeover does it.",
    },
  ];
}

/** Of many, the first. */
function listed(names: readonly string[]): string {
  const shown = 5;
  return names.length <= shown
    ? names.join(", ")
    : `${names.slice(0, shown).join(", ")} and ${names.length - shown} more`;
}
