// What is to be done about a family, as values. src/claims carries them out. Pure. Promised: every step can be done
// twice and stands alone: one that fails, or that a crash swallows, is planned again.
import type { ClaimStatus } from "../../api/claims/claim-status.ts";
import type { StoredClaim } from "../../cluster/resources.ts";
import type { HoldNote, HoldUser } from "../../ipam/ledger.ts";
import { type ClaimOwner, ownerKey } from "../../ipam/owner.ts";
import { keyOf, type OwnerReference } from "../../kube/meta.ts";
import type { ClaimHold } from "./facts.ts";
import type { ClaimView, Family } from "./family.ts";
import type { Life } from "./owners.ts";

/** A merge patch; null takes a key away. Lists are whole. */
export interface MetadataPatch {
  readonly labels?: Readonly<Record<string, string | null>>;
  readonly annotations?: Readonly<Record<string, string | null>>;
  readonly ownerReferences?: readonly OwnerReference[];
  readonly finalizers?: readonly string[];
}

/** A warning. */
export interface ClaimEvent {
  readonly kind: "event";
  readonly on: "vm" | "vmi" | "claim" | "pod";
  readonly name: string;
  readonly uid: string;
  readonly reason: string;
  readonly message: string;
}

export type ClaimStep =
  /** "already exists" is no failure: the claim that is there is seen by the next plan. */
  | {
      readonly kind: "create";
      readonly claim: StoredClaim;
      /** The NIC and network have one, of an owner that seems gone: it may have followed its guest to this owner. */
      readonly isDoubtful?: boolean;
    }
  /** Guarded by UID and resourceVersion. */
  | { readonly kind: "mark"; readonly claim: StoredClaim; readonly metadata: MetadataPatch; readonly why: string }
  /** Guarded by UID. */
  | { readonly kind: "delete"; readonly claim: StoredClaim; readonly why: string }
  /** Only ours is taken off; guarded by UID and resourceVersion. */
  | { readonly kind: "drop-finalizer"; readonly claim: StoredClaim; readonly why: string }
  /** `amend`. With the owner it has already: the note alone changes. */
  | { readonly kind: "pass"; readonly hold: ClaimHold; readonly to: ClaimOwner; readonly note: HoldNote }
  /** `amend`: all that are left. */
  | { readonly kind: "users"; readonly hold: ClaimHold; readonly users: readonly HoldUser[] }
  /** At the hold's version, with the network's cooldown. */
  | { readonly kind: "release"; readonly hold: ClaimHold; readonly why: string }
  /** Addresses of `status.ips` that nothing holds: held for this claim, or the condition IPAddressConflict. */
  | {
      readonly kind: "take";
      readonly claim: StoredClaim;
      readonly addresses: readonly string[];
      /** namespace/name of the definition that its VM names; undefined: unknown, its network's name says it. */
      readonly definition?: string;
      /** For the note; none where the claim's owner is not of this life: a restore that nobody has adopted yet. */
      readonly identity?: string;
    }
  | { readonly kind: "status"; readonly claim: StoredClaim; readonly status: ClaimStatus }
  /** A state, not an occurrence: every plan says it again while it lasts. The sender sends it once in a while. */
  | ClaimEvent
  /** Plan again at the latest then: something was waited for that no watch tells. */
  | { readonly kind: "again"; readonly afterMs: number };

/** A step that cannot be undone. Before it the family is read from the server and planned again, as facts.ts says. */
export function isFinal(step: ClaimStep): boolean {
  const { kind } = step;
  if (kind === "create") return step.isDoubtful === true;
  return kind === "delete" || kind === "drop-finalizer" || kind === "release" || kind === "users" || kind === "pass";
}

/** The same step of the plan from fresh facts: do that one, it has fresh versions. Undefined: do not. */
export function confirmed(step: ClaimStep, fresh: readonly ClaimStep[]): ClaimStep | undefined {
  return fresh.find((each) => each.kind === step.kind && subjectOf(each) === subjectOf(step));
}

/** The subject of a step: the claim's UID, or its name where it is to be made; the hold's address and owner. */
function subjectOf(step: ClaimStep): string {
  if ("hold" in step) {
    const { domain, address, owner } = step.hold.hold;
    return `${domain} ${address} ${ownerKey(owner)}`;
  }
  if ("claim" in step) return step.kind === "create" ? keyOf(step.claim) : (step.claim.metadata.uid ?? "");
  return step.kind === "event" ? `${step.uid} ${step.reason}` : "";
}

export function claimEvent({ name, uid }: ClaimView, reason: string, message: string): ClaimEvent {
  return { kind: "event", on: "claim", name, uid, reason, message };
}

/** On the VM, else on the VMI. */
export function ownerEvents({ facts }: Family, { vm, vmi }: Life, reason: string, message: string): ClaimEvent[] {
  const uid = (vm ?? vmi)?.metadata.uid;
  const on = vm === undefined ? "vmi" : "vm";
  return uid === undefined ? [] : [{ kind: "event", on, name: facts.name, uid, reason, message }];
}
