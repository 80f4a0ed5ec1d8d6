// The status of a claim, from its holds. Pure. The daemon writes the status right after the commit; this repairs lost
// writes, and follows the pod. The daemon goes first: of two writes at once one is refused, and a first ADD waits for
// its write. What the daemon said about a failure stands until the state changes. Promised: a hold is marked before the
// status shows its address for the first time, so that an ADD which is still under way does not give it back.
import { allocatedCondition, allocationReasons } from "../../api/claims/claim-marks.ts";
import { allocatedWords, type ClaimCondition, claimStatus } from "../../api/claims/claim-status.ts";
import { ownerKey } from "../../ipam/owner.ts";
import { isEqual } from "../../kube/conditions.ts";
import { compare } from "../../net/address.ts";
import { listedPods } from "./attachment.ts";
import type { ClaimHold } from "./facts.ts";
import type { ClaimView, Family } from "./family.ts";
import { fateOf } from "./retention.ts";
import type { ClaimStep } from "./steps.ts";

export function statusSteps(view: ClaimView, family: Family): readonly ClaimStep[] {
  if (view.kind === "elsewhere" || view.holds.length === 0) return [];
  const ips = ipsOf(view);
  if (ips === undefined) return [];
  const before = view.claim.status;
  const pod = podOf(view, family);
  const status = claimStatus({ before, ips, pod, condition: conditionOf(view, ips), nowMs: family.facts.nowMs });
  // Nobody reads the status of a claim that goes.
  if (isEqual(before, status) || fateOf(view, family).kind === "goes") return [];
  const waitMs = leftToDaemon(view, family);
  if (waitMs > 0) return [{ kind: "again", afterMs: waitMs }];
  const marks = view.holds.flatMap((hold) => (isIn(ips, hold) ? marking(hold, view) : []));
  return marks.length > 0 ? marks : [{ kind: "status", claim: view.claim, status }];
}

function marking(hold: ClaimHold, view: ClaimView): readonly ClaimStep[] {
  const { owner, note } = hold.hold;
  if (isTold(hold, view) || note?.shown !== undefined || owner.kind !== "claim") return [];
  return [{ kind: "pass", hold, to: owner, note: { ...note, shown: "true" } }];
}

/** A daemon writes within milliseconds of its commit; a write that is missing after this time is lost or too late. */
const daemonWritesMs = 1000;

/** How long it is the turn of the daemon whose pod has come to the address; none where no pod is at it. */
function leftToDaemon(view: ClaimView, { facts: { nowMs } }: Family): number {
  const waits = view.holds.map((each) => {
    const sinceMs = nowMs - (each.changedMs ?? Number.NEGATIVE_INFINITY);
    const isMarked = each.hold.note?.shown !== undefined && !isTold(each, view);
    // A clock that was set back says nothing.
    const isNew = isUsed(each) && sinceMs >= 0 && !isMarked;
    return isNew ? daemonWritesMs - sinceMs : 0;
  });
  return Math.max(0, ...waits);
}

/** Undefined: the length of a network is not known, and nothing tells it. */
function ipsOf(view: ClaimView): readonly string[] | undefined {
  const before = view.claim.status?.ips ?? [];
  const holds = view.holds.filter((hold) => !isSpare(hold, view) && !isSecond(hold, view));
  const inOrder = holds.toSorted((a, b) => placeOf(a, before) - placeOf(b, before) || byAddress(a, b));
  const ips = inOrder.map((hold) => ipOf(hold, before));
  return ips.every((ip) => ip !== undefined) ? ips : undefined;
}

function ipOf({ hold, prefixLength }: ClaimHold, before: readonly string[]): string | undefined {
  const address = hold.address.toString();
  return prefixLength === undefined ? before.find((ip) => ip.startsWith(`${address}/`)) : `${address}/${prefixLength}`;
}

/** The daemon's order is that of the configuration: it stays. */
function placeOf({ hold }: ClaimHold, before: readonly string[]): number {
  const place = before.findIndex((ip) => ip.split("/")[0] === hold.address.toString());
  return place < 0 ? before.length : place;
}

