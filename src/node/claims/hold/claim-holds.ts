// The addresses that a claim holds, and the pods at them. Nothing here frees anything. Promised: a pod is on the hold's
// list before its ADD is answered, written at the version by which its users were counted: of several that come at once
// the later count the earlier. Where the status and the ledger disagree, the ledger is right.
import { allocationReasons, identityOf, nicOfIdentity } from "../../../api/claims/claim-marks.ts";
import type { RecordedHold } from "../../../cluster/recorded-hold.ts";
import type { Domain, Hold, HoldNote } from "../../../ipam/ledger.ts";
import { ownerKey, sameOwner } from "../../../ipam/owner.ts";
import { type Address, compare, equal } from "../../../net/address.ts";
import { contains } from "../../../net/prefix.ts";
import type { Share } from "../../add/shares.ts";
import type { Ledgers } from "../../pools/ledgers.ts";
import type { PoolResolver } from "../../pools/pool-resolver.ts";
import { ClaimRefusal, type ClaimUse, claimText } from "../resolve/claim-binding.ts";
import { assertNotPaused, lostMeanwhile, passOn, type Quest, restless, surely } from "./amend-retry.ts";
import { type Estate, heirsOf, inheritFrom } from "./inheritance.ts";
import { type Count, hasRoom, type LiveUser } from "./users.ts";

export interface ClaimHoldsOptions extends Pick<Quest, "paused" | "isGone"> {
  readonly ledgers: Pick<Ledgers, "shared">;
  readonly poolResolver: Pick<PoolResolver, "open">;
}

/** How often a hold may change between count and write, or an answer be lost: each time a user came or went. */
const triesMax = 8;

export class ClaimHolds {
  readonly #options: ClaimHoldsOptions;

  constructor(options: ClaimHoldsOptions) {
    this.#options = options;
  }

