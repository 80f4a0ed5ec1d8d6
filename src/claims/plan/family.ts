// The facts of a family, put in order: each claim's owner, by UID, and each claim's holds. Pure. Promised: a name alone
// never gives a claim its owner. Where its owner is gone and the VMI runs on, a claim follows the VMI, by the record:
// the VMI's UID on the claim, the VM that started the VMI, or a pod of the VMI among the users of the address.
import { homeOf } from "../../api/claims/claim-family.ts";
import * as marks from "../../api/claims/claim-marks.ts";
import type { StoredClaim } from "../../cluster/resources.ts";
import type { ClaimHold, FamilyFacts } from "./facts.ts";
import { formerUids, type Life, livesOf, networksOf, type WantedNic, wantedOf } from "./owners.ts";

type ClaimKind =
  /** Of a VM or VMI of this family, alive or dead. */
  | "owned"
  /** Without an owner, of whoever refers to it. */
  | "by-hand"
  /** Of kubevirt/ipam-extensions, not taken over. */
  | "theirs"
  /** Of another family: its name is all that it has to do with this one. */
  | "elsewhere"
  /** Whose it is cannot be read. */
  | "unreadable";

export interface ClaimView {
  readonly claim: StoredClaim;
  readonly uid: string;
  readonly name: string;
  readonly kind: ClaimKind;
  /** As recorded; empty: none. */
  readonly ownerUid: string;
  /** Empty: not known. */
  readonly nic: string;
  /** Empty: it has no spec that can be read. */
  readonly network: string;
  /** Whose it is now; undefined: nobody's that is there. */
  readonly life: Life | undefined;
  readonly isDeleting: boolean;
  readonly hasFinalizer: boolean;
  readonly holds: readonly ClaimHold[];
}

/** A hold whose claim is gone. */
export interface LooseHold {
  readonly hold: ClaimHold;
  /** OWNER-UID/NIC; empty: a claim without an owner. */
  readonly identity: string;
  readonly nic: string;
  readonly life: Life | undefined;
}

export interface Family {
  readonly facts: FamilyFacts;
  readonly lives: readonly Life[];
  readonly wanted: ReadonlyMap<Life, readonly WantedNic[]>;
  readonly claims: readonly ClaimView[];
  readonly loose: readonly LooseHold[];
}

/** Facts are values: who plans a family and who counts its claims share one view of it. */
const families = new WeakMap<FamilyFacts, Family>();

export function familyOf(facts: FamilyFacts): Family {
  const known = families.get(facts) ?? makeFamily(facts);
  families.set(facts, known);
  return known;
}

function makeFamily(facts: FamilyFacts): Family {
  const lives = livesOf(facts);
  const wanted = new Map(lives.map((life) => [life, wantedOf(life, facts)]));
  const claims = facts.claims.map((claim) => viewOf(claim, facts, lives));
  const known = new Set(claims.map(({ uid }) => uid));
  const loose = facts.holds
    .filter(({ hold }) => !known.has(hold.owner.uid))
    .flatMap((hold) => looseOf(hold, facts, lives) ?? []);
  return { facts, lives, wanted, claims, loose };
}

function viewOf(claim: StoredClaim, facts: FamilyFacts, lives: readonly Life[]): ClaimView {
  const { name = "", uid = "", deletionTimestamp, finalizers = [] } = claim.metadata;
  const holds = facts.holds.filter(({ hold }) => hold.owner.uid === uid);
  const ownership = marks.ownershipOf(claim);
  const ownerUid = ownership.kind === "owned" ? ownership.uid : "";
  const instance = claim.metadata.annotations?.[marks.claimInstanceAnnotation];
  const life = ownerUid === "" ? undefined : lifeOf({ ownerUid, instance, holds }, facts, lives);
  // Other writers may write anything, whatever its type says.
  const { network } = (claim.spec as Partial<StoredClaim["spec"]> | undefined) ?? {};
  return {
    claim,
    uid,
    name,
    kind: kindOf(claim, ownerUid, life, facts),
    ownerUid,
    nic: (ownership.kind === "owned" ? ownership.nic : undefined) ?? nicOfName(name, facts.name, lives),
    network: typeof network === "string" ? network : "",
    life,
    isDeleting: deletionTimestamp !== undefined,
    hasFinalizer: finalizers.includes(marks.claimFinalizer),
    holds,
  };
}

/** Without a record: by the name that the claim would have. Empty: no name that a VM's claim gets. */
function nicOfName(name: string, vm: string, lives: readonly Life[]): string {
  const specs = lives.flatMap((life) => [life.vm?.spec?.template?.spec, life.vmi?.spec]);
  const nics = specs.flatMap((spec) => networksOf(spec)).map((each) => each.name);
  const rest = name.startsWith(`${vm}.`) ? name.slice(vm.length + 1) : "";
  return [...nics, rest].find((nic) => nic !== "" && marks.claimName(vm, nic) === name) ?? "";
}

function kindOf(claim: StoredClaim, ownerUid: string, life: Life | undefined, facts: FamilyFacts): ClaimKind {
  if (homeOf(claim) !== `${facts.namespace}/${facts.name}`) return "elsewhere";
  if (claim.metadata.annotations?.[marks.claimOwnerAnnotation] === "") return "unreadable";
  if (marks.isForeign(claim)) return "theirs";
  if (ownerUid === "") return "by-hand";
  return life === undefined && facts.lives(ownerUid) ? "elsewhere" : "owned";
}

interface Recorded {
  readonly ownerUid: string;
  readonly instance?: string | undefined;
  readonly holds: readonly ClaimHold[];
}

/** The owner where it lives; else whose VMI runs on with the claim; else the owner that is about to go. */
function lifeOf({ ownerUid, instance, holds }: Recorded, facts: FamilyFacts, lives: readonly Life[]): Life | undefined {
  const owner = lives.find(({ uid }) => uid === ownerUid);
  if (owner?.phase === "alive") return owner;
  const follows = lives.find(
    (life) =>
      formerUids(life).some((uid) => uid === ownerUid || uid === instance) ||
      holds.some((hold) => isUsedBy(life, hold, facts)),
  );
  return follows ?? owner;
}

/** A pod of the life's VMI is among the users: the daemon has let nobody but the owner's pods in. */
function isUsedBy({ vmi }: Life, { hold }: ClaimHold, { pods }: FamilyFacts): boolean {
  const uids = new Set((hold.users ?? []).map(({ uid }) => uid));
  return vmi !== undefined && pods.some((pod) => uids.has(pod.uid) && pod.vmiUid === vmi.metadata.uid);
}

/** Undefined: another family has the VM that it is for. */
function looseOf(hold: ClaimHold, facts: FamilyFacts, lives: readonly Life[]): LooseHold | undefined {
  const identity = hold.hold.note?.identity ?? "";
  const ownerUid = marks.ownerOfIdentity(identity);
  const nic = marks.nicOfIdentity(identity);
  const life = lifeOf({ ownerUid, holds: [hold] }, facts, lives);
  if (life === undefined && ownerUid !== "" && facts.lives(ownerUid)) return undefined;
  return { hold, identity, nic, life };
}
