// Which claim an interface goes by, from the claims that were read. Pure: docs/decisions/0014 has the rules. Promised:
// a claim of another owner is never used, whatever its name, nor that of another NIC or network.
import { claimName, ownershipOf, swappedClaimName, upstreamClaimName } from "../../../api/claims/claim-marks.ts";
import type { VirtualMachineInstance } from "../../../api/claims/kubevirt.ts";
import { isClaimOf } from "../../../api/claims/vm-owner.ts";
import type { StoredClaim } from "../../../cluster/resources.ts";

export interface Seeker {
  readonly namespace: string;
  readonly pod: string;
  readonly reference: string | undefined;
  /** The name in the CNI configuration. */
  readonly network: string;
  /** Of a launcher; undefined for another pod. */
  readonly vmi: VirtualMachineInstance | undefined;
  /** The NIC of the VMI; undefined: not known. */
  readonly nic: string | undefined;
}

export type ClaimChoice =
  | { readonly kind: "use"; readonly claim: StoredClaim }
  /** This claim has not been read yet. */
  | { readonly kind: "read"; readonly name: string }
  /** The claim is missing or unfinished: a matter of moments. `why` begins with the claim. */
  | { readonly kind: "wait"; readonly name: string; readonly why: string }
  /** `claim`: another owner's, who is told too. */
  | { readonly kind: "refuse"; readonly why: string; readonly claim?: StoredClaim };

/** Name -> the claim; undefined: there is none of that name. A claim without an entry was not read. */
export type ClaimsRead = ReadonlyMap<string, StoredClaim | undefined>;

export function judgeClaims(seeker: Seeker, read: ClaimsRead): ClaimChoice {
  const { reference, vmi, nic } = seeker;
  const vm = vmi?.metadata.name ?? "";
  const isOfVm = vmi !== undefined && nic !== undefined;
  const own = isOfVm ? [claimName(vm, nic), swappedClaimName(vm, nic, seeker.network)] : [];
  if (reference === undefined || own.includes(reference)) return judgeOwn(seeker, own, read);
  if (!read.has(reference)) return { kind: "read", name: reference };
  const claim = read.get(reference);
  const standing = claim === undefined ? "missing" : standingOf(claim, seeker, true);
  if (claim !== undefined && standing === "fits") return { kind: "use", claim };
  if (standing === "foreign") return { kind: "refuse", why: misnamed(seeker, reference, standing), claim: claim! };
  // The author of the reference may have mistaken one NIC for another; the NIC's own claim is right.
  const better = own.length === 0 ? undefined : judgeOwn(seeker, own, read);
  if (better?.kind === "use" || better?.kind === "read") return better;
  if (standing === "missing") return { kind: "wait", name: reference, why: missing(seeker, reference) };
  return { kind: "refuse", why: misnamed(seeker, reference, standing, claim?.spec.network) };
}

/** Either name: after a swap the second stays. None fits: the plain one is awaited, unless on another network. */
function judgeOwn(seeker: Seeker, own: readonly string[], read: ClaimsRead): ClaimChoice {
  for (const name of own) {
    if (!read.has(name)) return { kind: "read", name };
    const claim = read.get(name);
    if (claim !== undefined && standingOf(claim, seeker, name === seeker.reference) === "fits")
      return { kind: "use", claim };
  }
  for (const name of own) {
    const claim = read.get(name);
    if (claim === undefined) return { kind: "wait", name, why: missing(seeker, name) };
    if (standingOf(claim, seeker, name === seeker.reference) !== "network") {
      return { kind: "wait", name, why: unfinished(seeker, name) };
    }
  }
  return { kind: "refuse", why: `${claimText(seeker, own.at(-1) ?? "")} cannot be used by ${podText(seeker)}.` };
}

type Standing = "fits" | "foreign" | "nic" | "network";

function standingOf(claim: StoredClaim, seeker: Seeker, isReferred: boolean): Standing {
  const ownership = ownershipOf(claim);
  if (ownership.kind === "ownerless") {
    // Only a reference makes it this pod's; a name alone proves nothing.
    if (!isReferred) return "foreign";
  } else {
    if (seeker.vmi === undefined || !isClaimOf(claim, seeker.vmi)) return "foreign";
    if (!isForNic(claim, ownership.nic, seeker)) return "nic";
  }
  return claim.spec.network === seeker.network ? "fits" : "network";
}

/** Without a record the name says it, ours or kubevirt/ipam-extensions'; a name that says nothing is believed. */
function isForNic({ metadata }: StoredClaim, recorded: string | undefined, { vmi, nic }: Seeker): boolean {
  if (nic === undefined || recorded !== undefined) return nic === undefined || recorded === nic;
  const vm = vmi?.metadata.name ?? "";
  const isNamedBy = (network: string) =>
    [claimName(vm, network), upstreamClaimName(vm, network)].includes(metadata.name ?? "");
  if (isNamedBy(nic)) return true;
  return !(vmi?.spec?.networks ?? []).some((each) => each.name !== nic && isNamedBy(each.name));
}

const claimText = ({ namespace }: Seeker, name: string) => `IPAMClaim ${namespace}/${name}`;
const podText = ({ namespace, pod }: Seeker) => `pod ${namespace}/${pod}`;

function missing(seeker: Seeker, name: string): string {
  const remedy =
    seeker.vmi === undefined
      ? "create it in the pod's namespace, or correct the reference"
      : "look at the log of holdfast-controller, which makes it, and at the events of the VM";
  return `${claimText(seeker, name)} of ${podText(seeker)} is not there yet: ${remedy}.`;
}

function unfinished(seeker: Seeker, name: string): string {
  const what = `${claimText(seeker, name)} is not of the owner of ${podText(seeker)}`;
  const why = "it is left of another VM of that name, which the controller finishes first";
  return `${what}: ${why}. If it stays, look at it with \`holdfast claims\`, and delete it where nobody needs its address.`;
}

/** Why the claim that a reference names is not used. */
function misnamed(seeker: Seeker, name: string, standing: Standing, network = ""): string {
  const [claim, pod] = [claimText(seeker, name), podText(seeker)];
  if (standing === "foreign")
    return `${claim} is of another owner than ${pod}, which names it: take the reference away, or name a claim of its own.`;
  if (standing === "nic")
    return `${claim} is for another NIC than the one that ${pod} names it for (${seeker.nic ?? "?"}): correct the reference.`;
  const what = `${claim} is for the network ${JSON.stringify(network)}, and ${pod} asks for an address of ${JSON.stringify(seeker.network)}`;
  return `${what}: name a claim of that network (spec.network is the name in the CNI configuration).`;
}
