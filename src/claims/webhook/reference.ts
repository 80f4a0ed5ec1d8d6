// Which claim one NIC of a launcher pod refers to, if any. Pure.
//
// Promised: a claim of another owner is never referred to, whatever its name: a CNI that reads only the reference would hand out the address
// of another VM. A claim that is this NIC's and has addresses is referred to even where no new ones are made any more.
import { homeOf } from "../../api/claim-family.ts";
import { claimName, ownershipOf, swappedClaimName } from "../../api/claim-marks.ts";
import type { VirtualMachineInstance, VmNetwork } from "../../api/kubevirt.ts";
import { isClaimOf } from "../../api/vm-owner.ts";
import type { Persistence } from "../../cni/persistence.ts";
import { parseKey } from "../../kube/meta.ts";
import type { StoredClaim } from "../../ledger/resources.ts";

export interface NicFacts {
  readonly vmi: VirtualMachineInstance;
  readonly nic: VmNetwork;
  /** Of its network. */
  readonly definition: Persistence | "missing";
  /** New claims are made for this VM: gate and label. */
  readonly isWanted: boolean;
  readonly claimOf: (name: string) => StoredClaim | undefined;
}

export interface Reference {
  readonly claim?: string;
  /** In a sentence why there is none although one is to be expected; empty otherwise. */
  readonly why: string;
}

const nothing: Reference = { why: "" };

/** Every name under which the claim may be: what `referenceOf` asks for. */
export function candidateNames(vm: string, nic: string, definition: Persistence | "missing"): readonly string[] {
  const plain = claimName(vm, nic);
  return definition === "missing" || definition.network === ""
    ? [plain]
    : [plain, swappedClaimName(vm, nic, definition.network)];
}

export function referenceOf({ vmi, nic, definition, isWanted, claimOf }: NicFacts): Reference {
  const vm = vmi.metadata.name ?? "";
  const names = candidateNames(vm, nic.name, definition);
  const own = (name: string) => {
    const claim = claimOf(name);
    return claim !== undefined && isOfNic(claim, vmi, nic.name) ? claim : undefined;
  };
  const fitting = names.find((name) => {
    const claim = own(name);
    return claim !== undefined && (definition === "missing" || claim.spec.network === definition.network);
  });
  if (definition !== "missing" && isWanted && definition.isAllowed) {
    if (fitting !== undefined) return { claim: fitting, why: "" };
    const passes = (claim: StoredClaim) => isOfNic(claim, vmi, nic.name) || isOfOther(claim, vmi);
    return toBeMade(names, claimOf, passes);
  }
  if (fitting !== undefined && (claimOf(fitting)?.status?.ips ?? []).length > 0) return { claim: fitting, why: "" };
  if (definition === "missing" && isWanted) {
    return { why: `network ${nic.name}: there is no definition ${nic.multus?.networkName ?? ""}` };
  }
  return nothing;
}

/** The name that the reconciler will give it: the plain one, unless the NIC has a claim of another network there, or another VM has. */
function toBeMade(
  names: readonly string[],
  claimOf: (name: string) => StoredClaim | undefined,
  passes: (claim: StoredClaim) => boolean,
): Reference {
  const [plain = "", swapped = ""] = names;
  const first = claimOf(plain);
  const name = first !== undefined && passes(first) ? swapped : plain;
  if (claimOf(name) === undefined) return { claim: name, why: "" };
  return { why: `IPAMClaim ${name} belongs to another: it is not referred to, and the pod waits for its own` };
}

/** It is a VM's of another name, and stays where it is. */
function isOfOther(claim: StoredClaim, { metadata }: VirtualMachineInstance): boolean {
  return parseKey(homeOf(claim)).name !== metadata.name;
}

function isOfNic(claim: StoredClaim, vmi: VirtualMachineInstance, nic: string): boolean {
  if (!isClaimOf(claim, vmi)) return false;
  const ownership = ownershipOf(claim);
  // Without a record the name says it, and by its name it was found.
  return ownership.kind === "owned" && (ownership.nic === undefined || ownership.nic === nic);
}