function byAddress({ hold: a }: ClaimHold, { hold: b }: ClaimHold): number {
  return a.address.family - b.address.family || compare(a.address, b.address);
}

/** A condition stays while its addresses do: it may tell of a refused pod or an exhausted family. */
function conditionOf(view: ClaimView, ips: readonly string[]): ClaimCondition {
  const outside = view.holds
    .filter(({ isOutOfRange }) => isOutOfRange === true)
    .map(({ hold }) => hold.address.toString());
  if (outside.length > 0) {
    const message =
      `${outside.join(" and ")} is held, and no range of the network ${view.network} has it any more: ` +
      "widen the range, or delete the VM's interface and plug it again.";
    return { reason: allocationReasons.outOfRange, message };
  }
  const { ips: before = [], conditions = [] } = view.claim.status ?? {};
  const standing = conditions.find(({ type }) => type === allocatedCondition);
  const isStill = standing !== undefined && isEqual(before, ips) && standing.reason !== allocationReasons.outOfRange;
  const reason = Object.values(allocationReasons).find((each) => each === standing?.reason);
  if (isStill && reason !== undefined) return { reason, message: standing.message ?? "" };
  return { reason: allocationReasons.done, message: allocatedWords(ips) };
}

/** Of two pods of a migration the one that the VMI runs in. */
function podOf(view: ClaimView, family: Family): string | undefined {
  const { facts } = family;
  const pods = listedPods(view, family);
  const { nodeName } = facts.vmi?.status ?? {};
  const running = pods.find(({ node, vmiUid }) => node === nodeName && vmiUid === facts.vmi?.metadata.uid);
  const standing = pods.find(({ name }) => name === view.claim.status?.ownerPod?.name);
  return (running ?? standing ?? pods[0])?.name;
}

// A claim may have two addresses of one pool: an answer was lost and a search came too early, or two pods came at once.

/**
 * No ADD is answered with an address that the status lacks. So an address that is not in the status goes beside another
 * that is, or that pods are at, unless a pod is at this one alone. One in the status goes only beside another with
 * both: a pod listed at such a one has not got it, or is over, and its end was seen here first.
 */
export function isSpare(spare: ClaimHold, view: ClaimView): boolean {
  const others = doublesOf(spare, view);
  if (isTold(spare, view)) return !isUsed(spare) && others.some((each) => isUsed(each) && isTold(each, view));
  if (!isUsed(spare)) return others.some((each) => isUsed(each) || isTold(each, view));
  // Pods that came at once may each have joined the other's: all of them are at the one that the status shows.
  return others.some((each) => isTold(each, view) && hasAllUsersOf(each, spare));
}

function hasAllUsersOf({ hold }: ClaimHold, { hold: other }: ClaimHold): boolean {
  const uids = new Set((hold.users ?? []).map(({ uid }) => uid));
  return (other.users ?? []).every(({ uid }) => uid !== "" && uids.has(uid));
}

/**
 * Not for the status beside the other: of two pods that came first at once the daemons decide by the status; who finds
 * another address there gives its own back. The first in the status counts; without one, the lowest.
 */
function isSecond(hold: ClaimHold, view: ClaimView): boolean {
  if (isTold(hold, view)) return false;
  return doublesOf(hold, view).some((each) => isTold(each, view) || compare(each.hold.address, hold.hold.address) < 0);
}

function doublesOf({ hold }: ClaimHold, { holds }: ClaimView): readonly ClaimHold[] {
  const { domain, owner, note } = hold;
  if (note?.pool === undefined) return [];
  return holds.filter(
    ({ hold: each }) =>
      each !== hold &&
      each.domain === domain &&
      each.note?.pool === note.pool &&
      ownerKey(each.owner) === ownerKey(owner),
  );
}

function isTold(hold: ClaimHold, { claim }: ClaimView): boolean {
  return isIn(claim.status?.ips ?? [], hold);
}

function isIn(ips: readonly string[], { hold }: ClaimHold): boolean {
  return ips.some((each) => each.split("/")[0] === hold.address.toString());
}

function isUsed({ hold }: ClaimHold): boolean {
  return (hold.users ?? []).length > 0;
}
