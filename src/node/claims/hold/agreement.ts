// Which address is the claim's where pods that come at once have each taken one. Promised: never do two give way to
// each other, and no status shows what goes back. A hold goes back only at the version that its own ADD wrote, and who
// relies on another's hold writes on it first: a pod that joins it, a leader that shows it. A later sandbox of the same
// pod is on the list already, and waits for its turn. Nobody is answered with an address that the status lacks.
import { allocationReasons } from "../../../api/claims/claim-marks.ts";
import { allocatedWords } from "../../../api/claims/claim-status.ts";
import type { RecordedHold } from "../../../cluster/recorded-hold.ts";
import type { StoredClaim } from "../../../cluster/resources.ts";
import { answerOf } from "../../../cni/answer.ts";
import { formatCidr } from "../../../cni/config/route.ts";
import type { CniResult } from "../../../cni/result.ts";
import { sameOwner } from "../../../ipam/owner.ts";
import { type Address, compare, equal } from "../../../net/address.ts";
import { contains } from "../../../net/prefix.ts";
import type { Addition } from "../../add/add.ts";
import type { Share } from "../../add/shares.ts";
import { later } from "../../request/failure.ts";
import { ClaimRefusal, type ClaimUse, claimText, statusAddresses } from "../resolve/claim-binding.ts";
import { assertSame } from "./claim-holds.ts";
import type { StatusOrder } from "./status-writer.ts";
import type { LiveUser } from "./users.ts";

/** One share, settled: its hold has the pod on its list. */
export interface Settled {
  readonly share: Share;
  readonly held: RecordedHold;
  readonly others: readonly LiveUser[];
  /** This ADD made the hold. */
  readonly isNew: boolean;
}

/**
 * Joins first, which changes the version by which another new hold could go back; frees then. Of two that pods took at
 * once, and both see, the lower stays.
 */
export async function giveWay(addition: Addition, use: ClaimUse, settled: Settled[]): Promise<void> {
  const { parts, signal } = addition;
  const { holds, usersIn } = parts.claims;
  const found = await holds.beside(settled, use, signal);
  const count = usersIn(use.owner.namespace);
  for (const [index, own] of settled.entries()) {
    const { share } = own;
    const other = found[index];
    if (other === undefined || !own.isNew) continue;
    const isClaims = sameOwner(other.owner, share.owner);
    const rivals = (other.users ?? []).filter(({ uid }) => uid !== use.user.uid);
    const isLower = compare(own.held.hold.address, other.address) < 0;
    if (isClaims && isLower && (await count(rivals, signal)).length > 0) continue;
    const recorded = { address: other.address, definition: share.definition };
    const [held] = await holds.find([{ ...share, recorded }], use, signal);
    if (held === undefined || !equal(held.hold.address, other.address)) continue; // it went meanwhile
    try {
      assertSame(use, share, held.hold);
      settled[index] = { share, ...(await holds.join({ share, held }, use, count, signal)), isNew: false };
    } catch (error) {
      if (error instanceof ClaimRefusal) await freeNew(addition, settled.splice(0));
      throw error;
    }
    await freeNew(addition, [own]);
  }
}

/**
 * Pods of a new claim that come at once (a NIC that is plugged during a migration) may each have taken an address: the
 * one in the status is the claim's. A pod that finds another there gives its own back, which nobody knows yet. Where
 * the leader saw and wrote both, the first counts: if each gave way, a third pod could take what the status still says.
 * So nobody is answered with an address that the status lacks. False: it says an address of each range already.
 */
export async function confirm(addition: Addition, use: ClaimUse, settled: readonly Settled[]): Promise<boolean> {
  const { parts, signal } = addition;
  const shown = statusAddresses(use.claim);
  const isShown = ({ share }: Settled) => shown.some((each) => contains(share.definition.prefix, each));
  const open = settled.filter((each) => each.isNew || !isShown(each));
  if (open.length === 0) return false;
  const ours = new Set(settled.map(({ held: { hold } }) => String(hold.address)));
  const isOthers = (address: Address) => !ours.has(String(address));
  const lostIn = (claim: StoredClaim) =>
    open.filter(({ share, held: { hold } }) => {
      const told = statusAddresses(claim);
      const own = told.findIndex((each) => equal(each, hold.address));
      const before = own < 0 ? told : told.slice(0, own);
      return before.some((each) => isOthers(each) && contains(share.definition.prefix, each));
    });
  const order = statusOrder(use, settled, resultOf(addition, settled));
  const now = await parts.claims.statuses.settle(order, (claim) => lostIn(claim).length === 0, signal);
  if (now === undefined) return true;
  await freeNew(addition, lostIn(now));
  const others = statusAddresses(now).filter(isOthers).join(" and ");
  throw later(`${claimText(use)} got ${others} by another of its pods at this moment: it goes on by itself.`);
}

/** At the version that this ADD wrote: a pod that joined since keeps it, and so does a leader that showed it. */
export async function freeNew(
  { parts, invocation: attachment, signal }: Addition,
  some: readonly Settled[],
): Promise<void> {
  for (const { held, isNew } of some) {
    if (isNew) await parts.releases.free(held, { attachment, cooldownMs: 0, signal });
  }
}

export function resultOf({ loaded, asking }: Addition, settled: readonly Settled[]): CniResult {
  const allocated = new Map<number, Address>();
  for (const { share, held } of settled) if (share.range !== undefined) allocated.set(share.range, held.hold.address);
  return answerOf(loaded.config, allocated, asking.statics);
}

/** The first pod is the user until it ends: the target of a migration comes second. */
export function statusOrder(use: ClaimUse, settled: readonly Settled[], { ips: given }: CniResult): StatusOrder {
  const ips = given.map(({ address }) => formatCidr(address));
  const isSecond = settled.some(({ others }) => others.length > 0);
  const condition = { reason: allocationReasons.done, message: allocatedWords(ips) };
  return {
    claim: use.claim,
    make: (before) => ({ ips, pod: (isSecond ? before?.ownerPod?.name : undefined) ?? use.user.name, condition }),
  };
}
