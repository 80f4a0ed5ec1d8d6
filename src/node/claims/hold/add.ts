// ADD by a claim: the claim's addresses, one of each range, with this pod on the list of each hold.
// Promised: a committed hold of a claim is not taken back when something fails later; the next ADD of any of its pods
// goes on from there. Except one that nobody was told of: above the namespace's quota, with another's MAC, or one of
// two that pods of a new claim took at once (agreement.ts). The status follows the commit; where it shows no address of
// a range yet it is awaited.
import { allocationReasons, continuesAnnotation } from "../../../api/claims/claim-marks.ts";
import type { ClaimCondition } from "../../../api/claims/claim-status.ts";
import type { RecordedHold } from "../../../cluster/recorded-hold.ts";
import type { StoredClaim } from "../../../cluster/resources.ts";
import { consentFault, placeFault } from "../../../cni/by-number.ts";
import { formatCidr } from "../../../cni/config/route.ts";
import type { CniResult } from "../../../cni/result.ts";
import { type Address, equal } from "../../../net/address.ts";
import { contains } from "../../../net/prefix.ts";
import type { Addition } from "../../add/add.ts";
import { takeProbed } from "../../add/duplicate-probe.ts";
import type { Share } from "../../add/shares.ts";
import { UncertainTake } from "../../add/take.ts";
import type { DaemonContext } from "../../context.ts";
import { type Sandbox, sandboxHold } from "../../holds/sandboxes.ts";
import { later } from "../../request/failure.ts";
import { ClaimRefusal, type ClaimUse, claimText, reasonOf, statusAddresses } from "../resolve/claim-binding.ts";
import { confirm, freeNew, giveWay, resultOf, type Settled, statusOrder } from "./agreement.ts";
import { assertSame } from "./claim-holds.ts";
import type { StatusOrder } from "./status-writer.ts";

export async function addByClaim(addition: Addition, use: ClaimUse): Promise<CniResult> {
  const { parts } = addition;
  const obstacle = parts.claims.obstacle();
  if (obstacle !== "") throw later(obstacle);
  return parts.claims.turns.run(use.owner.uid, addition.signal, () => settle(addition, use));
}

async function settle(addition: Addition, use: ClaimUse): Promise<CniResult> {
  const { parts } = addition;
  const settled: Settled[] = [];
  try {
    assertInRange(addition, use);
    if (!isFirstStart(addition, use) || !(await settleFirst(addition, use, settled)))
      await settleByBooks(addition, use, settled);
    const isTold = await confirm(addition, use, settled);
    await parts.sandboxes.remember(sandboxOf(addition, use, settled), addition.netnsId);
    const result = resultOf(addition, settled);
    if (!isTold) parts.claims.statuses.write(statusOrder(use, settled, result));
    return result;
  } catch (error) {
    tellRefusal(addition, use, settled, error);
    throw error;
  }
}

function sandboxOf({ invocation }: Addition, { user, owner }: ClaimUse, settled: readonly Settled[]): Sandbox {
  const { containerId, interfaceName, netns } = invocation;
  const { namespace, name, uid } = owner;
  return {
    containerId,
    interfaceName,
    netns,
    pod: { namespace, name: user.name, uid: user.uid },
    claim: { namespace, name, uid },
    holds: settled.map(({ held }) => sandboxHold(held.namespace, held.hold)),
  };
}

/** By all that is known, the claim never had an address, and neither had its VM. */
function isFirstStart({ asking }: Addition, { claim, identity, siblings = [] }: ClaimUse): boolean {
  const { annotations, deletionTimestamp } = claim.metadata;
  const { ips = [] } = claim.status ?? {};
  const isUntold = ips.length === 0 && asking.shares.every(({ recorded }) => recorded === undefined);
  const isNew = annotations?.[continuesAnnotation] === undefined && siblings.length === 0;
  return identity !== undefined && deletionTimestamp === undefined && isUntold && isNew;
}

/**
 * Takes first and looks then: almost always nothing is there, and a look before any write waits for the API server's
 * cache. A hold that turns up all the same (an ADD that was cut short, a claim that was forced away, another pod that
 * came at once) is the claim's.
 */
async function settleFirst(addition: Addition, use: ClaimUse, settled: Settled[]): Promise<boolean> {
  const { asking, signal } = addition;
  try {
    await takeMissing(addition, use, asking.shares, settled);
  } catch (error) {
    signal.throwIfAborted();
    // The range may be full, and the claim's own address in it.
    if (error instanceof UncertainTake || error instanceof ClaimRefusal) throw error;
    settled.splice(0);
    return false;
  }
  await giveWay(addition, use, settled);
  return true;
}

async function settleByBooks(addition: Addition, use: ClaimUse, settled: Settled[]): Promise<void> {
  const { parts, invocation, asking, signal } = addition;
  const { holds, usersIn } = parts.claims;
  const { namespace } = use.owner;
  const { interfaceName } = invocation;
  const count = usersIn(namespace, likelyUser(use, signal));
  const found = await holds.find(asking.shares, use, signal);
  const missing: Share[] = [];
  for (const [index, share] of asking.shares.entries()) {
    const estate = { interfaceName, count: usersIn(namespace), signal };
    const held = found[index] ?? (await holds.inherit(share, use, estate));
    if (held === undefined) missing.push(share);
    else {
      assertSame(use, share, held.hold);
      settled.push({ share, ...(await holds.join({ share, held }, use, count, signal)), isNew: false });
    }
  }
  if (missing.length > 0) await takeMissing(addition, use, missing, settled);
}

