// Whose a VMI is, which claims are its, and which NICs it has. Pure.
import type { OwnedObject } from "../metadata.ts";
import { claimInstanceAnnotation, ownershipOf } from "./claim-marks.ts";
import { kubevirtOwner, type VirtualMachineInstance, type VmiSpec } from "./kubevirt.ts";

/** The object as it comes from a cache, or from a test. */
type Readonlys<T> = T extends (infer Item)[]
  ? readonly Readonlys<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: Readonlys<T[Key]> }
    : T;
type Vmi = Readonlys<VirtualMachineInstance>;

/** The UID of its VM, else its own: the owner of its claims. Undefined: it has not been stored yet. */
export function ownerUidOf({ metadata: { ownerReferences, uid } }: Vmi): string | undefined {
  return kubevirtOwner(ownerReferences, "VirtualMachine")?.uid ?? uid;
}

/** Of this VMI, or of its VM, by UID; also where its VM was deleted without it, or another has taken it over. */
export function isClaimOf(claim: OwnedObject, vmi: Vmi): boolean {
  const ownership = ownershipOf(claim);
  const { uid } = vmi.metadata;
  if (ownership.kind === "ownerless" || uid === undefined) return false;
  const instance = claim.metadata.annotations?.[claimInstanceAnnotation];
  return ownership.uid === ownerUidOf(vmi) || ownership.uid === uid || instance === uid;
}

/** It has the network, and nobody asks to unplug it. */
export function hasNic(spec: Readonlys<VmiSpec> | undefined, nic: string): boolean {
  if (!(spec?.networks ?? []).some(({ name }) => name === nic)) return false;
  return !(spec?.domain?.devices?.interfaces ?? []).some(({ name, state }) => name === nic && state === "absent");
}
