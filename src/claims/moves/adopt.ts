// `holdfast adopt NAMESPACE/VM --from UID`: which claims and holds of an earlier life of a VM become its own. Pure.
// Promised: moves only claims and holds that themselves record the old owner; none of a living owner, of a third party,
// or in use by another's pod. A NIC moves with all of its addresses or not at all. Done twice, it is done once.
import { adoptedFromAnnotation, claimFinalizer, identityOf, ownershipOf } from "../../api/claims/claim-marks.ts";
import { launchedBy } from "../../api/claims/launcher-pod.ts";
import type { StoredClaim } from "../../cluster/resources.ts";
import { describeDomain } from "../../ipam/ledger.ts";
import { describeOwner } from "../../ipam/owner.ts";
import type { ListedHold } from "../../ledger/reservation/list-holds.ts";
import * as moves from "./move.ts";
import * as owners from "./new-owner.ts";
import type { SnapshotIndex } from "./snapshot.ts";

export interface AdoptionRequest {
  readonly namespace: string;
  readonly name: string;
  /** The UID of the VM, or of the VMI without one, in its earlier life. */
  readonly from: string;
  readonly nic?: string | undefined;
}

/** Throws ClaimsError where nothing can be adopted at all. */
export function planAdoption(books: SnapshotIndex, request: AdoptionRequest): moves.MoveDecision[] {
  const { namespace, name, from } = request;
  const target = owners.newOwnerOf(books, request);
  if (target === undefined) {
    throw new moves.ClaimsError(
      "no-machine",
      `There is no VM and no VMI ${namespace}/${name}: restore it first, stopped.`,
    );
  }
  if (target.phase === "deleting") {
    throw new moves.ClaimsError(
      "no-machine",
      `${target.kind} ${namespace}/${name} is being deleted: it can own nothing new.`,
    );
  }
  refuseLiving(books, from, target);
  const adoption = { books, target, from };
  const asked = sourcesOf(adoption).filter(({ nic }) => request.nic === undefined || nic === request.nic);
  return asked.length === 0
    ? nothingToAdopt(adoption, request.nic)
    : asked.map((source) => decisionOf(adoption, source));
}

function refuseLiving({ snapshot }: SnapshotIndex, from: string, target: owners.NewOwner): void {
  if (from === target.uid) {
    throw new moves.ClaimsError(
      "owner-alive",
      `${from} is the UID of ${target.kind} ${target.namespace}/${target.name} itself: nothing is to be adopted.`,
    );
  }
  for (const each of [...snapshot.machines.values(), ...snapshot.instances.values()]) {
    const { uid, namespace, name, deletionTimestamp } = each.metadata;
    if (uid !== from) continue;
    const state = deletionTimestamp === undefined ? "exists" : "is being deleted and not gone yet";
    throw new moves.ClaimsError(
      "owner-alive",
      `The owner ${from} lives: ${each.kind} ${namespace}/${name} ${state}. Its addresses stay its own while it is there.`,
    );
  }
}

interface Source {
  readonly nic: string;
  readonly claims: readonly StoredClaim[];
  readonly holds: readonly ListedHold[];
}

interface Adoption {
  readonly books: SnapshotIndex;
  readonly target: owners.NewOwner;
  readonly from: string;
}

function sourcesOf(adoption: Adoption): Source[] {
  const { books, target, from } = adoption;
  const claims = Map.groupBy(
    books.claimsOf(from).filter(({ metadata }) => metadata.namespace === target.namespace),
    (claim) => moves.nicOfClaim(claim, owners.ownNames(target, claim.spec.network)) ?? claim.metadata.name ?? "",
  );
  const begun = begunFor(adoption);
  const nics = new Set([...claims.keys(), ...books.nicsHeldFor(from), ...begun.keys()]);
  return [...nics].toSorted().map((nic) => {
    const own = claims.get(nic) ?? [];
    const holds = new Set([
      ...books.heldAs(identityOf(from, nic)),
      ...own.flatMap(({ metadata }) => books.heldFor(metadata.uid ?? "")),
      ...(begun.get(nic) ?? []),
    ]);
    return { nic, claims: own, holds: [...holds] };
  });
}

