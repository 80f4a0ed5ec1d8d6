// What is to be done so that a claim and its addresses are a VM's: a value for each NIC, all or nothing. Pure.
import * as marks from "../../api/claims/claim-marks.ts";
import { ipamClaimKind } from "../../api/claims/ipam-claim.ts";
import { hashedInterfaceName } from "../../api/claims/kubevirt.ts";
import { apiVersionOf } from "../../api/kind.ts";
import type { StoredClaim } from "../../cluster/resources.ts";
import type { HoldNote, HoldUser } from "../../ipam/ledger.ts";
import type { ClaimOwner } from "../../ipam/owner.ts";
import type { ListedHold } from "../../ledger/reservation/list-holds.ts";
import type { Address } from "../../net/address.ts";
import { CodedError } from "../../net/coded-error.ts";
import type { LedgerPlace } from "../leader/ledger-place.ts";
import { annotationsOf, labelsOf, referenceOf } from "../plan/object.ts";
import type { MetadataPatch } from "../plan/steps.ts";
import type { NewOwner } from "./new-owner.ts";

export type ClaimChange =
  /** It is there, and as it must be. */
  | { readonly kind: "none"; readonly claim: StoredClaim }
  | { readonly kind: "mark"; readonly claim: StoredClaim; readonly metadata: MetadataPatch }
  | { readonly kind: "create"; readonly object: StoredClaim }
  /** `old` has its name, is being deleted, and only our finalizer keeps it. */
  | { readonly kind: "replace"; readonly old: StoredClaim; readonly object: StoredClaim };

export interface Move {
  readonly nic: string;
  /** Written first. "claim": a dead owner's, which a leader ends once its address has moved. "holds": not ours yet. */
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
  | { readonly kind: "move"; readonly what: string; readonly move: Move }
  | { readonly kind: "done"; readonly what: string; readonly words: string }
  /** A sentence: why, and what to do. */
  | { readonly kind: "refused"; readonly what: string; readonly why: string };

/** UIDs: of the claim that it continues, and of the owner that was the proof. */
interface Before {
  readonly continues?: string | undefined;
  readonly adoptedFrom?: string | undefined;
}

function marksFor(target: NewOwner, nic: string, { continues, adoptedFrom }: Before) {
  const { name } = target;
  const annotations: Record<string, string> = {
    ...annotationsOf(target, nic, name),
    ...(continues !== undefined && { [marks.continuesAnnotation]: continues }),
    ...(adoptedFrom !== undefined && { [marks.adoptedFromAnnotation]: adoptedFrom }),
  };
  return { annotations, labels: labelsOf(name), ownerReferences: [referenceOf(target, name)] };
}

export function newClaim(target: NewOwner, nic: string, network: string, before: Before = {}): StoredClaim {
  return {
    apiVersion: apiVersionOf(ipamClaimKind),
    kind: ipamClaimKind.kind,
    metadata: {
      namespace: target.namespace,
      name: marks.claimName(target.name, nic),
      finalizers: [marks.claimFinalizer],
      ...marksFor(target, nic, before),
    },
    spec: { network, interface: hashedInterfaceName(nic) },
  };
}

/**
 * An owner reference to another life of the VM would let garbage collection delete the claim. Our finalizer is set,
 * that of ipam-extensions is not; those of others stay.
 */
export function remarked(claim: StoredClaim, target: NewOwner, nic: string, before: Before = {}): ClaimChange {
  const ours = new Set([marks.claimFinalizer, marks.upstreamClaimFinalizer]);
  const others = (claim.metadata.finalizers ?? []).filter((each) => !ours.has(each));
  const finalizers = [marks.claimFinalizer, ...others];
  const wanted = marksFor(target, nic, before);
  const stale = target.vmi === undefined ? { [marks.claimInstanceAnnotation]: null } : {};
  const metadata = { ...wanted, annotations: { ...stale, ...wanted.annotations }, finalizers };
  return { kind: "mark", claim, metadata };
}

export function claimOwner({ metadata }: StoredClaim, part = 0): ClaimOwner {
  const { uid = "", namespace = "", name = "" } = metadata;
  return { kind: "claim", uid, namespace, name, ...(part > 0 && { part }) };
}

export function noteFor(target: NewOwner, nic: string, why: string): HoldNote {
  return { identity: marks.identityOf(target.uid, nic), why };
}

/** The NIC that a claim is for: as it is recorded, or as one of these names says. */
export function nicOfClaim(claim: StoredClaim, names: ReadonlyMap<string, string>): string | undefined {
  const ownership = marks.ownershipOf(claim);
  return (ownership.kind === "owned" ? ownership.nic : undefined) ?? names.get(claim.metadata.name ?? "");
}

export function describeClaim({ metadata }: StoredClaim): string {
  return `IPAMClaim ${metadata.namespace}/${metadata.name}`;
}

/** Passed on as the same of its owner's addresses. */
export function passOf(held: ListedHold): Move["pass"][number] {
  const { owner } = held.hold;
  return { held, part: owner.kind === "nic" ? 0 : (owner.part ?? 0) };
}

/** Why a command about claims did nothing at all. */
export class ClaimsError extends CodedError<ClaimsErrorCode> {}

type ClaimsErrorCode =
  | "no-kind"
  | "no-machine"
  /** The UID that was given as proof is that of a VM or VMI that is there. */
  | "owner-alive"
  | "no-proof"
  /** No claim can hold an address now: whereabouts is active, or handing out is paused. */
  | "not-now"
  | "extensions-run"
  | "bad-file"
  /** Finalizers stay: a controller would put them back, --yes is missing, or a claim changes all the time. */
  | "controller-leads"
  | "not-confirmed"
  | "keeps-changing";
