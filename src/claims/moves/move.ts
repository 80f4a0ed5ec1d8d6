// What is to be done so that a claim and its addresses are a VM's: a value for each NIC, all or nothing. Pure.
import {
  adoptedFromAnnotation,
  claimFinalizer,
  claimInstanceAnnotation,
  claimName,
  continuesAnnotation,
  identityOf,
  ownershipOf,
  upstreamClaimFinalizer,
} from "../../api/claims/claim-marks.ts";
import { ipamClaimKind } from "../../api/claims/ipam-claim.ts";
import { hashedInterfaceName } from "../../api/claims/kubevirt.ts";
import { apiVersionOf } from "../../api/kind.ts";
import type { StoredClaim } from "../../cluster/resources.ts";
import type { HoldNote, HoldUser } from "../../ipam/ledger.ts";
import type { ClaimOwner } from "../../ipam/owner.ts";
import type { ListedHold } from "../../ledger/reservation/list-holds.ts";
import type { Address } from "../../net/address.ts";
import type { LedgerPlace } from "../leader/ledger-place.ts";
import { annotationsOf, labelsOf, referenceOf } from "../plan/object.ts";
import type { MetadataPatch } from "../plan/steps.ts";
import type { NewOwner } from "./new-owner.ts";

export type ClaimChange =
  /** It is there, and as it must be. */
  | { readonly change: "none"; readonly claim: StoredClaim }
  | { readonly change: "mark"; readonly claim: StoredClaim; readonly metadata: MetadataPatch }
  | { readonly change: "create"; readonly object: StoredClaim }
  /** `old` has its name, is being deleted, and only our finalizer keeps it. */
  | { readonly change: "replace"; readonly old: StoredClaim; readonly object: StoredClaim };

export interface Move {
  readonly nic: string;
  /** Written first. "claim": a dead owner's, which a leader ends once its address is passed on. "holds": not ours yet. */
  readonly first: "claim" | "holds";
  readonly claim: ClaimChange;
  /** Held for another claim of the same VM in an earlier life, or for its own pod: passed on, never free in between. */
  readonly pass: readonly { readonly held: ListedHold; readonly part: number }[];
  readonly take: readonly { readonly place: LedgerPlace; readonly address: Address }[];
  readonly note: HoldNote;
  /** Pods that use the addresses now and are not in the list yet. */
  readonly users: readonly HoldUser[];
}

export type MoveDecision =
  | { readonly verdict: "move"; readonly what: string; readonly move: Move }
  | { readonly verdict: "done"; readonly what: string; readonly words: string }
  /** A sentence: why, and what to do. */
  | { readonly verdict: "refused"; readonly what: string; readonly why: string };

/** What the claim of a NIC says of whose it is. `before`: of the claim that it continues, and the owner that was the proof. */
export interface Before {
  readonly continues?: string | undefined;
  readonly adoptedFrom?: string | undefined;
}

function marksFor(target: NewOwner, nic: string, { continues, adoptedFrom }: Before) {
  const { name } = target;
  const annotations: Record<string, string> = {
    ...annotationsOf(target, nic, name),
    ...(continues !== undefined && { [continuesAnnotation]: continues }),
    ...(adoptedFrom !== undefined && { [adoptedFromAnnotation]: adoptedFrom }),
  };
  return { annotations, labels: labelsOf(name), ownerReferences: [referenceOf(target, name)] };
}

export function newClaim(target: NewOwner, nic: string, network: string, before: Before = {}): StoredClaim {
  return {
    apiVersion: apiVersionOf(ipamClaimKind),
    kind: ipamClaimKind.kind,
    metadata: {
      namespace: target.namespace,
      name: claimName(target.name, nic),
      finalizers: [claimFinalizer],
      ...marksFor(target, nic, before),
    },
    spec: { network, interface: hashedInterfaceName(nic) },
  };
}

/** Ours is there, theirs is not; what others keep it with stays. */
function finalizersOf({ metadata }: StoredClaim): string[] {
  const others = (metadata.finalizers ?? []).filter(
    (each) => each !== upstreamClaimFinalizer && each !== claimFinalizer,
  );
  return [claimFinalizer, ...others];
}

/** An owner reference to another life of the VM would let garbage collection delete the claim. */
export function remarked(claim: StoredClaim, target: NewOwner, nic: string, before: Before = {}): ClaimChange {
  const marks = marksFor(target, nic, before);
  const stale = target.vmi === undefined ? { [claimInstanceAnnotation]: null } : {};
  const metadata = { ...marks, annotations: { ...stale, ...marks.annotations }, finalizers: finalizersOf(claim) };
  return { change: "mark", claim, metadata };
}

export function claimOwner({ metadata }: StoredClaim, part = 0): ClaimOwner {
  const { uid = "", namespace = "", name = "" } = metadata;
  return { kind: "claim", uid, namespace, name, ...(part > 0 && { part }) };
}

export function noteFor(target: NewOwner, nic: string, why: string): HoldNote {
  return { identity: identityOf(target.uid, nic), why };
}

/** The NIC that a claim is for: as it is recorded, or as one of these names says. */
export function nicOfClaim(claim: StoredClaim, names: ReadonlyMap<string, string>): string | undefined {
  const ownership = ownershipOf(claim);
  return (ownership.kind === "owned" ? ownership.nic : undefined) ?? names.get(claim.metadata.name ?? "");
}

export function describeClaim({ metadata }: StoredClaim): string {
  return `IPAMClaim ${metadata.namespace}/${metadata.name}`;
}

export function partOfHeld({ hold: { owner } }: ListedHold): number {
  return owner.kind === "nic" ? 0 : (owner.part ?? 0);
}
