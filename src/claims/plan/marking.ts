// What is to stand on a claim that is there: whose it is, which NIC, which VMI runs, our finalizer. Pure.
// Level-triggered: what a hand, a restore or an uninstall took off comes back. This is also how a claim follows its VMI to another owner.
import * as marks from "../../api/claims/claim-marks.ts";
import type { OwnerReference } from "../../kube/meta.ts";
import { isInUse, targetOf } from "./attachment.ts";
import type { ClaimView, Family } from "./family.ts";
import { annotationsOf, labelsOf, macMark, referenceOf, requestedMarks, requestedOf } from "./object.ts";
import type { Life } from "./owners.ts";
import { fateOf } from "./retention.ts";
import type { ClaimStep, MetadataPatch } from "./steps.ts";

export function markingSteps(view: ClaimView, family: Family): readonly ClaimStep[] {
  if (view.kind === "by-hand") return byHandSteps(view, family);
  const { life, kind, nic } = view;
  if (kind !== "owned" || life?.phase !== "alive" || nic === "" || fateOf(view, family).kind === "goes") return [];
  const labels = changed(view.claim.metadata.labels, {
    ...labelsOf(family.facts.name),
    ...macMark(life, nic),
  });
  const annotations = changed(view.claim.metadata.annotations, {
    ...annotationsOf(life, nic, family.facts.name),
    ...(view.holds.length === 0 && requestFor(life, nic)),
  });
  const ownerReferences = referencesOf(view, life, family);
  const metadata: MetadataPatch = {
    ...(labels !== undefined && { labels }),
    ...(annotations !== undefined && { annotations }),
    ...(ownerReferences !== undefined && { ownerReferences }),
    ...finalizerPatch(view),
  };
  const why = view.ownerUid === life.uid ? "what it records is not what is so" : `it follows its VMI to ${life.uid}`;
  return Object.keys(metadata).length === 0 ? [] : [{ kind: "mark", claim: view.claim, metadata, why }];
}

/** What the VM asks for now: a request that cannot be had would keep it from every address after it was withdrawn. */
function requestFor(life: Life, nic: string): Record<string, string | null> {
  if (requestedOf(life, nic).problem !== "") return {};
  return { [marks.requestedAnnotation]: null, ...requestedMarks(life, nic) };
}

function byHandSteps(view: ClaimView, family: Family): readonly ClaimStep[] {
  const metadata = finalizerPatch(view);
  if (Object.keys(metadata).length === 0 || !isInUse(targetOf(view), family)) return [];
  return [{ kind: "mark", claim: view.claim, metadata, why: "a pod uses it" }];
}

/** The API server lets nobody add one to an object that is being deleted. */
function finalizerPatch({ claim, hasFinalizer, isDeleting }: ClaimView): MetadataPatch {
  if (hasFinalizer || isDeleting) return {};
  return { finalizers: [...(claim.metadata.finalizers ?? []), marks.claimFinalizer] };
}

function referencesOf({ claim }: ClaimView, life: Life, { facts }: Family): readonly OwnerReference[] | undefined {
  const references = claim.metadata.ownerReferences ?? [];
  const isOwners = ({ apiVersion, kind }: OwnerReference): boolean =>
    apiVersion.startsWith("kubevirt.io/") && kind.startsWith("VirtualMachine");
  const owners = references.filter(isOwners);
  if (owners.length === 1 && owners[0]!.uid === life.uid) return undefined;
  const others = references.filter((each) => !isOwners(each));
  // An object has one controller at most.
  const controller = !others.some((each) => each.controller === true);
  return [...others, { ...referenceOf(life, facts.name), controller }];
}

/** Undefined where every key has its value; null in `wanted` wants it away. */
function changed(
  before: Readonly<Record<string, string>> = {},
  wanted: Readonly<Record<string, string | null>>,
): Record<string, string | null> | undefined {
  const entries = Object.entries(wanted).filter(([key, value]) => (before[key] ?? null) !== value);
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}
