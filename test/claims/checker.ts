// The invariants of persistent addresses, checked at every single change, from the changes alone. It imports nothing of
// the code that it checks, and does not know what was asked of whom.
//
// Not promised: that a wrong answer to an ADD is seen before Multus has written it into the pod; it always does.
import type { AnyObject } from "../../src/kube/meta.ts";
import { Families } from "./checker-families.ts";
import { type Attachment, attachmentsOf, type Claim, claimOf, type Held, heldOf, isCutOff } from "./checker-reading.ts";
import type { Change } from "./checker-record.ts";
import { interfaceNameOf, isHashedName } from "./kubevirt/names.ts";

export type Rule =
  /** An address is in pods of one owner, and in two of them at most. */
  | "one owner"
  /** An interface's address is held for the claim of that NIC of its owner. All networks checked here allow that. */
  | "held while used"
  /** Nothing is freed while its claim exists, or while a pod of it may run on a node that is cut off. */
  | "freed too early"
  /** From one owner to another only by way of being free. */
  | "handed on"
  /** A NIC keeps its address as long as its claim, or one that continues it, is there. */
  | "same address"
  | "unique identity"
  /** No status shows what is held for another owner. */
  | "foreign status";

export interface Violation {
  readonly rule: Rule;
  readonly version: bigint;
  readonly message: string;
}

export class Checker {
  readonly violations: Violation[] = [];
  readonly #families = new Families();
  /** Key: UID. Those that are gone too: whose they were is still asked. */
  readonly #claims = new Map<string, Claim>();
  readonly #existing = new Set<string>();
  /** UIDs of VMs and VMIs that exist. */
  readonly #alive = new Set<string>();
  /** Key: address. */
  readonly #holds = new Map<string, Held>();
  /** Addresses that a status or a pod has shown since they were taken. One never told may be a lost answer's. */
  readonly #told = new Set<string>();
  /** Key: pod UID. */
  readonly #pods = new Map<string, readonly Attachment[]>();
  /** Pods whose object went while their node was cut off. Key: pod UID. */
  readonly #ghosts = new Map<string, readonly Attachment[]>();
  /** Nodes that are cut off. */
  readonly #cutOff = new Set<string>();
  #version = 0n;

  static violationsOf(changes: readonly Change[]): readonly Violation[] {
    const checker = new Checker();
    for (const change of changes) checker.see(change);
    return checker.violations;
  }

  see({ kind, type, version, object }: Change): void {
    this.#version = version;
    const isGone = type === "DELETED";
    if (kind === "claim") this.#claim(object, isGone);
    else if (kind === "reservation" || kind === "hold") this.#hold(kind, object, isGone);
    else if (kind === "pod") this.#pod(object, isGone);
    else if (kind === "node") this.#node(object, isGone);
    else this.#owner(kind, object, isGone);
  }

