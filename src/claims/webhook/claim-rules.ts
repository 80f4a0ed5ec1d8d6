// Whether anybody but the controller may create, change or delete a claim. Pure. A claim deleted under its VM keeps its
// address by its finalizer until the VM goes; the refusal spares its owner the wait and the question. Never refused:
// whatever the end of a VM, of a namespace or of a NIC leads to.
import * as marks from "../../api/claims/claim-marks.ts";
import type { VirtualMachine, VirtualMachineInstance, VmiSpec } from "../../api/claims/kubevirt.ts";
import { hasNic, isClaimOf } from "../../api/claims/vm-owner.ts";
import { describeObject } from "../../api/metadata.ts";
import type { StoredClaim } from "../../cluster/resources.ts";
import type { AdmissionReply } from "../../kube/admission/admission-review.ts";
import { claimsLeft, describeQuota } from "../leader/quota.ts";

/** They say whose a claim is: a wrong one gives an address to another, or frees it. */
const ownAnnotations = [
  marks.claimOwnerAnnotation,
  marks.claimNicAnnotation,
  marks.claimInstanceAnnotation,
  marks.claimVmAnnotation,
  marks.continuesAnnotation,
  marks.adoptedFromAnnotation,
] as const;
/** Written by a person on a claim made by hand, and by us on one of ours. */
const sharedAnnotations = [marks.requestedAnnotation] as const;
const sharedLabels = [marks.macLabelName] as const;

type Marked = Pick<StoredClaim, "metadata">;

/** What only we write, as it is called in a sentence. */
function marksOf({ metadata: { annotations = {}, labels = {}, finalizers = [] } }: Marked): readonly string[] {
  return [
    ...ownAnnotations.filter((name) => name in annotations).map((name) => `the annotation ${name}`),
    ...(marks.managedLabelName in labels ? [`the label ${marks.managedLabelName}`] : []),
    ...(finalizers.includes(marks.claimFinalizer) ? [`the finalizer ${marks.claimFinalizer}`] : []),
  ];
}

function changedMarks(before: Marked, after: Marked): readonly string[] {
  const isManaged = before.metadata.labels?.[marks.managedLabelName] === "true";
  const annotations = isManaged ? [...ownAnnotations, ...sharedAnnotations] : ownAnnotations;
  const labels = isManaged ? [marks.managedLabelName, ...sharedLabels] : [marks.managedLabelName];
  const had = before.metadata.finalizers?.includes(marks.claimFinalizer) ?? false;
  const has = after.metadata.finalizers?.includes(marks.claimFinalizer) ?? false;
  return [
    ...annotations
      .filter((name) => before.metadata.annotations?.[name] !== after.metadata.annotations?.[name])
      .map((name) => `the annotation ${name}`),
    ...labels
      .filter((name) => before.metadata.labels?.[name] !== after.metadata.labels?.[name])
      .map((name) => `the label ${name}`),
    ...(had === has ? [] : [`the finalizer ${marks.claimFinalizer}`]),
  ];
}

/** It says why, and says so anew: one that was left from an earlier change opens nothing. */
export function asksToOverride(before: Marked | undefined, after: Marked): boolean {
  const text = after.metadata.annotations?.[marks.overrideAnnotation] ?? "";
  return text.trim() !== "" && text !== before?.metadata.annotations?.[marks.overrideAnnotation];
}

export interface UpdateFacts {
  readonly before: StoredClaim;
  readonly after: StoredClaim;
  /** Ourselves, or the cluster's own housekeeping. */
  readonly isTrusted: boolean;
  /** The requester overrides, and may. */
  readonly isOverridden: boolean;
}

/** Only the fields that we know of the spec: a newer definition may have others that change. */
export function judgeUpdate({ before, after, isTrusted, isOverridden }: UpdateFacts): AdmissionReply {
  const subject = describeObject("IPAMClaim", before.metadata);
  for (const field of ["network", "interface"] as const) {
    if (before.spec[field] === after.spec[field]) continue;
    const message =
      `${subject}: spec.${field} is ${JSON.stringify(before.spec[field])} and cannot become ${JSON.stringify(after.spec[field])}: ` +
      "addresses are held for what it says. Make another claim, and delete this one.";
    return refusal(422, "Invalid", message);
  }
  const changed = isTrusted ? [] : changedMarks(before, after);
  if (changed.length === 0) return { allowed: true };
  if (isOverridden) return { allowed: true, warnings: [`${subject}: ${changed.join(", ")} changed by hand.`] };
  const message =
    `${subject}: ${changed.join(", ")} is Holdfast's to write, since it says whose the address is and keeps it. Leave it as it is; ` +
    `\`holdfast adopt\` and \`holdfast claims takeover\` give a claim another owner. Who may \`override\` ipamclaims says why in the annotation ${marks.overrideAnnotation}, in the same request.`;
  return refusal(403, "Forbidden", message);
}

