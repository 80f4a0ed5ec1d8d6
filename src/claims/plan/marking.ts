// What is to stand on a claim that is there: whose it is, which NIC, which VMI runs, our finalizer. Pure.
//
// Level-triggered: what a hand, a restore or an uninstall took off comes back. This is also how a claim follows its VMI to another owner.
import * as marks from "../../api/claim-marks.ts";
import type { OwnerReference } from "../../kube/meta.ts";
import { isInUse, targetOf } from "./attachment.ts";
import { ownerEvents } from "./event.ts";
import type { ClaimView, Family } from "./family.ts";
import { fateOf } from "./fate.ts";
import type { Life } from "./lives.ts";
import { macLabelOf } from "./mac.ts";
import { annotationsOf, labelsOf, referenceOf, requestedMarks } from "./object.ts";
import { requestedOf } from "./requested.ts";
import type { ClaimStep, MetadataPatch } from "./steps.ts";

/** Another family's claim may have the MAC, and nothing tells this one when it goes. */
const macAgainMs = 60_000;

export function markingSteps(view: ClaimView, family: Family): readonly ClaimStep[] {
  if (view.kind === "by-hand") return byHandSteps(view, family);
  const { life, kind, nic } = view;
  if (kind !== "owned" || life?.phase !== "alive" || nic === "" || fateOf(view, family).fate === "goes") return [];
  const labels = changed(view.claim.metadata.labels, {
    ...labelsOf(family.facts.name),
    ...macLabel(view, life, family),
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
  const mark: readonly ClaimStep[] =
    Object.keys(metadata).length === 0 ? [] : [{ kind: "mark", claim: view.claim, metadata, why }];
  return [...mark, ...macSteps(view, life, family)];
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

/** Of two claims with one MAC on one network the older has it. */
function macLabel(view: ClaimView, life: Life, family: Family): Record<string, string | null> {
  const mac = macLabelOf(life, view.nic);
  if (mac === undefined) return {};
  return { [marks.macLabelName]: isMacOfAnother(view, mac, family) ? null : mac };
}

function isMacOfAnother({ network, uid }: ClaimView, mac: string, { facts }: Family): boolean {
  const holder = facts.macHolder?.(network, mac);
  return holder !== undefined && holder.metadata.uid !== uid;
}

function macSteps(view: ClaimView, life: Life, family: Family): readonly ClaimStep[] {
  const mac = macLabelOf(life, view.nic);
  if (mac === undefined || !isMacOfAnother(view, mac, family)) return [];
  const { namespace = "", name = "" } = family.facts.macHolder?.(view.network, mac)?.metadata ?? {};
  const message =
    `the MAC ${mac.replaceAll("-", ":")} of ${view.nic} is that of IPAMClaim ${namespace}/${name} on the network ${view.network}: ` +
    "its pods are refused; give one of the two another MAC.";
  return [
    ...ownerEvents(family, life, "Warning", marks.allocationReasons.macConflict, message),
    { kind: "again", afterMs: macAgainMs },
  ];
}
