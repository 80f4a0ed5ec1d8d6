// Which claims are to be made, and what stands in the way. Pure. Promised: a claim is not the wanted one by its name.
// One of an owner that is gone is waited for (ending.ts ends it); one that we may not end is told, with the remedy.
import { claimName, swappedClaimName } from "../../api/claims/claim-marks.ts";
import type { ClaimView, Family } from "./family.ts";
import { continuedBy } from "./hold-transfer.ts";
import { draftOf, requestedOf } from "./object.ts";
import { type Life, firstOfEach, type WantedNic } from "./owners.ts";
import { adoptionWords, fateOf } from "./retention.ts";
import { ownerEvents, type ClaimStep } from "./steps.ts";

/** The quota may rise without a word to this family. */
const quotaAgainMs = 60_000;

export function creatingSteps(family: Family): readonly ClaimStep[] {
  const { lives, facts } = family;
  // The VM before a VMI that it does not have yet: it will adopt it, and what that has follows.
  const life = lives.find(({ phase }) => phase === "alive");
  if (life === undefined || facts.isTerminating === true) return [];
  const nics = family.wanted.get(life) ?? [];
  const missing = firstOfEach(nics, ({ nic, network = "" }) => `${nic} ${network}`).filter(
    (each) => each.outcome === "yes" && !isProvided(life, each, family),
  );
  const steps = missing.flatMap((each, index) => creationOf(life, each, missing.slice(0, index), family));
  return [...withinQuota(steps, life, family), ...problemSteps(life, nics, family)];
}

/** A claim with an unreadable spec counts; so does what follows once a VMI is adopted: two would be one too many. */
function isProvided(life: Life, { nic, network }: WantedNic, { claims, loose }: Family): boolean {
  const same = claims.filter((each) => each.kind === "owned" && each.life !== undefined && each.nic === nic);
  const isLeft = loose.some((each) => each.life !== undefined && each.life !== life && each.nic === nic);
  return isLeft || same.some((each) => each.network === network || each.network === "");
}

function creationOf(life: Life, wanted: WantedNic, before: readonly WantedNic[], family: Family): readonly ClaimStep[] {
  const { facts, claims } = family;
  const { nic, network = "" } = wanted;
  const plain = claimName(facts.name, nic);
  const first = claims.find(({ name }) => name === plain);
  const isTaken = before.some((each) => each.nic === nic) || (first !== undefined && isPassedBy(first, life));
  const name = isTaken ? swappedClaimName(facts.name, nic, network) : plain;
  const obstacle = claims.find((each) => each.name === name);
  if (obstacle !== undefined) {
    // The one that is wanted is made when this one is gone: its going is seen.
    const what = `IPAMClaim ${facts.namespace}/${name}`;
    return ownerEvents(family, life, "ClaimNameTaken", `${what} ${wordsOf(obstacle, family)}`);
  }
  const claim = draftOf(life, wanted, family, { name, continues: continuedBy(life, wanted, family) });
  const isDoubtful = claims.some((each) => each.nic === nic && each.network === network && !each.isDeleting);
  return [{ kind: "create", claim, ...(isDoubtful && { isDoubtful }) }];
}

/** The plain name is rightly taken: by this NIC's former network or another family. Daemons look for both names. */
function isPassedBy({ kind, life }: ClaimView, mine: Life): boolean {
  return kind === "elsewhere" || (kind === "owned" && life === mine);
}

function withinQuota(steps: readonly ClaimStep[], life: Life, family: Family): readonly ClaimStep[] {
  const { claimsLeft = Number.POSITIVE_INFINITY, namespace } = family.facts;
  const creations = steps.filter(({ kind }) => kind === "create");
  if (creations.length <= claimsLeft) return steps;
  const allowed = new Set(creations.slice(0, claimsLeft));
  const message =
    `${creations.length - claimsLeft} of the persistent addresses wait: namespace ${namespace} has as many IPAMClaims as it may have. ` +
    "Delete VMs or claims there, or raise the limit.";
  return [
    ...steps.filter((each) => each.kind !== "create" || allowed.has(each)),
    ...ownerEvents(family, life, "ClaimQuota", message),
    { kind: "again", afterMs: quotaAgainMs },
  ];
}

/** Networks that ask for what cannot be, and an annotation that nobody can read: the rest goes on. */
function problemSteps(life: Life, nics: readonly WantedNic[], family: Family): readonly ClaimStep[] {
  if (family.facts.gate.gate !== "on") return [];
  const words = nics.flatMap(({ nic, definition = "", problem }) => [
    problem && `the network ${nic} (${definition}) gets no persistent address: ${problem}.`,
    requestedOf(life, nic).problem,
  ]);
  const said = new Set(words.filter((each) => each !== ""));
  return [...said].flatMap((message) => ownerEvents(family, life, "NoPersistentAddress", message));
}

function wordsOf(obstacle: ClaimView, family: Family): string {
  const { namespace } = family.facts;
  const { kind, name, ownerUid, isDeleting, hasFinalizer, claim } = obstacle;
  if (kind === "theirs") {
    const takeover = `\`holdfast claims takeover -n ${namespace}\``;
    return `is of kubevirt/ipam-extensions, and is neither used nor finished here: run ${takeover}, or delete it.`;
  }
  if (kind === "by-hand") {
    return "was made by hand and has no owner; it is not taken for this VM's by its name: delete it, or give it another name.";
  }
  if (kind === "unreadable") {
    const remedy = `correct it, or \`kubectl delete ipamclaim -n ${namespace} ${name}\``;
    return `does not say whose it is (its annotation is empty): ${remedy}.`;
  }
  if (isDeleting && !hasFinalizer) {
    return `is being deleted and waits for the finalizers of others: ${(claim.metadata.finalizers ?? []).join(", ")}.`;
  }
  if (fateOf(obstacle, family).kind === "restored") return `is of another life: ${adoptionWords(obstacle, family)}`;
  return `is still that of ${ownerUid}, an earlier owner of this name; it is waited for.`;
}
