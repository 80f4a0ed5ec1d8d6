// One claim whole, for `holdfast claims NAME`: its owner, its holds, its users, what keeps it, what it waits for. Pure.
import { homeOf } from "../../api/claims/claim-family.ts";
import { claimFinalizer, isForeign, upstreamClaimFinalizer } from "../../api/claims/claim-marks.ts";
import type { SnapshotIndex } from "../../claims/moves/snapshot.ts";
import type { FamilyFacts } from "../../claims/plan/facts.ts";
import { type ClaimView, familyOf } from "../../claims/plan/family.ts";
import type { StoredClaim } from "../../cluster/resources.ts";
import type { HoldUser } from "../../ipam/ledger.ts";
import { describeHold } from "../examine/claims.ts";
import { familiesOf } from "./families.ts";
import { type ClaimFilter, type ClaimRow, claimRows } from "./table.ts";

export interface ClaimDetail extends ClaimRow {
  readonly uid: string;
  /** Empty: none. */
  readonly ownerUid: string;
  /** In a sentence whether the owner is there. */
  readonly owner: string;
  /** OWNER-UID/NIC as the holds carry it. */
  readonly identities: readonly string[];
  /** `Kind namespace/name`, each with its address. */
  readonly holds: readonly string[];
  /** Every pod in the list of a hold, and what became of it. */
  readonly users: readonly string[];
  /** Each with whose it is. */
  readonly finalizers: readonly string[];
  readonly conditions: readonly string[];
  readonly waitsFor: string;
}

/** Those of the name; none where it is that of a VM, or of nothing. */
export function claimDetails(books: SnapshotIndex, { namespace, name }: ClaimFilter): ClaimDetail[] {
  if (name === undefined) return [];
  const families = familiesOf(books);
  return books.snapshot.claims
    .filter(({ metadata }) => metadata.name === name && metadata.namespace === (namespace ?? metadata.namespace))
    .flatMap((claim) => {
      const facts = families.facts(homeOf(claim));
      const view = familyOf(facts).claims.find(({ uid }) => uid === claim.metadata.uid);
      const row = claimRows(books, { namespace: claim.metadata.namespace, name }).find(
        (each) => each.claim === name && each.network !== "",
      );
      return view === undefined || row === undefined ? [] : [detailOf(books, facts, view, row)];
    });
}

function detailOf(books: SnapshotIndex, facts: FamilyFacts, view: ClaimView, row: ClaimRow): ClaimDetail {
  const { claim, uid, ownerUid } = view;
  const held = books.heldFor(uid);
  const users = new Map(held.flatMap(({ hold }) => hold.users ?? []).map((user) => [user.uid, user]));
  return {
    ...row,
    uid,
    ownerUid,
    owner: ownerWords(view, facts),
    identities: [...new Set(held.flatMap(({ hold }) => hold.note?.identity ?? []))],
    holds: held.map((each) => `${each.hold.address}: ${describeHold(each)}`),
    users: [...users.values()].map((user) => userWords(user, facts)),
    finalizers: (claim.metadata.finalizers ?? []).map((each) => `${each} (${finalizerWords(each, books)})`),
    conditions: (claim.status?.conditions ?? []).map(
      ({ type, status, reason, message }) => `${type}=${status} ${reason ?? ""}: ${message ?? ""}`,
    ),
    waitsFor: waitsFor(claim, view, row, facts),
  };
}

function ownerWords({ claim, ownerUid, life }: ClaimView, facts: FamilyFacts): string {
  if (ownerUid === "") return "none: any pod of the namespace that refers to it may use it, one at a time";
  if (life === undefined)
    return `${ownerUid}, which is gone${facts.vm === undefined ? "" : `; VM ${facts.namespace}/${facts.name} is another`}`;
  const follows = life.uid === ownerUid ? "" : `, by what is recorded ${ownerUid}`;
  const phase = life.phase === "alive" ? "" : `, ${life.phase}`;
  return `${life.kind} ${claim.metadata.namespace}/${facts.name} (${life.uid}${phase})${follows}`;
}

function userWords(user: HoldUser, { userOf, node }: FamilyFacts): string {
  const words = { alive: "lives", over: "has ended", gone: "is gone", unknown: "cannot be told" }[userOf(user)];
  const condition = user.node === "" ? "no node" : `node ${user.node} ${node(user.node)}`;
  return `${user.name || "?"} ${words} (${condition}, ${user.uid || "no UID"})`;
}

function finalizerWords(finalizer: string, { snapshot: { extensions } }: SnapshotIndex): string {
  if (finalizer === claimFinalizer) return "ours";
  if (finalizer === upstreamClaimFinalizer) {
    return `of kubevirt/ipam-extensions, which ${extensions.isRunning ? "runs" : "does not run"} here`;
  }
  return finalizer === "foregroundDeletion" || finalizer === "orphan" ? "of garbage collection" : "of others";
}

function waitsFor(claim: StoredClaim, view: ClaimView, { state, pods }: ClaimRow, facts: FamilyFacts): string {
  const refused = (claim.status?.conditions ?? []).find(
    ({ type, status }) => type === "IPsAllocated" && status === "False",
  );
  const list = pods.join(", ");
  switch (state) {
    case "pending":
      return refused?.message ?? "the first pod that asks for its address";
    case "bound":
    case "reserved":
    case "quarantine":
      return "";
    case "migrating":
      return `one of ${list} to end: a third pod is refused meanwhile`;
    case "detaching":
      return `${list} to give the interface back; then its address is freed`;
    case "foreign":
      return isForeign(claim)
        ? "`holdfast claims takeover`: it is kubevirt/ipam-extensions' and left alone"
        : `its end by the controller, or \`holdfast adopt ${facts.namespace}/${facts.name} --from ${view.ownerUid}\``;
    case "terminating":
      return endOf(claim, view, list);
  }
}

/** What a claim that is being deleted still waits for, in the order in which it goes. */
function endOf({ metadata }: StoredClaim, { life, hasFinalizer }: ClaimView, pods: string): string {
  if (pods !== "") return `${pods} to end`;
  if (life?.vmi !== undefined) return `VMI ${metadata.namespace}/${life.vmi.metadata.name} to be gone`;
  if (life?.phase === "alive")
    return `its owner: ${life.kind} ${life.uid} lives, so its address is kept until that is deleted`;
  if (hasFinalizer) return "the controller, which takes our finalizer away";
  const left = (metadata.finalizers ?? []).join(", ");
  return left === "" ? "the API server" : `${left}, which others must take away`;
}

export function detailLines(detail: ClaimDetail): string[] {
  const { namespace, claim, state, network, nic, ips, pods, nodes } = detail;
  const facts: readonly (readonly [string, readonly string[]])[] = [
    ["network", [nic === "" ? network : `${network}, for the VM's network ${nic}`]],
    ["addresses", ips],
    ["owner", [detail.owner]],
    ["claim UID", [detail.uid]],
    ["identity", detail.identities],
    ["held by", detail.holds],
    ["pods", pods],
    ["nodes", nodes],
    ["users", detail.users],
    ["conditions", detail.conditions],
    ["finalizers", detail.finalizers],
    ["waits for", detail.waitsFor === "" ? [] : [detail.waitsFor]],
  ];
  const width = 10;
  return [
    `${namespace}/${claim}: ${state}`,
    ...facts.flatMap(([name, all]) =>
      all.map((text, index) => `  ${(index === 0 ? name : "").padEnd(width)}  ${text}`),
    ),
  ];
}
