// The facts about one family: everything about one VM name in one namespace. Values only; src/claims gathers them.
// Pure. Promised by the gatherer: each list is of an informer that has listed, or from the server; else nothing is
// planned. Facts may be old and of different ages. A final step is therefore planned again from facts read from the
// server (`isFinal`, `confirmed` in steps.ts), in this order: VM, VMI, claims, then pods (the family's, and each user
// of the holds by name). A claim that was gone before the pods were listed meets no later pod: docs/decisions/0014.
import type { VirtualMachine, VirtualMachineInstance } from "../../api/claims/kubevirt.ts";
import type { ClaimsState } from "../../cluster/claims-state.ts";
import type { Standing } from "../../cluster/fencing.ts";
import type { RecordedHold } from "../../cluster/recorded-hold.ts";
import type { StoredClaim } from "../../cluster/resources.ts";
import type { Persistence } from "../../cni/config/persistence.ts";
import type { HoldUser } from "../../ipam/ledger.ts";

export interface LauncherNic {
  /** The network's name in the VM's spec, by `nicOf`; undefined where it cannot be told. */
  readonly nic: string | undefined;
  readonly interfaceName: string;
  /** namespace/name of the definition, by element or status: tells a NIC's two networks apart during a swap. */
  readonly definition?: string;
  /** `ipam-claim-reference`. */
  readonly claim?: string;
}

/** A launcher pod; for a claim made by hand, any pod that refers to it. */
export interface LauncherPod {
  readonly uid: string;
  readonly name: string;
  /** Empty: not bound yet. */
  readonly node: string;
  /** Controller owner reference, else label kubevirt.io/created-by; empty for a pod that is no launcher. */
  readonly vmiUid: string;
  /** Succeeded or Failed. */
  readonly isOver: boolean;
  /** An interface that the networks annotation or network-status lists; twice where their definitions differ. */
  readonly nics: readonly LauncherNic[];
  /** The runtime wrote network-status. Before, an ADD may run for an interface that the annotation lists no more. */
  readonly hasStatus: boolean;
  /** Why its annotation cannot be read, in a sentence: such a pod may be attached to anything. */
  readonly problem?: string;
}

/** With what the definitions of its network say of it. */
export interface ClaimHold extends RecordedHold {
  /** Names in CNI configurations: its claim's, or all that it may be of. Empty: not known. */
  readonly networks: readonly string[];
  /** The length of its network: 24. Undefined where no definition tells. */
  readonly prefixLength?: number;
  /** No range of its network has it any more; undefined where no definition tells. */
  readonly isOutOfRange?: boolean;
}

export interface FamilyFacts {
  readonly namespace: string;
  /** Of the VM, and of its VMI. */
  readonly name: string;
  readonly vm?: VirtualMachine;
  readonly vmi?: VirtualMachineInstance;
  /** By `familyKeysOf`, and the claim that each hold names. Those of another home are looked at and left alone. */
  readonly claims: readonly StoredClaim[];
  /** Pods of VMIs of this name, ended ones too; for claims without an owner, the pods that refer to them. */
  readonly pods: readonly LauncherPod[];
  /** Of the claims above; of gone ones by `holdFamilyOf`, or by an identity that begins with this VM's or VMI's UID. */
  readonly holds: readonly ClaimHold[];
  /** By namespace/name. */
  readonly definitionOf: (key: string) => Persistence | "missing" | "unknown";
  /** Of the namespace: the definition whose role is primary. */
  readonly primary?: Persistence;
  /** Who gives the addresses of a network, by the name in its CNI configuration. */
  readonly giverOf: (network: string) => "holdfast" | "other" | "unknown";
  /** A VM or VMI of this namespace has this UID, whatever its name. */
  readonly lives: (uid: string) => boolean;
  /** VMs and VMIs are not served (yet), at a start or a restore: their absence must not end stopped VMs' claims. */
  readonly areOwnersUnknown?: boolean;
  /** Since when they are served, if not always: the time to adopt restored claims begins no earlier. */
  readonly ownersSinceMs?: number;
  /** What became of the pod that a hold lists, by UID. "unknown" where it was not looked for. */
  readonly userOf: (user: HoldUser) => "alive" | "over" | "gone" | "unknown";
  readonly gate: ClaimsState;
  /** How many claims the namespace may still get; undefined: no limit. */
  readonly claimsLeft?: number;
  /** The namespace is being deleted: nothing can be made in it. */
  readonly isTerminating?: boolean;
  readonly node: (name: string) => Standing;
  readonly nowMs: number;
}
