// Which VM names a claim may be of: how claims are sorted into families. Pure. A family is everything about one VM name
// in one namespace, written namespace/name. Promised: every claim has one home, which follows from the claim alone, and
// only its home's plan changes it. Not promised: that a VM of that name is its owner. UIDs decide that.
import type { OwnedObject } from "../metadata.ts";
import { claimVmAnnotation, ownershipOf, vmLabelName } from "./claim-marks.ts";

/** The reference to the recorded owner is sure; a name that we wrote down is next; the claim's own name is last. */
export function homeOf(claim: OwnedObject): string {
  const { annotations = {}, labels = {}, ownerReferences = [], name = "" } = claim.metadata;
  const ownership = ownershipOf(claim);
  const owner = ownership.kind === "owned" ? ownerReferences.find(({ uid }) => uid === ownership.uid) : undefined;
  const vm = owner?.name ?? annotations[claimVmAnnotation] ?? labels[vmLabelName] ?? vmNameIn(name);
  return `${claim.metadata.namespace ?? ""}/${vm}`;
}

/** For people; empty: made by hand. Of a claim that is gone only its name is known: those that we make have a dot. */
export function machineOf(claim: OwnedObject, isGone: boolean): string {
  const { namespace = "", name = "" } = claim.metadata;
  const isByHand = isGone ? !name.includes(".") : ownershipOf(claim).kind === "ownerless";
  return isByHand ? "" : homeOf(claim).slice(namespace.length + 1);
}

/** Its home first; then the VM whose name it takes. */
export function familyKeysOf(claim: OwnedObject): readonly string[] {
  const { namespace = "", name = "" } = claim.metadata;
  const home = homeOf(claim);
  const named = `${namespace}/${vmNameIn(name)}`;
  return home === named ? [home] : [home, named];
}

/** Of a hold whose claim is gone: the claim's name is all that is left of it. */
export function holdFamilyOf(owner: { readonly namespace: string; readonly name: string }): string {
  return `${owner.namespace}/${vmNameIn(owner.name)}`;
}

/** `<vm>.<network>`: a network's name has no dot. A name without one is of a claim made by hand, and its own family. */
function vmNameIn(claimName: string): string {
  const dot = claimName.lastIndexOf(".");
  return dot <= 0 ? claimName : claimName.slice(0, dot);
}