/** Noted as the target's by an adoption that was cut short: no claim has it yet. Key: the NIC. */
function begunFor(adoption: Adoption): Map<string, readonly ListedHold[]> {
  const { books, target } = adoption;
  return new Map(
    target.nics.flatMap(({ nic }) => {
      const begun = adoptedHolds(adoption, nic).filter(({ hold }) => !books.claims.has(hold.owner.uid));
      return begun.length === 0 ? [] : [[nic, begun] as const];
    }),
  );
}

function adoptedHolds({ books, target, from }: Adoption, nic: string): ListedHold[] {
  return books.heldAs(identityOf(target.uid, nic)).filter(({ hold }) => hold.note?.why === adoptedWords(from));
}

function adoptedWords(from: string): string {
  return `adopted from the owner ${from}`;
}

/** Where it was done before there is nothing left of the old owner, and claims or holds say so. */
function nothingToAdopt(adoption: Adoption, nic: string | undefined): moves.MoveDecision[] {
  const { books, target, from } = adoption;
  const marked = books
    .claimsOf(target.uid)
    .filter(({ metadata }) => metadata.annotations?.[adoptedFromAnnotation] === from)
    .flatMap((claim) => moves.nicOfClaim(claim, new Map()) ?? []);
  const noted = target.nics.filter((each) => adoptedHolds(adoption, each.nic).length > 0);
  const done = new Set([...marked, ...noted.map((each) => each.nic)]);
  const asked = [...done].filter((each) => nic === undefined || each === nic);
  if (asked.length > 0) {
    return asked.map((what) => ({ kind: "done", what, words: `it was adopted from ${from} before` }));
  }
  const where = nic === undefined ? "" : ` for network ${nic}`;
  throw new moves.ClaimsError(
    "no-proof",
    `No claim of namespace ${target.namespace} and no hold records the owner ${from}${where}: without that proof nothing is adopted. ` +
      `The UID of the VM before is in its backup (metadata.uid); holdfast claims -n ${target.namespace} NAME shows what a claim records.`,
  );
}

function decisionOf(adoption: Adoption, source: Source): moves.MoveDecision {
  const { books, target, from } = adoption;
  const { nic } = source;
  const refused = (why: string): moves.MoveDecision => ({ kind: "refused", what: nic, why });
  const own = owners.ownClaimOf(books, target, nic);
  if (typeof own === "string") return refused(own);
  const obstacle = source.holds.map((held) => obstacleOf(adoption, own, held)).find((each) => each !== undefined);
  if (obstacle !== undefined) return refused(obstacle);
  const wrong = source.claims.find(({ spec }) => spec.network !== own.network);
  if (wrong !== undefined) {
    return refused(
      `${moves.describeClaim(wrong)} is of network ${wrong.spec.network}, and ${nic} of the VM is on ${own.network}: give the NIC that network`,
    );
  }
  const wanted = owners.readIps(source.claims.flatMap(({ status }) => status?.ips ?? []));
  const got = typeof wanted === "string" ? wanted : owners.obtainable(books, own, wanted, { known: source.holds });
  if (typeof got === "string") return refused(got);
  const { take } = got;
  const kept = new Set([
    ...source.holds.map(({ hold }) => `${hold.address}`),
    ...take.map(({ address }) => `${address}`),
  ]);
  // What an adoption that was cut short has passed already is no other address.
  const other = own.holds.filter(({ hold }) => !kept.has(`${hold.address}`) && hold.note?.why !== adoptedWords(from));
  if (other.length > 0) return refused(hasOther(target, own, other));
  const claim = changeOf(adoption, source, own);
  if (typeof claim === "string") return refused(claim);
  const move: moves.Move = {
    nic,
    first: "claim",
    claim,
    pass: source.holds.map(moves.passOf),
    take,
    note: moves.noteFor(target, nic, adoptedWords(from)),
    users: [],
  };
  return { kind: "move", what: nic, move };
}