/** A network attachment definition, as far as a claim may mean it. */
export interface KnownNetwork {
  readonly namespace: string;
  readonly name: string;
  /** The name in its configuration. */
  readonly network: string;
}

export interface CreationFacts {
  readonly claim: StoredClaim;
  readonly namespace: string;
  /** Every definition of the cluster; undefined: they are not known, and nothing is refused for them. */
  readonly networks: readonly KnownNetwork[] | undefined;
  /** How many claims the namespace may have, and how many it has. */
  readonly limit: number | undefined;
  readonly count: number;
  /** The requester overrides marks and networks, or restores, and may. */
  readonly isOverridden: boolean;
}

/** Velero's: a claim may precede its network, with old marks. Anybody can write it: it needs the right to override. */
const restoreLabelName = "velero.io/restore-name";

export function saysRestored({ metadata }: StoredClaim): boolean {
  return (metadata.labels?.[restoreLabelName] ?? "") !== "";
}

export function judgeCreation(facts: CreationFacts): AdmissionReply {
  const { claim, namespace, networks, limit, count, isOverridden } = facts;
  const subject = describeObject("IPAMClaim", { namespace, name: claim.metadata.name ?? claim.metadata.generateName });
  const ours = marksOf(claim);
  if (ours.length > 0 && !isOverridden) {
    const message =
      `${subject} carries ${ours.join(", ")}, which Holdfast writes on the claims that it makes: leave them out. ` +
      "To bring back a saved claim with its address, see `holdfast adopt`; a restore with them needs the right `override` on ipamclaims.";
    return refusal(403, "Forbidden", message);
  }
  if (limit !== undefined && claimsLeft(limit, count) === 0) {
    return refusal(403, "Forbidden", `${subject}: ${describeQuota(namespace, limit, count)}`);
  }
  const network = claim.spec.network;
  if (networks === undefined || networks.some((each) => each.network === network)) return { allowed: true };
  const why = `${subject}: spec.network is ${JSON.stringify(network)}, and no network attachment definition has that name in its configuration${advice(network, namespace, networks)}`;
  return isOverridden ? { allowed: true, warnings: [why] } : refusal(422, "Invalid", why);
}

function refusal(code: number, reason: string, message: string): AdmissionReply {
  return { allowed: false, code, reason, message };
}

const maxNames = 5;
/** Two letters that differ or are missing: a slip of the hand. */
const nearby = 2;

/** Names of the claim's own namespace only: what networks others have is not everybody's to know. */
function advice(network: string, namespace: string, networks: readonly KnownNetwork[]): string {
  const own = networks.filter((each) => each.namespace === namespace && each.network !== "");
  const meant = own.find(({ name }) => name === network);
  if (meant !== undefined)
    return `. The definition ${namespace}/${meant.name} calls its network ${meant.network}: write that.`;
  const names = [...new Set(own.map((each) => each.network))].sort();
  const near = names.filter((name) => isNear(name, network));
  const shown = (near.length > 0 ? near : names).slice(0, maxNames);
  if (shown.length === 0) return ": make the definition first.";
  const more = near.length === 0 && names.length > maxNames ? ", ..." : "";
  return `. Those of ${namespace} are ${shown.join(", ")}${more}.`;
}

/** At most `nearby` letters to change, add or remove; names have at most 253 letters: one row of numbers will do. */
export function isNear(a: string, b: string): boolean {
  if (Math.abs(a.length - b.length) > nearby) return false;
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 0; i < a.length; i++) {
    const next = [i + 1];
    for (let j = 0; j < b.length; j++) {
      const swap = (row[j] ?? 0) + (a[i] === b[j] ? 0 : 1);
      next.push(Math.min(swap, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return (row.at(-1) ?? 0) <= nearby;
}

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
  return refusal(403, "Forbidden", message);
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
