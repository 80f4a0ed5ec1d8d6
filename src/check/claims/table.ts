// The table of `holdfast claims`: every claim, whose it is, its addresses, its state and who uses it. Pure.
import { homeOf, machineOf } from "../../api/claims/claim-family.ts";
import { isForeign, ownershipOf } from "../../api/claims/claim-marks.ts";
import type { SnapshotIndex } from "../../claims/moves/snapshot.ts";
import { attachedPods, looseTarget, targetOf } from "../../claims/plan/attachment.ts";
import type { ClaimHold, FamilyFacts, LauncherPod } from "../../claims/plan/facts.ts";
import { type ClaimView, familyOf, type LooseHold } from "../../claims/plan/family.ts";
import { type ClaimState, stateOfClaim } from "../../claims/plan/state.ts";
import type { ListedHold } from "../../ledger/reservation/list-holds.ts";
import { columnLines } from "../../log/columns.ts";
import { ageText } from "../slices/table.ts";
import { familiesOf } from "./families.ts";

/** The states of docs/persistent-ips.md. `quarantine`: the claim is gone, and its address cools. */
type RowState = "pending" | "bound" | "migrating" | "reserved" | "detaching" | "terminating" | "foreign" | "quarantine";

export interface ClaimRow {
  readonly namespace: string;
  readonly claim: string;
  /** The VM's name, or that of the VMI without one; empty: the claim was made by hand. */
  readonly vm: string;
  /** The network's name in the VM's spec; empty: it is not known. */
  readonly nic: string;
  /** The name in the CNI configuration; empty: the claim is gone. */
  readonly network: string;
  readonly ips: readonly string[];
  readonly state: RowState;
  /** That have it now. */
  readonly pods: readonly string[];
  readonly nodes: readonly string[];
  /** Null where nothing says it. */
  readonly ageSeconds: number | null;
}

export interface ClaimFilter {
  readonly namespace?: string | undefined;
  /** Of a claim, or of a VM. */
  readonly name?: string | undefined;
}

const words: Readonly<Record<ClaimState, RowState>> = {
  NONE: "pending",
  PEND: "pending",
  BOUND: "bound",
  MIGR: "migrating",
  RSVD: "reserved",
  DETACH: "detaching",
  TERM: "terminating",
  FOREIGN: "foreign",
};

export function claimRows(books: SnapshotIndex, filter: ClaimFilter = {}): ClaimRow[] {
  const families = familiesOf(books);
  const rows = families.keys().flatMap((key) => familyRows(families.facts(key)));
  return [...rows, ...restingRows(books)].filter((row) => isAsked(row, filter)).toSorted(byName);
}

function isAsked({ namespace, claim, vm }: ClaimRow, filter: ClaimFilter): boolean {
  if (filter.namespace !== undefined && filter.namespace !== namespace) return false;
  return filter.name === undefined || [claim, vm].includes(filter.name);
}

function byName(a: ClaimRow, b: ClaimRow): number {
  const [left, right] = [a, b].map((row) => `${row.namespace}/${row.claim} ${row.ips.join(",")}`) as [string, string];
  return left === right ? 0 : left < right ? -1 : 1;
}

/** A claim is told by its home; what its name has to do with another VM is that one's affair. */
function familyRows(facts: FamilyFacts): ClaimRow[] {
  const family = familyOf(facts);
  const home = `${facts.namespace}/${facts.name}`;
  return [
    ...family.claims
      .filter(({ claim }) => homeOf(claim) === home)
      .map((view) => rowOf(view, facts, attachedPods(targetOf(view), family))),
    ...family.loose.map((loose) => looseRow(loose, facts, attachedPods(looseTarget(loose), family))),
  ];
}

function rowOf(view: ClaimView, facts: FamilyFacts, pods: readonly LauncherPod[]): ClaimRow {
  const { claim, network, nic } = view;
  return {
    namespace: facts.namespace,
    claim: view.name,
    vm: ownershipOf(claim).kind === "owned" ? facts.name : "",
    nic,
    network,
    ips: view.holds.length > 0 ? view.holds.map(ipOf) : (claim.status?.ips ?? []),
    state: stateOfRow(view, facts),
    ...usedBy(pods),
    ageSeconds: ageOf(claim.metadata.creationTimestamp, facts.nowMs),
  };
}

function stateOfRow({ claim, uid }: ClaimView, facts: FamilyFacts): RowState {
  if (isForeign(claim) && claim.metadata.deletionTimestamp === undefined) return "foreign";
  return words[stateOfClaim(facts, uid)];
}

/** Unknown fields of a claim that is gone. */
const gone = { nic: "", network: "", pods: [], nodes: [], ageSeconds: null } as const;

/** Its claim was taken away under a pod, or is being made anew. */
function looseRow({ hold, nic }: LooseHold, facts: FamilyFacts, pods: readonly LauncherPod[]): ClaimRow {
  const { namespace, name: vm } = facts;
  const ips = [ipOf(hold)];
  return { ...gone, namespace, claim: hold.hold.owner.name, vm, nic, ips, state: "terminating", ...usedBy(pods) };
}

function usedBy(pods: readonly LauncherPod[]): Pick<ClaimRow, "pods" | "nodes"> {
  return {
    pods: pods.map(({ name }) => name),
    nodes: [...new Set(pods.map(({ node }) => node))].filter((node) => node !== ""),
  };
}

function restingRows({ snapshot: { held, nowMs } }: SnapshotIndex): ClaimRow[] {
  return held
    .filter((each) => isResting(each, nowMs))
    .map(({ hold }): ClaimRow => {
      const { namespace, name: claim } = hold.owner;
      const vm = machineOf({ metadata: { namespace, name: claim } }, true);
      return { ...gone, namespace, claim, vm, ips: [`${hold.address}`], state: "quarantine" };
    });
}

function isResting({ hold, cooling }: ListedHold, nowMs: number): boolean {
  return hold.owner.kind === "claim" && cooling !== undefined && cooling.untilMs > nowMs;
}

function ipOf({ hold, prefixLength }: ClaimHold): string {
  return prefixLength === undefined ? `${hold.address}` : `${hold.address}/${prefixLength}`;
}

function ageOf(created: string | undefined, nowMs: number): number | null {
  const ms = Date.parse(created ?? "");
  return Number.isNaN(ms) ? null : Math.max(0, Math.floor((nowMs - ms) / 1000));
}

const heading = ["NAMESPACE", "CLAIM", "VM", "NETWORK", "IPS", "STATE", "PODS", "NODES", "AGE"] as const;

export function claimLines(rows: readonly ClaimRow[]): string[] {
  if (rows.length === 0) return ["There are no claims."];
  const cells = rows.map(({ namespace, claim, vm, network, ips, state, pods, nodes, ageSeconds }) =>
    [
      namespace,
      claim,
      vm,
      network,
      ips.join(","),
      state,
      pods.join(","),
      nodes.join(","),
      ageSeconds === null ? "" : ageText(ageSeconds),
    ].map((cell) => cell || "-"),
  );
  return columnLines([heading, ...cells]);
}