function hasOther(
  { namespace, name }: owners.NewOwner,
  { nic }: owners.OwnClaim,
  other: readonly ListedHold[],
): string {
  const addresses = other.map(({ hold }) => hold.address).join(", ");
  return (
    `VM ${namespace}/${name} has ${addresses} on ${nic} by now. To have the old address instead: stop the VM, take the network out of its ` +
    "spec until its claim is gone (holdfast claims), put it back, and adopt before it starts"
  );
}

/** It must be where the NIC's definition hands out; an address by number may be in no range, and then has no pool. */
function misplacedBy(
  { places }: SnapshotIndex,
  { definition }: owners.OwnClaim,
  { hold, namespace }: ListedHold,
): string | undefined {
  const placing = places.of([definition], hold.address);
  const isLoose = placing.kind === "nowhere" && hold.note?.pool === undefined;
  const place = placing.kind === "place" ? placing.place : isLoose ? places.looseIn(definition) : undefined;
  if (place?.domain === hold.domain && place.namespace === namespace) return undefined;
  if (placing.kind === "nowhere") return placing.why;
  if (place === undefined) return undefined;
  return `${hold.address} is held in ${describeDomain(hold.domain)}, and ${definition} hands out of ${describeDomain(place.domain)}: it is another network's`;
}

/** Whose a claim is, where it is neither of these. */
function thirdOf(claim: StoredClaim, either: readonly string[]): string | undefined {
  const ownership = ownershipOf(claim);
  if (ownership.kind === "ownerless") return "which was made by hand,";
  return either.includes(ownership.uid) ? undefined : `whose owner is ${ownership.uid}`;
}

/** In a sentence why this hold cannot be the target's. */
function obstacleOf({ books, target, from }: Adoption, own: owners.OwnClaim, held: ListedHold): string | undefined {
  const { hold } = held;
  const claim = books.claims.get(hold.owner.uid);
  const third = claim && thirdOf(claim, [from, target.uid]);
  if (third !== undefined) return `${hold.address} is held for ${describeOwner(hold.owner)}, ${third} and not ${from}`;
  const misplaced = misplacedBy(books, own, held);
  if (misplaced !== undefined) return misplaced;
  const stranger = owners
    .livingUsers(books, hold)
    .find((pod) => target.vmi === undefined || launchedBy(pod.metadata)?.uid !== target.vmi.metadata.uid);
  if (stranger === undefined) return undefined;
  return `Pod ${stranger.metadata.namespace}/${stranger.metadata.name} still uses ${hold.address}: wait until it has ended`;
}

/** The claim that the leader made for the VM; else the old one, which then says whose it is; else one made anew. */
function changeOf(
  { books, target, from }: Adoption,
  { nic, claims, holds }: Source,
  own: owners.OwnClaim,
): moves.ClaimChange | string {
  if (own.claim !== undefined) return moves.remarked(own.claim, target, nic, { adoptedFrom: from });
  const alive = claims.find(({ metadata }) => metadata.deletionTimestamp === undefined);
  if (alive !== undefined) return moves.remarked(alive, target, nic, { adoptedFrom: from });
  const object = moves.newClaim(target, nic, own.network, { continues: holds[0]?.hold.owner.uid, adoptedFrom: from });
  const old = books.namesake(object);
  if (old === undefined) return { kind: "create", object };
  if (!claims.includes(old))
    return `${moves.describeClaim(old)} has the name, and is not of ${from}: holdfast claims says whose it is`;
  const foreign = (old.metadata.finalizers ?? []).filter((each) => each !== claimFinalizer);
  if (foreign.length === 0) return { kind: "replace", old, object };
  return `${moves.describeClaim(old)} is being deleted and waits for ${foreign.join(", ")}: whoever put that there must take it away first`;
}
