// What a claim (IPAMClaim) on a network with managed DHCP shows: the addresses that are held for the VM's NIC which it
// is for. Pure. Promised: a claim takes no address, and its end frees none; of what is not certain it shows nothing.
import {
  allocationReasons,
  claimName,
  claimNicAnnotation,
  ownershipOf,
  upstreamClaimName,
} from "../../api/claims/claim-marks.ts";
import { type ClaimCondition, claimStatus, type ClaimStatus } from "../../api/claims/claim-status.ts";
import { hashedInterfaceName } from "../../api/claims/kubevirt.ts";
import type { StoredClaim } from "../../cluster/resources.ts";
import type { DeepReadonly } from "../../kube/meta.ts";
import { contains } from "../../net/prefix.ts";
import { familyOf, type PoolPlan } from "../rules/pool-plan.ts";
import type { MachineNic } from "./machine-nics.ts";
import { byAddress, type NicHold } from "./nic-hold.ts";

export interface ClaimMirrorFacts {
  readonly claim: DeepReadonly<StoredClaim>;
  /** Networks with managed DHCP, namespace/name, that its `spec.network` may mean. At least one. */
  readonly networks: readonly string[];
  /** The VM that owns it; undefined: none that is there. */
  readonly vm: { readonly name: string; readonly nics: readonly MachineNic[] } | undefined;
  /** What is held for a NIC of this VM. */
  readonly holdsOf: (nic: MachineNic) => readonly NicHold[];
  readonly pools: readonly PoolPlan[];
  readonly nowMs: number;
}

/** Equal to the claim's own where nothing changes. */
export function statusOfClaim(facts: ClaimMirrorFacts): ClaimStatus {
  const { claim, holdsOf, nowMs } = facts;
  const before = claim.status as ClaimStatus | undefined;
  const pod = before?.ownerPod?.name;
  const nic = nicFor(facts);
  if (typeof nic === "string") {
    const condition = { reason: allocationReasons.noNic, message: nic };
    return claimStatus({ before, ips: [], pod, condition, nowMs });
  }
  const holds = holdsOf(nic).toSorted((a, b) => a.address.family - b.address.family || byAddress(a, b));
  const ips = holds.flatMap((hold) => ipOf(hold, facts) ?? []);
  return claimStatus({ before, ips, pod, condition: conditionOf(nic, ips, facts), nowMs });
}

function conditionOf(nic: MachineNic, ips: readonly string[], { claim, vm }: ClaimMirrorFacts): ClaimCondition {
  const config = `vmnetcfg ${claim.metadata.namespace}/${vm?.name}`;
  if (ips.length === 0) {
    const message = `the NIC ${nic.name} has no address of ${nic.network} yet: ${config} says why.`;
    return { reason: allocationReasons.pending, message };
  }
  const message = `${ips.join(" and ")}: the NIC ${nic.name} of ${config} has it by managed DHCP, and keeps it when this claim goes.`;
  return { reason: allocationReasons.done, message };
}

/** A sentence where there is none. */
function nicFor({ claim, networks, vm }: ClaimMirrorFacts): MachineNic | string {
  const [network = ""] = networks;
  const where = `the network ${network} has managed DHCP, where addresses are those of VMs' NICs`;
  const otherwise = "For a device without a VM reserve one in its ippl (reservations).";
  if (ownershipOf(claim).kind === "ownerless")
    return `${where}, and this claim has no VM as its owner: nothing is held for it. Delete it. ${otherwise}`;
  if (vm === undefined) return `${where}, and the VM that owns this claim is not there.`;
  const here = vm.nics.filter((nic) => networks.includes(nic.network));
  if (here.length === 0) return `${where}, and VM ${claim.metadata.namespace}/${vm.name} has none there.`;
  const named = here.filter((nic) => isFor(claim, vm.name, nic.name));
  const found = named.length > 0 ? named : isNamed(claim) ? [] : here;
  if (found.length === 1) return found[0]!;
  const names = here.map(({ name }) => name).join(", ");
  return `${where}. Which of VM ${claim.metadata.namespace}/${vm.name} it is for is not clear (${names}): write the annotation ${claimNicAnnotation} or name the claim ${claimName(vm.name, "NIC")}.`;
}

function isNamed({ metadata }: DeepReadonly<StoredClaim>): boolean {
  return metadata.annotations?.[claimNicAnnotation] !== undefined;
}

function isFor({ metadata, spec }: DeepReadonly<StoredClaim>, vm: string, nic: string): boolean {
  const written = metadata.annotations?.[claimNicAnnotation];
  if (written !== undefined) return written === nic;
  const names = [claimName(vm, nic), upstreamClaimName(vm, nic)];
  return names.includes(metadata.name ?? "") || spec.interface === hashedInterfaceName(nic);
}

/** With the length of its subnet; undefined: no pool has it any more. */
function ipOf({ address }: NicHold, { pools, claim }: ClaimMirrorFacts): string | undefined {
  const found = pools.map((plan) => familyOf(plan, address)).find((plan) => plan && contains(plan.prefix, address));
  const shown = (claim.status?.ips ?? []).find((ip) => ip.split("/")[0] === address.toString());
  return found === undefined ? shown : `${address}/${found.prefix.length}`;
}
