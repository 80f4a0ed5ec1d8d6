// Whether somebody may delete a claim: not while the NIC of a living VM has it. Pure.
// A claim deleted under its VM keeps its address by its finalizer until the VM goes; the refusal spares its owner the wait and the
// question. Never refused is what the end of a VM, of a namespace or of a NIC leads to.
import * as marks from "../../api/claims/claim-marks.ts";
import type { VirtualMachine, VirtualMachineInstance, VmiSpec } from "../../api/claims/kubevirt.ts";
import { hasNic, isClaimOf } from "../../api/claims/vm-owner.ts";
import { describeObject } from "../../api/metadata.ts";
import type { StoredClaim } from "../../cluster/resources.ts";
import type { AdmissionReply } from "../../kube/admission/admission-review.ts";

/** One VM name that the claim may be of, as the server has it now. */
export interface Machine {
  readonly vm: VirtualMachine | undefined;
  readonly vmi: VirtualMachineInstance | undefined;
}

export interface DeletionFacts {
  readonly claim: StoredClaim;
  readonly isTerminating: boolean;
  readonly machines: readonly Machine[];
  /** The claim says why, and the requester may. */
  readonly isOverridden: boolean;
}

/** Nothing more needs to be known: nobody's claim, or one that is being deleted already. */
export function isFreeToGo(claim: StoredClaim): boolean {
  return marks.ownershipOf(claim).kind === "ownerless" || claim.metadata.deletionTimestamp !== undefined;
}

/** In so many words: what was left from another change opens nothing. */
export function asksToDelete({ metadata }: StoredClaim): boolean {
  return /^delete\b/i.test(metadata.annotations?.[marks.overrideAnnotation] ?? "");
}

export function judgeDeletion({ claim, isTerminating, machines, isOverridden }: DeletionFacts): AdmissionReply {
  if (isFreeToGo(claim) || isTerminating) return { allowed: true };
  const user = machines.map((machine) => userOf(claim, machine)).find((each) => each !== undefined);
  if (user === undefined) return { allowed: true };
  const subject = describeObject("IPAMClaim", claim.metadata);
  if (isOverridden) return { allowed: true, warnings: [`${subject} is deleted although ${user} has it.`] };
  const message =
    `${subject} keeps the address of ${user}: unplug the NIC (state: absent) or delete the VM, and it goes by itself. ` +
    `Who may \`override\` ipamclaims writes "delete: " and why into its annotation ${marks.overrideAnnotation} first.`;
  return { allowed: false, code: 403, reason: "Forbidden", message };
}

/** The living owner whose NIC it is, for a sentence. */
function userOf(claim: StoredClaim, { vm, vmi }: Machine): string | undefined {
  const ownership = marks.ownershipOf(claim);
  if (ownership.kind === "ownerless") return undefined;
  const isVm = vm !== undefined && vm.metadata.uid === ownership.uid;
  const isVmi = vmi !== undefined && isClaimOf(claim, vmi);
  const owner = isVm ? vm : isVmi ? vmi : undefined;
  if (owner === undefined || owner.metadata.deletionTimestamp !== undefined) return undefined;
  const specs = [...(isVm ? [vm.spec?.template?.spec] : []), ...(isVmi ? [vmi.spec] : [])];
  const [nic] = specs.flatMap((spec) => nicsOf(claim, owner.metadata.name ?? "", spec));
  if (nic === undefined) return undefined;
  const name = `${claim.metadata.namespace ?? ""}/${owner.metadata.name ?? ""}`;
  return `${isVm ? "VirtualMachine" : "VirtualMachineInstance"} ${name} (network ${nic})`;
}

/** The NICs of the spec that it may be of: the recorded one; without a record those that give a claim its name. */
function nicsOf({ metadata: { annotations, name } }: StoredClaim, vm: string, spec: VmiSpec | undefined): string[] {
  const recorded = annotations?.[marks.claimNicAnnotation];
  return (spec?.networks ?? [])
    .map((network) => network.name)
    .filter((nic) =>
      recorded === undefined
        ? marks.claimName(vm, nic) === name || marks.upstreamClaimName(vm, nic) === name
        : nic === recorded,
    )
    .filter((nic) => hasNic(spec, nic));
}