  /** Undefined: none. An earlier claim's is passed on. One read each if the status is right, else a list per domain. */
  async find(shares: readonly Share[], use: ClaimUse, signal: AbortSignal): Promise<(RecordedHold | undefined)[]> {
    const lists: Lists = new Map();
    return Promise.all(shares.map((share) => this.#met(share, use, signal, (quest) => findOne({ ...quest, lists }))));
  }

  /** CHECK: the hold of a share; undefined: none with this pod. Without an identity it passes nothing on: no writes. */
  async usedBy(shares: readonly Share[], use: ClaimUse, signal: AbortSignal) {
    const found = await this.find(shares, { ...use, identity: undefined }, signal);
    return (share: Share): Hold | undefined => {
      const hold = found[shares.indexOf(share)]?.hold;
      return hold?.users?.some(({ uid }) => uid === use.user.uid) === true ? hold : undefined;
    };
  }

  /**
   * Beside each new hold: another of the claim's, else that of an earlier claim that is gone, not passed on yet. After
   * a write the server's cache is new enough; before, it is awaited: about 50 ms.
   */
  async beside(taken: readonly Joined[], use: ClaimUse, signal: AbortSignal): Promise<(Hold | undefined)[]> {
    const lists: Lists = new Map();
    const isNew = ({ address }: Hold) => taken.some(({ held: { hold } }) => equal(hold.address, address));
    return Promise.all(
      taken.map(({ share, held }) => searched({ ...this.#quest(share, held.hold.domain, use, signal), lists }, isNew)),
    );
  }

  /** The hold of another pod of the VMI, or of its claim that is gone, becomes the claim's: inheritance.ts. */
  async inherit(
    share: Share,
    use: ClaimUse,
    { signal, ...more }: Pick<Estate, "interfaceName" | "count" | "signal">,
  ): Promise<RecordedHold | undefined> {
    const heirs = heirsOf(share, use);
    if (heirs === undefined) return undefined;
    assertNotPaused(this.#options.paused());
    return this.#met(share, use, signal, (quest) => inheritFrom(heirs, { ...quest, ...more }));
  }

  #quest(share: Share, domain: Domain, use: ClaimUse, signal: AbortSignal): Quest {
    const { ledgers, paused, isGone } = this.#options;
    const { namespace, owner } = share;
    if (owner.kind !== "claim") throw new Error(`the share of ${claimText(use)} is a pod's`);
    return { ledger: ledgers.shared(namespace), domain, share, owner, use, signal, paused, isGone };
  }

  /** The picture learns the hold that is found. */
  async #met(share: Share, use: ClaimUse, signal: AbortSignal, find: (quest: Quest) => Promise<Hold | undefined>) {
    const { picture } = await this.#options.poolResolver.open(share, signal);
    const hold = await find(this.#quest(share, picture.domain, use, signal));
    if (hold === undefined) return undefined;
    picture.met(hold);
    return { namespace: share.namespace, hold };
  }

  /** Puts the pod on the list. Throws ClaimRefusal where the users leave no room; answers the other users. */
  async join({ share, held }: Joined, use: ClaimUse, count: Count, signal: AbortSignal) {
    const { namespace, hold } = held;
    const ledger = this.#options.ledgers.shared(namespace);
    let now = hold;
    for (let tries = 1; tries <= triesMax; tries++) {
      const users = now.users ?? [];
      const beside = users.filter(({ uid }) => uid !== use.user.uid);
      const others = await count(beside, signal);
      if (beside.length < users.length) return { held: { namespace, hold: now }, others };
      assertUsable(use, now, others);
      assertNotPaused(this.#options.paused());
      const { domain, address, owner, version } = now;
      const note = await this.#noted(share, now, use, signal);
      const request = { domain, address, owner: ownerKey(owner), version, users: [...users, use.user], ...note };
      const outcome = await surely(() => ledger.amend(request, { signal }));
      if (outcome.outcome === "amended") return { held: { namespace, hold: outcome.hold }, others };
      if (outcome.outcome === "gone" || !sameOwner(outcome.hold.owner, owner)) throw lostMeanwhile(use, address);
      now = outcome.hold;
    }
    throw restless(hold);
  }

  /** Throws ClaimRefusal where another NIC has the MAC: before a take, and after it, since two may come at once. */
  async assertMacFree(shares: readonly Share[], use: ClaimUse, mayBeOld: boolean, signal: AbortSignal): Promise<void> {
    if (use.mac === undefined) return;
    for (const share of shares) {
      const { picture } = await this.#options.poolResolver.open(share, signal);
      const ledger = this.#options.ledgers.shared(share.namespace);
      await assertMacFree({ ledger, domain: picture.domain, share, mayBeOld, signal }, use);
    }
  }

  /** The hold's MAC follows the pod that joins; empty: it is the same, and no other hold is asked for. */
  async #noted(share: Share, hold: Hold, use: ClaimUse, signal: AbortSignal): Promise<{ readonly note?: HoldNote }> {
    const { mac: before, ...rest } = hold.note ?? {};
    if (before === use.mac) return {};
    await this.assertMacFree([share], use, false, signal);
    return { note: { ...rest, ...(use.mac !== undefined && { mac: use.mac }) } };
  }
}

/** A share, and the hold that is there for it. */
interface Joined {
  readonly share: Share;
  readonly held: RecordedHold;
}

/** Domain and owner -> the list that was asked for. */
type Lists = Map<string, Promise<readonly Hold[]>>;
type ListQuest = Quest & { readonly lists: Lists };

async function findOne(quest: ListQuest): Promise<Hold | undefined> {
  const { share, owner } = quest;
  // At the address of the status: one read, and no list.
  const at = share.recorded && (await holdAt(quest, share.recorded.address));
  if (at !== undefined && sameOwner(at.owner, owner)) return at;
  const passed = at !== undefined && (await isOrphan(quest, at)) ? await passOn(quest, at) : undefined;
  if (passed !== undefined) return passed;
  const found = await searched(quest);
  return found === undefined || sameOwner(found.owner, owner) ? found : passOn(quest, found);
}

async function searched(quest: ListQuest, isLeftOut: (hold: Hold) => boolean = () => false) {
  const found = (await listed(quest)).filter((each) => !isLeftOut(each));
  const own = first(found.filter((each) => sameOwner(each.owner, quest.owner)));
  if (own !== undefined) return own;
  // The leader says `continues` where it knows of an earlier claim; if its caches were behind, the holds say it.
  const before = first(found.filter((each) => isBefore(each, quest)));
  return before !== undefined && (await isOrphan(quest, before)) ? before : undefined;
}

/** Of the share's range: the claim's holds, and those of other claims for the same NIC of the same owner. */
async function listed(quest: ListQuest): Promise<readonly Hold[]> {
  const { domain, share, owner, lists } = quest;
  const key = `${share.namespace} ${domain} ${ownerKey(owner)}`;
  const list = lists.get(key) ?? search(quest);
  lists.set(key, list);
  return (await list).filter(({ address }) => contains(share.definition.prefix, address));
}

/** Both at once: a claim that follows its guest to another owner has the new identity before its hold has. */
async function search({ ledger, domain, owner, use, signal }: Quest): Promise<readonly Hold[]> {
  const key = ownerKey(owner);
  const identities = identitiesOf(use);
  const [own, alike] = await Promise.all([
    ledger.find(domain, key, { signal }),
    identities.length === 0 ? [] : ledger.find(domain, key, { identities, signal }),
  ]);
  // A hold that the leader passed on between the two lists is only in the second.
  return [...own, ...alike.filter(({ address }) => !own.some((each) => equal(each.address, address)))];
}

/** The claim's own, and the guest's: a VM that adopts a VMI gets its addresses. Empty for a claim without an owner. */
function identitiesOf({ identity, vmiUid }: ClaimUse): readonly string[] {
  if (identity === undefined) return [];
  return [...new Set([identity, ...(vmiUid === undefined ? [] : [identityOf(vmiUid, nicOfIdentity(identity))])])];
}

/** The hold itself names the same NIC of the same owner, in the same namespace. */
function isBefore({ owner, note }: Hold, { owner: to, use }: Quest): boolean {
  if (!identitiesOf(use).includes(note?.identity ?? "") || owner.kind !== "claim") return false;
  return owner.uid !== to.uid && owner.namespace === to.namespace && (owner.part ?? 0) === (to.part ?? 0);
}

/** Of an earlier claim that is gone: an existing one keeps its address. */
async function isOrphan(quest: Quest, hold: Hold): Promise<boolean> {
  return isBefore(hold, quest) && hold.owner.kind === "claim" && (await quest.isGone(hold.owner, quest.signal));
}

/** No version is empty, so nothing changes, and the answer says what is there. */
async function holdAt({ ledger, domain, owner, signal }: Quest, address: Address): Promise<Hold | undefined> {
  const outcome = await ledger.amend({ domain, address, owner: ownerKey(owner), version: "" }, { signal });
  return outcome.outcome === "gone" ? undefined : outcome.hold;
}

/** One hold as a rule. Two daemons that took at once leave two: the one that pods use, then the lowest. */
function first(holds: readonly Hold[]): Hold | undefined {
  return holds.toSorted((a, b) => (b.users?.length ?? 0) - (a.users?.length ?? 0) || compare(a.address, b.address))[0];
}

function assertUsable(use: ClaimUse, { address }: Hold, others: readonly LiveUser[]): void {
  const isOwned = use.identity !== undefined;
  const ending = `${claimText(use)} is being deleted, and ${address} goes with it: make it anew when it is gone.`;
  if (!isOwned && use.claim.metadata.deletionTimestamp !== undefined)
    throw new ClaimRefusal(allocationReasons.inUse, ending);
  if (hasRoom(use, others)) return;
  const who = others.map(({ user }) => `pod ${user.name || "(unreadable)"} on ${user.node || "an unknown node"}`);
  const [one, two] = [
    "a claim without an owner is for one pod at a time",
    "an owner has two at most, during a migration",
  ];
  const what = `${address} of ${claimText(use)} is in use by ${who.join(" and ")}, and ${isOwned ? two : one}`;
  throw new ClaimRefusal(allocationReasons.inUse, `${what}: end one of them, and it goes on by itself.`);
}

/** The address that was asked for must be the claim's. */
export function assertSame(use: ClaimUse, { want }: Share, { address }: Hold): void {
  if (want.kind !== "given" || equal(want.address, address)) return;
  const what = `${want.address} was asked for, and ${claimText(use)} has ${address}`;
  const remedy = "ask for that, or for none; or delete the claim to give its address up";
  throw new ClaimRefusal(allocationReasons.addressConflict, `${what}: ${remedy}.`);
}

export interface MacQuest extends Pick<Quest, "ledger" | "domain" | "signal"> {
  readonly share: Pick<Share, "definition" | "owner">;
  /** The state of a moment ago is enough: the answer comes without a wait. */
  readonly mayBeOld: boolean;
}

/**
 * Throws ClaimRefusal where another NIC has an address of the range with the MAC: neither VM would be reached. Holds
 * decide, those of stopped VMs too: only daemons write them. A claim's label is for people: any maker of claims may
 * write it. Not promised: two VMs that ask anew for one MAC at once, each at an address that it has, may both get it.
 */
export async function assertMacFree({ ledger, domain, share, ...options }: MacQuest, use: ClaimUse): Promise<void> {
  const { mac } = use;
  if (mac === undefined) return;
  const alike = await ledger.find(domain, ownerKey(share.owner), { mac, ...options });
  // Claims of the same NIC, one after the other, are no rivals.
  const isSameNic = ({ note }: Hold) => use.identity !== undefined && note?.identity === use.identity;
  const others = alike.filter((each) => each.owner.uid !== use.owner.uid && !isSameNic(each));
  const rival = others.find(({ address }) => contains(share.definition.prefix, address));
  if (rival === undefined) return;
  const { namespace, name } = rival.owner;
  throw new ClaimRefusal(
    allocationReasons.macConflict,
    `the MAC ${mac} is that of IPAMClaim ${namespace}/${name}, which has ${rival.address} of the same network: give one of the two VMs another, ` +
      "or delete the one that is not needed.",
  );
}
