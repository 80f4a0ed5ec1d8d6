// What a claim carries beside its fields: whose it is, by UID, which NIC of it, and what keeps it. docs/decisions/0014
// has the rules. Pure. Promised: `ownershipOf` never takes a claim for somebody's by its name. The owner's UID is
// recorded beside the owner reference, since garbage collection strips references (orphan deletion) and a restore from
// a backup brings them back with UIDs of another life.
import { holdfastGroup } from "../kind.ts";
import type { OwnedObject } from "../metadata.ts";
import { fitName, isLegalName, longestName } from "../name.ts";
import { kubevirtOwner } from "./kubevirt.ts";

/** Ours: while it is there, the address is kept. */
export const claimFinalizer = `${holdfastGroup}/persistent-ip`;
/** That of kubevirt/ipam-extensions. */
export const upstreamClaimFinalizer = "kubevirt.io/persistent-ipam";
/** Annotation: the UID of the VM, or of the VMI without a VM, that the claim is for. */
export const claimOwnerAnnotation = `${holdfastGroup}/claim-owner`;
/** Annotation: the name of the network in the VM's spec: which NIC of the owner. */
export const claimNicAnnotation = `${holdfastGroup}/claim-nic`;
/** Annotation: the VMI that runs, by UID: what is left where a VM is deleted and its VMI is not. */
export const claimInstanceAnnotation = `${holdfastGroup}/claim-instance`;
/** Annotation: the name of the VM, or of the VMI without one, never cut: a label has no room for every name. */
export const claimVmAnnotation = `${holdfastGroup}/claim-vm`;
/** Annotation: the UID of an earlier claim of the same owner and NIC, whose addresses this one continues. */
export const continuesAnnotation = `${holdfastGroup}/continues`;
/** Annotation: the UID of the owner in an earlier life, from which `holdfast adopt` took it over. */
export const adoptedFromAnnotation = `${holdfastGroup}/adopted-from`;
/** Annotation: addresses that were asked for by number, with commas. */
export const requestedAnnotation = `${holdfastGroup}/requested-ips`;
/** Label: the MAC, with dashes: 02-11-22-33-44-55. Two claims of one network never have the same. */
export const macLabelName = `${holdfastGroup}/mac`;
/** Label: the claim is made and kept by our reconciler. */
export const managedLabelName = `${holdfastGroup}/managed`;
/** Label of kubevirt/ipam-extensions, written by us too: the VM's name, where it fits into a label. */
export const vmLabelName = "kubevirt.io/vm";
/** Label of a VM, or of its template: "false" keeps it out; "true" lets it in where labels are demanded. */
export const persistenceLabelName = "allow-persistent-ips.k8s.cni.cncf.io";
/**
 * Annotation: why the marks of a claim are changed by hand; it counts in the request that writes it anew. One that
 * begins with `delete` says why the claim is deleted under its VM. Both need the right `override` on ipamclaims.
 */
export const overrideAnnotation = `${holdfastGroup}/override`;
/** Annotation of a namespace: how many claims it may have. */
export const maxClaimsAnnotation = `${holdfastGroup}/max-claims`;
/** Annotation of a namespace: so many addresses of its VMs may be freed though they seem to be gone all at once. */
export const massReleaseAnnotation = `${holdfastGroup}/allow-mass-release`;
/** Annotation of a VMI and of its pods: {"network": ["10.0.0.7"]}, addresses asked for by number. */
export const addressesAnnotation = "network.kubevirt.io/addresses";
/** Annotation of a pod on a primary user-defined network: its claim. */
export const primaryClaimAnnotation = "k8s.ovn.org/primary-udn-ipamclaim";

export const allocatedCondition = "IPsAllocated";
export const allocationReasons = {
  done: "SuccessfulAllocation",
  exhausted: "SubnetExhausted",
  addressConflict: "IPAddressConflict",
  macConflict: "MACAddressConflict",
  /** The third pod of an owner, or one of another owner. */
  inUse: "InUse",
  /** The addresses that are held are not in the network's ranges any more. */
  outOfRange: "OutOfRange",
  /** On a network with managed DHCP addresses are those of VMs' NICs: the NIC has none yet. */
  pending: "AddressPending",
  /** On such a network, and it is no NIC's of a VM. */
  noNic: "NoVirtualMachineNIC",
  other: "InternalError",
} as const;

/** Made and kept by our reconciler. */
export function isManagedClaim({ metadata }: OwnedObject): boolean {
  return metadata.labels?.[managedLabelName] === "true";
}

/** Made by kubevirt/ipam-extensions, by its finalizer or its label, and nothing says that it is ours. */
export function isForeign({ metadata }: OwnedObject): boolean {
  const { annotations = {}, labels = {}, finalizers = [] } = metadata;
  if (annotations[claimOwnerAnnotation] !== undefined || isManagedClaim({ metadata })) return false;
  return finalizers.includes(upstreamClaimFinalizer) || labels[vmLabelName] !== undefined;
}

export type ClaimOwnership =
  /** Of a VM, or of a VMI without one. `nic` is undefined where nothing is recorded: the claim's name says it then. */
  | { readonly kind: "owned"; readonly uid: string; readonly nic: string | undefined }
  /** Made by hand: of whoever refers to it. */
  | { readonly kind: "ownerless" };

/** The recorded UID decides; without one the reference to a VM or VMI does. */
export function ownershipOf({ metadata }: OwnedObject): ClaimOwnership {
  const { annotations = {}, ownerReferences } = metadata;
  const { [claimNicAnnotation]: nic, [claimOwnerAnnotation]: recorded } = annotations;
  const uid = recorded ?? kubevirtOwner(ownerReferences, "VirtualMachine", "VirtualMachineInstance")?.uid;
  return uid === undefined ? { kind: "ownerless" } : { kind: "owned", uid, nic };
}

/** What a claim is for, as the hold keeps it: equal for a claim made anew for the same NIC of the same owner. */
export function identityOf(ownerUid: string, nic: string): string {
  return `${ownerUid}/${nic}`;
}

/** The two parts of what `identityOf` made; empty where they are not there. A UID has no slash. */
export function ownerOfIdentity(identity = ""): string {
  return identity.includes("/") ? identity.slice(0, identity.indexOf("/")) : "";
}

export function nicOfIdentity(identity = ""): string {
  return identity.includes("/") ? identity.slice(identity.indexOf("/") + 1) : "";
}

/**
 * `<vm>.<network>`. Network names of KubeVirt have no dots, so the last dot parts the two, and no two pairs meet. A
 * name that the API server would refuse is made fit and gets a hash of both, so that still no two pairs meet.
 */
export function claimName(vm: string, network: string): string {
  const plain = `${vm}.${network}`;
  if (isLegalName(plain) && !network.includes(".")) return plain;
  return fitName(plain, `${vm}\n${network}`);
}

/** The name where `claimName` is taken by a claim of the same NIC whose definition was swapped under a running VM. */
export function swappedClaimName(vm: string, network: string, cniNetwork: string): string {
  return fitName(`${vm}.${network}`, `${vm}\n${network}\n${cniNetwork}`);
}

/** The name by kubevirt/ipam-extensions. Pairs may meet in one, so it only proposes; owner and network decide. */
export function upstreamClaimName(vm: string, network: string): string {
  return `${vm}.${network}`
    .toLowerCase()
    .split(/[^a-z0-9-]+/)
    .filter((part) => part !== "")
    .join(".")
    .slice(0, longestName);
}