/** The user by the status, and almost always by the holds: the source of a migration. */
function likelyUser({ claim, user }: ClaimUse, signal: AbortSignal) {
  const { ips = [], ownerPod } = claim.status ?? {};
  const name = ownerPod?.name ?? "";
  return ips.length === 0 || name === "" || name === user.name ? undefined : { name, signal };
}

async function takeMissing(addition: Addition, use: ClaimUse, missing: readonly Share[], settled: Settled[]) {
  const { parts, signal } = addition;
  if (use.identity === undefined && use.claim.metadata.deletionTimestamp !== undefined) {
    const what = `${claimText(use)} is being deleted and has no address for a new pod: make it anew when it is gone.`;
    throw new ClaimRefusal(allocationReasons.inUse, what);
  }
  const { namespace } = use.owner;
  const limit = await parts.quota.limitOf(namespace, signal);
  if (limit !== undefined) await parts.quota.assertRoom(namespace, limit, missing.length, signal);
  await parts.claims.holds.assertMacFree(missing, use, true, signal);
  const count = parts.claims.usersIn(namespace);
  const works = missing.map(async (share) => {
    const taken = await takeProbed(addition, asRecorded(addition, use, share));
    const held = { namespace: taken.namespace, hold: taken.hold };
    // Another pod of the claim was faster: its address is the claim's, and this pod comes second.
    const { isNew } = taken;
    const joined = isNew ? { held, others: [] } : await parts.claims.holds.join({ share, held }, use, count, signal);
    settled.push({ share, ...joined, isNew });
  });
  const results = await Promise.allSettled(works);
  const reasons = results.flatMap((result) => (result.status === "rejected" ? [result.reason as unknown] : []));
  // A refusal says more to the runtime than an outage beside it.
  const first = reasons.find((reason) => reasonOf(reason) !== undefined) ?? reasons[0];
  if (first !== undefined) throw first;
  try {
    if (limit !== undefined) await parts.quota.assertRoom(namespace, limit, 0, signal);
    await parts.claims.holds.assertMacFree(missing, use, false, signal);
  } catch (error) {
    // Of several that race for a quota's last address, or one MAC, all see too many, give back what is new, and fail.
    await freeNew(addition, settled.splice(0));
    throw error;
  }
}

/**
 * An address of the status that nobody holds is taken as it is, or nothing: the VM has been using it (OVN-Kubernetes
 * gave it, or a backup has it). Whoever may make claims may write a status too, so it is bound like any address asked
 * for by number; without an owner the definition has to consent.
 */
function asRecorded({ loaded }: Addition, use: ClaimUse, share: Share): Share {
  const { recorded, want } = share;
  if (recorded === undefined) return share;
  const { address, definition } = recorded;
  assertSame(use, { ...share, want }, { address } as RecordedHold["hold"]);
  const unasked = use.identity === undefined ? consentFault(loaded.config) : undefined;
  const fault = unasked ?? placeFault(loaded.config, address);
  if (fault === undefined) return { ...share, definition, want: { kind: "given", address } };
  const reason = unasked === undefined ? allocationReasons.outOfRange : allocationReasons.addressConflict;
  const what = `${address} stands in the status of ${claimText(use)}, and nothing holds it`;
  throw new ClaimRefusal(reason, `${what}: ${fault}; or take it out of the status.`);
}

/** An address outside all ranges of the network would reach nobody. */
function assertInRange({ loaded, asking }: Addition, use: ClaimUse): void {
  const { ranges } = loaded.config;
  const isThere = (address: Address) =>
    ranges.some(({ prefix }) => contains(prefix, address)) ||
    asking.statics.some(({ cidr }) => equal(cidr.address, address));
  const strays = statusAddresses(use.claim).filter((address) => !isThere(address));
  if (strays.length === 0) return;
  const networks = ranges.map(({ prefix }) => String(prefix)).join(" and ");
  throw new ClaimRefusal(
    allocationReasons.outOfRange,
    `${strays.join(" and ")} of ${claimText(use)} is not in ${networks}, which is all that the network ${loaded.config.name} has now: widen it again, ` +
      "or unplug the VM's interface and plug it in again: it gets another address then.",
  );
}

function tellRefusal({ parts, loaded }: Addition, use: ClaimUse, settled: readonly Settled[], error: unknown): void {
  const reason = reasonOf(error);
  if (reason === undefined) return;
  const held = settled
    .toSorted((a, b) => (a.share.range ?? Infinity) - (b.share.range ?? Infinity))
    .map(({ share, held: { hold } }) => {
      const prefix = share.range === undefined ? share.definition.prefix : loaded.config.ranges[share.range]!.prefix;
      return formatCidr({ address: hold.address, prefix });
    });
  tellClaim(parts, use.claim, use.user.name, { reason, message: (error as Error).message, held });
}

/** The VM's user looks at the claim, not the kubelet. Addresses stay: `held`, or without any those of the status. */
export function tellClaim(
  parts: DaemonContext,
  claim: StoredClaim,
  pod: string,
  { reason, message, held = [] }: ClaimCondition & { readonly held?: readonly string[] },
): void {
  const condition = { reason, message };
  const make: StatusOrder["make"] = (before) => {
    return { ips: held.length > 0 ? held : (before?.ips ?? []), pod: before?.ownerPod?.name, condition };
  };
  parts.claims.statuses.write({ claim, make });
  parts.tell(claim, "Warning", reason, `pod ${pod}: ${message}`);
}
