// A snapshot of claims with its indexes: whose an address is, what a claim holds, what an owner has. Pure.
import { ownershipOf } from "../../api/claims/claim-marks.ts";
import type { StoredClaim } from "../../cluster/resources.ts";
import type { ListedHold } from "../../ledger/reservation/list-holds.ts";
import type { Address } from "../../net/address.ts";
import { type LedgerPlace, LedgerPlaces } from "../leader/ledger-place.ts";
import type { ClaimsSnapshot } from "./snapshot.ts";

export class SnapshotIndex {
  readonly snapshot: ClaimsSnapshot;
  readonly places: LedgerPlaces;
  /** Key: the claim's UID. */
  readonly claims: ReadonlyMap<string, StoredClaim>;
  /** Key: the owner's UID. */
  readonly #ofOwner: ReadonlyMap<string, readonly StoredClaim[]>;
  /** Key: the claim's UID. What rests is nobody's. */
  readonly #ofClaim: ReadonlyMap<string, readonly ListedHold[]>;
  /** Key: OWNER-UID/NIC. */
  readonly #ofIdentity: ReadonlyMap<string, readonly ListedHold[]>;
  /** Key: namespace, domain, address. */
  readonly #at: ReadonlyMap<string, ListedHold>;
  readonly #living: ReadonlySet<string>;

  constructor(snapshot: ClaimsSnapshot) {
    const held = snapshot.held.filter(({ cooling }) => cooling === undefined);
    const ofClaims = held.filter(({ hold }) => hold.owner.kind === "claim");
    this.snapshot = snapshot;
    this.places = new LedgerPlaces(snapshot);
    this.claims = new Map(snapshot.claims.map((claim) => [claim.metadata.uid ?? "", claim]));
    const owners = [...snapshot.machines.values(), ...snapshot.instances.values()];
    this.#living = new Set(owners.map(({ metadata }) => metadata.uid ?? ""));
    this.#ofOwner = Map.groupBy(snapshot.claims, (claim) => {
      const ownership = ownershipOf(claim);
      return ownership.kind === "owned" ? ownership.uid : "";
    });
    this.#ofClaim = Map.groupBy(ofClaims, ({ hold }) => hold.owner.uid);
    this.#ofIdentity = Map.groupBy(ofClaims, ({ hold }) => hold.note?.identity ?? "");
    this.#at = new Map(held.map((each) => [placeKey(each.namespace, each.hold.domain, each.hold.address), each]));
  }

  lives(uid: string): boolean {
    return this.#living.has(uid);
  }

  /** Everything that is held for a claim, whether it is there or not. */
  heldForClaims(): readonly ListedHold[] {
    return [...this.#ofClaim.values()].flat();
  }

  claimsOf(owner: string): readonly StoredClaim[] {
    return owner === "" ? [] : (this.#ofOwner.get(owner) ?? []);
  }

  /** What is held for a claim, by the UID of the object. */
  heldFor(claim: string): readonly ListedHold[] {
    return this.#ofClaim.get(claim) ?? [];
  }

  /** What is held for OWNER-UID/NIC, whichever claim it is under. */
  heldAs(identity: string): readonly ListedHold[] {
    return this.#ofIdentity.get(identity) ?? [];
  }

  nicsHeldFor(owner: string): string[] {
    const prefix = `${owner}/`;
    return [...this.#ofIdentity.keys()]
      .filter((each) => each.startsWith(prefix))
      .map((each) => each.slice(prefix.length));
  }

  holderAt({ namespace, domain }: LedgerPlace, address: Address): ListedHold | undefined {
    return this.#at.get(placeKey(namespace, domain, address));
  }
}

function placeKey(namespace: string, domain: string, address: Address): string {
  return `${namespace} ${domain} ${address}`;
}