  /** What is left that nobody alive owns: nothing, when everybody had the time to notice. */
  remains(): string[] {
    const claims = [...this.#existing].flatMap((uid) => {
      const claim = this.#claims.get(uid);
      const isOver = claim !== undefined && claim.ownerUid !== "" && !this.#isAlive(claim.ownerUid);
      return isOver ? [`claim ${claim.namespace}/${claim.name} of ${claim.ownerUid}, which is gone`] : [];
    });
    const holds = [...this.#holds.values()].flatMap(({ address, owner }) => {
      const uid = owner.slice(owner.indexOf(":") + 1);
      const isKept = owner.startsWith("claim:") ? this.#existing.has(uid) : this.#pods.has(uid);
      return isKept ? [] : [`${address} held for ${owner}, which is gone`];
    });
    return [...claims, ...holds];
  }

  #isAlive(uid: string): boolean {
    const family = this.#families.of(uid);
    return [...this.#alive].some((each) => this.#families.of(each) === family);
  }

  #owner(kind: "vm" | "vmi", { metadata }: AnyObject, isGone: boolean): void {
    const { uid = "", ownerReferences = [] } = metadata;
    if (isGone) this.#alive.delete(uid);
    else this.#alive.add(uid);
    if (kind === "vm") return;
    for (const reference of ownerReferences) {
      if (reference.kind === "VirtualMachine") this.#families.join(uid, reference.uid);
    }
  }

  #claim(object: AnyObject, isGone: boolean): void {
    const claim = claimOf(object);
    this.#claims.set(claim.uid, claim);
    if (isGone) {
      this.#existing.delete(claim.uid);
      return;
    }
    this.#existing.add(claim.uid);
    for (const uid of this.#existing) {
      const other = this.#claims.get(uid);
      if (other !== undefined && uid !== claim.uid && claim.ownerUid !== "" && sameIdentity(other, claim)) {
        this.#fail(
          "unique identity",
          `claims ${other.name} and ${claim.name} are both for ${claim.ownerUid}/${claim.nic}`,
        );
      }
    }
    for (const address of claim.addresses) {
      const held = this.#holds.get(address);
      if (held?.owner === `claim:${claim.uid}`) this.#tell(held);
      if (held !== undefined && !this.#isOf(held, claim)) {
        this.#fail(
          "foreign status",
          `the status of claim ${claim.name} shows ${address}, which is held for ${held.owner}`,
        );
      }
    }
  }

  #isOf(held: Held, claim: Claim): boolean {
    if (held.owner === `claim:${claim.uid}`) return true;
    const other = this.#claimOf(held);
    return other !== undefined && claim.ownerUid !== "" && this.#sameFamily(other.ownerUid, claim.ownerUid);
  }

  #hold(kind: "reservation" | "hold", object: AnyObject, isGone: boolean): void {
    const name = object.metadata.name ?? "";
    const held = isGone ? undefined : heldOf(kind, object);
    const address = held?.address ?? heldOf(kind, unmarked(object))?.address ?? name;
    const before = this.#holds.get(address);
    if (held === undefined) this.#holds.delete(address);
    else this.#holds.set(address, held);
    if (before !== undefined && held === undefined) this.#freed(before);
    if (before !== undefined && held !== undefined && before.owner !== held.owner) this.#passed(before, held);
    this.#used(address);
  }

  #freed(held: Held): void {
    const { address, owner } = held;
    const claim = this.#claimOf(held);
    if (
      claim !== undefined &&
      this.#existing.has(claim.uid) &&
      (this.#told.has(address) || this.#beside(held).length === 0)
    ) {
      this.#fail("freed too early", `${address} is free, and claim ${claim.name} (${owner}) exists`);
    }
    this.#told.delete(address);
    for (const ghost of [...this.#ghosts.values()].flat()) {
      if (ghost.address === address) {
        this.#fail(
          "freed too early",
          `${address} is free, and pod ${ghost.pod} may run on ${ghost.node}, which is cut off`,
        );
      }
    }
  }

  #passed(before: Held, held: Held): void {
    const [from, to] = [this.#claimOf(before), this.#claimOf(held)];
    const isSame =
      from !== undefined && to !== undefined && this.#sameFamily(from.ownerUid, to.ownerUid) && from.nic === to.nic;
    if (!isSame)
      this.#fail(
        "handed on",
        `${held.address} went from ${before.owner} to ${held.owner} without being free in between`,
      );
  }

  /** From now on somebody knows it. A NIC with a new address has two: a claim's first is not freed while it exists. */
  #tell(held: Held): void {
    if (this.#told.has(held.address)) return;
    this.#told.add(held.address);
    for (const other of this.#beside(held)) {
      if (!this.#told.has(other.address)) continue;
      this.#fail(
        "same address",
        `${this.#claimOf(held)?.name} had ${other.address}, and has ${held.address} beside it`,
      );
    }
  }

  /** What else of the same IP version is held for the same NIC on the same network. */
  #beside(held: Held): Held[] {
    const claim = this.#claimOf(held);
    return [...this.#holds.values()].filter((other) => {
      const its = this.#claimOf(other);
      const isOther = other.address !== held.address && other.address.includes(":") === held.address.includes(":");
      return isOther && claim !== undefined && its !== undefined && this.#isSameNic(claim, its);
    });
  }

  /** By the recorded owner: a VM that adopted and ended a VMI while no controller ran has nothing of its address. */
  #isSameNic(a: Claim, b: Claim): boolean {
    return a.uid === b.uid || (a.ownerUid !== "" && sameIdentity(a, b));
  }

  #pod(object: AnyObject, isGone: boolean): void {
    const { uid = "" } = object.metadata;
    const before = this.#pods.get(uid) ?? [];
    const attached = attachmentsOf(object);
    if (isGone) {
      this.#pods.delete(uid);
      const cutOff = before.filter(({ node }) => this.#cutOff.has(node));
      if (cutOff.length > 0) this.#ghosts.set(uid, cutOff);
    } else this.#pods.set(uid, attached);
    for (const { address } of [...before, ...attached]) this.#used(address);
  }

  #node(object: AnyObject, isGone: boolean): void {
    const { name = "" } = object.metadata;
    if (!isGone && isCutOff(object)) {
      this.#cutOff.add(name);
      return;
    }
    this.#cutOff.delete(name);
    for (const [uid, attachments] of this.#ghosts)
      if (attachments.some(({ node }) => node === name)) this.#ghosts.delete(uid);
  }

  /** The rules about an address that pods have. */
  #used(address: string): void {
    const users = [...this.#pods.values()].flat().filter((each) => each.address === address);
    if (users.length === 0) return;
    const families = new Set(users.map((each) => this.#ownerOf(each)));
    const names = users.map(({ pod }) => pod).join(", ");
    if (families.size > 1) this.#fail("one owner", `${address} is in pods of ${families.size} owners: ${names}`);
    if (families.size === 1 && users.length > 2)
      this.#fail("one owner", `${address} is in ${users.length} pods: ${names}`);
    const held = this.#holds.get(address);
    if (held !== undefined) this.#tell(held);
    for (const user of users) {
      if (held === undefined) this.#fail("held while used", `pod ${user.pod} has ${address}, which is free`);
      else if (!this.#isFor(held, user))
        this.#fail("held while used", `pod ${user.pod} has ${address}, held for ${held.owner}`);
    }
  }

  #ownerOf({ vmiUid, podUid }: Attachment): string {
    return vmiUid === "" ? podUid : this.#families.of(vmiUid);
  }

  #isFor(held: Held, user: Attachment): boolean {
    const claim = this.#claimOf(held);
    if (claim === undefined) return false;
    if (claim.ownerUid === "") return true;
    const isItsNic = !isHashedName(user.interface) || user.interface === interfaceNameOf(claim.nic, 0, "hashed");
    return user.vmiUid !== "" && this.#sameFamily(claim.ownerUid, user.vmiUid) && isItsNic;
  }

  #claimOf({ owner }: Held): Claim | undefined {
    return owner.startsWith("claim:") ? this.#claims.get(owner.slice("claim:".length)) : undefined;
  }

  #sameFamily(a: string, b: string): boolean {
    return this.#families.of(a) === this.#families.of(b);
  }

  #fail(rule: Rule, message: string): void {
    this.violations.push({ rule, version: this.#version, message: `${rule}, at version ${this.#version}: ${message}` });
  }
}

function sameIdentity(a: Claim, b: Claim): boolean {
  return a.namespace === b.namespace && a.ownerUid === b.ownerUid && a.nic === b.nic && a.network === b.network;
}

/** As it was before it rested: to read the address. */
function unmarked(object: AnyObject): AnyObject {
  const { "holdfast.io/cooling": _, ...labels } = object.metadata.labels ?? {};
  return { ...object, metadata: { ...object.metadata, labels } };
}
