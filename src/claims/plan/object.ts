// A claim as we make it, and what must stand on an existing one: owner, NIC, running VMI, our finalizer. Pure. Marks
// that a hand, a restore or an uninstall took come back (level-triggered); so a claim follows its VMI to another owner.
import * as marks from "../../api/claims/claim-marks.ts";
import { hashedInterfaceName, macOf, type VmiSpec } from "../../api/claims/kubevirt.ts";
import { readRequested, type Requested } from "../../api/claims/requested-addresses.ts";
import type { StoredClaim } from "../../cluster/resources.ts";
import type { OwnerReference } from "../../kube/meta.ts";
import { isMac } from "../../net/mac.ts";
import { isInUse, targetOf } from "./attachment.ts";
import type { Family, ClaimView } from "./family.ts";
import type { Life, WantedNic } from "./owners.ts";
import { fateOf } from "./retention.ts";
import type { ClaimStep, MetadataPatch } from "./steps.ts";

/** `continues`: UID of a claim. */
export function draftOf(
  life: Life,
  { nic, network = "", definition }: WantedNic,
  { facts }: Family,
  { name, continues }: { readonly name: string; readonly continues: string | undefined },
): StoredClaim {
  return {
    apiVersion: "k8s.cni.cncf.io/v1alpha1",
    kind: "IPAMClaim",
    metadata: {
      name,
      namespace: facts.namespace,
      labels: { ...labelsOf(facts.name), ...macMark(life, nic) },
      annotations: {
        ...annotationsOf(life, nic, facts.name),
        ...(continues !== undefined && { [marks.continuesAnnotation]: continues }),
        ...requestedMarks(life, nic),
      },
      finalizers: [marks.claimFinalizer],
      ownerReferences: [referenceOf(life, facts.name)],
    },
    // The pod network's interface is the runtime's to name.
    spec: { network, interface: definition === undefined ? "" : hashedInterfaceName(nic) },
  };
}

/** Labels that every claim of ours has. A VM's name that does not fit into a label stands in an annotation alone. */
export function labelsOf(vm: string): Record<string, string> {
  return { [marks.managedLabelName]: "true", ...(vm.length <= longestLabel && { [marks.vmLabelName]: vm }) };
}

const longestLabel = 63;

export function annotationsOf(life: Life, nic: string, vm: string): Record<string, string> {
  const instance = life.vmi?.metadata.uid;
  return {
    [marks.claimOwnerAnnotation]: life.uid,
    [marks.claimNicAnnotation]: nic,
    [marks.claimVmAnnotation]: vm,
    ...(instance !== undefined && { [marks.claimInstanceAnnotation]: instance }),
  };
}

/** The running VMI's word comes first: that is what its pods carry. */
export function requestedOf({ vm, vmi }: Life, nic: string): Requested {
  const own = vmi?.metadata.annotations?.[marks.addressesAnnotation];
  return readRequested(own ?? vm?.spec?.template?.metadata?.annotations?.[marks.addressesAnnotation], nic);
}

/** Empty where no addresses are asked for by number. */
function requestedMarks(life: Life, nic: string): Record<string, string> {
  const { addresses } = requestedOf(life, nic);
  return addresses.length === 0 ? {} : { [marks.requestedAnnotation]: addresses.join(",") };
}

/** By the standard: garbage collection takes the claim with its owner; a foreground deletion waits for it. */
export function referenceOf({ uid, kind }: Life, name: string): OwnerReference {
  return { apiVersion: "kubevirt.io/v1", kind, name, uid, controller: true, blockOwnerDeletion: true };
}

/** The MAC as a label, for people (holds decide): of the VM's spec, the VMI's, its status. Empty: unknown, it stays. */
function macMark({ vm, vmi }: Life, nic: string): Record<string, string> {
  const reported = vmi?.status?.interfaces?.find(({ name }) => name === nic)?.mac;
  const mac = specified(vm?.spec?.template?.spec, nic) ?? specified(vmi?.spec, nic) ?? reported?.toLowerCase();
  return mac !== undefined && isMac(mac) ? { [marks.macLabelName]: mac.replaceAll(":", "-") } : {};
}

function specified(spec: VmiSpec | undefined, nic: string): string | undefined {
  return spec === undefined ? undefined : macOf(nic, spec);
}

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
