// The state of one pool: for every address exactly one of free, excluded, reserved, allocated, quarantined. A pool
// records; it does not choose (decide.ts does) and it is not durable (a ledger is). Time comes in through `now`. Not
// promised: that an address taken here is still free in the ledger. The ledger is the arbiter, the pool its picture.
import { type Address, equal, offsetBetween } from "../net/address.ts";
import { CodedError } from "../net/coded-error.ts";
import { common, IntervalSet, union } from "../net/interval-set.ts";
import { includes, type Interval, sizeOf } from "../net/interval.ts";
import { type Allocation, AllocationTable, type PackedOwners } from "./allocation-table.ts";
import { type AddressKey, type Cooling, CoolingQueue } from "./cooling.ts";
import { cooldownOf, type PoolDefinition, type Reservation, reservationsOf, usableOf } from "./definition.ts";
import { occupancyOf, type Occupancy } from "./occupancy.ts";
import { describeOwner, type Owner, type OwnerKey, ownerKey } from "./owner.ts";

export type AddressState =
  | { readonly state: "free" }
  | { readonly state: "excluded" }
  | { readonly state: "reserved"; readonly reason: string }
  | { readonly state: "allocated"; readonly owner: Owner }
  | { readonly state: "quarantined"; readonly untilMs: number; readonly lastOwner: OwnerKey }
  /** Not one of the usable addresses, and held by nobody. */
  | { readonly state: "outside" };

/** A bug of the caller: it recorded what contradicts the pool. Input never leads here; decide.ts refuses it before. */
export class PoolError extends CodedError<"held-by-another" | "owner-has-another"> {}

export interface PoolCounts {
  /** Usable addresses in all. */
  readonly usable: bigint;
  readonly free: bigint;
  /** Held, those outside the usable addresses included. */
  readonly allocated: number;
  readonly quarantined: number;
  /** Usable addresses that are excluded or reserved, held or not. */
  readonly withheld: bigint;
}

export class Pool {
  readonly definition: PoolDefinition;
  readonly usable: Interval;
  readonly excluded: IntervalSet;
  readonly reservations: readonly Reservation[];
  readonly #reserved: IntervalSet;
  readonly #now: () => number;
  readonly #cooldownMs: number;
  /** Every usable address that is not free. */
  #taken: Occupancy;
  readonly #held: AllocationTable;
  readonly #cooling = new CoolingQueue();
  /** Taken, says a hint; it does not say by whom. */
  #supposed = new IntervalSet();
  #lastTaken: Address | undefined;
  #withheldCount: bigint | undefined;

  /** `packed`: where owners are kept of which the caller says that they may be. */
  constructor(definition: PoolDefinition, now: () => number, packed?: PackedOwners) {
    this.definition = definition;
    this.#now = now;
    this.#held = new AllocationTable(packed);
    this.#cooldownMs = cooldownOf(definition);
    this.usable = usableOf(definition);
    this.excluded = IntervalSet.of(definition.excludes ?? []);
    this.reservations = reservationsOf(definition);
    this.#reserved = IntervalSet.of(this.reservations.map(({ interval }) => interval));
    this.#taken = this.#occupancy();
  }

  /** The address that was taken last, renewals and what was learnt left out: where next-free goes on. */
  get lastTaken(): Address | undefined {
    return this.#lastTaken;
  }

  stateOf(address: Address): AddressState {
    this.#settle();
    const owner = this.#held.ownerAt(address);
    if (owner !== undefined) return { state: "allocated", owner };
    const cooling = this.#cooling.get(this.#keyOf(address));
    if (cooling !== undefined) return { state: "quarantined", untilMs: cooling.untilMs, lastOwner: cooling.lastOwner };
    if (!includes(this.usable, address)) return { state: "outside" };
    if (this.#reserved.has(address)) {
      const reservation = this.reservations.find(({ interval }) => includes(interval, address));
      return { state: "reserved", reason: reservation?.reason ?? "reserved" };
    }
    if (this.excluded.has(address)) return { state: "excluded" };
    if (this.#supposed.has(address)) return { state: "reserved", reason: "taken, as the free map says" };
    return { state: "free" };
  }

  ownerAt(address: Address): Owner | undefined {
    return this.#held.ownerAt(address);
  }

  addressOf(owner: Owner): Address | undefined {
    return this.#held.addressOf(owner);
  }

  allocations(): IterableIterator<Allocation> {
    return this.#held.values();
  }

  /** The lowest free address at or above `from`. */
  nextFree(from: Address): Address | undefined {
    this.#settle();
    return this.#taken.nextFree(from);
  }

  /** The address that this owner released last and may have back at once, before it has cooled for others. */
  returningTo(owner: Owner): Address | undefined {
    this.#settle();
    if (this.#cooling.count === 0) return undefined;
    const cooling = this.#cooling.of(ownerKey(owner));
    return cooling !== undefined && this.#mayBeGiven(cooling.address) ? cooling.address : undefined;
  }

  /** The address cools, this owner had it last, and it may have it back. */
  returnsTo(address: Address, owner: Owner): boolean {
    this.#settle();
    return this.#cooling.get(this.#keyOf(address))?.lastOwner === ownerKey(owner) && this.#mayBeGiven(address);
  }

  /** Addresses that could be given early, the one that has cooled longest first. */
  *coolingInOrder(): IterableIterator<Cooling> {
    this.#settle();
    for (const cooling of this.#cooling.inOrder()) if (this.#mayBeGiven(cooling.address)) yield cooling;
  }

  counts(): PoolCounts {
    this.#settle();
    this.#withheldCount ??= common([this.usable], union(this.excluded, this.#reserved)).size;
    return {
      usable: sizeOf(this.usable),
      free: this.#taken.free(),
      allocated: this.#held.size,
      quarantined: this.#cooling.count,
      withheld: this.#withheldCount,
    };
  }

  /**
   * Records that the owner has the address, from any state: the ledger is right even about an excluded, cooling or
   * outside address. The same owner again is a renewal (a new container id). Throws where another has it.
   */
  take(address: Address, owner: Owner): void {
    this.#take(address, owner, false);
  }

  #take(address: Address, owner: Owner, mayPack: boolean): void {
    const held = this.#held.size;
    const conflict = this.#held.put(address, owner, mayPack);
    if (conflict !== undefined) throw contradiction(address, owner, conflict);
    if (this.#cooling.count > 0) this.#cooling.delete(this.#keyOf(address));
    this.#taken.add(address);
    if (this.#supposed.count > 0) this.#supposed.delete({ first: address, last: address });
    if (this.#held.size > held) this.#lastTaken = address;
  }

  /**
   * Records what a ledger says of an address, against the pool: it was another's, or that owner had another. `mayPack`:
   * the owner comes out equal, and need not be the same object.
   */
  learn(address: Address, owner: Owner, mayPack = false): void {
    const lastTaken = this.#lastTaken;
    this.forget(address);
    const before = this.#held.addressOf(owner);
    if (before !== undefined) this.forget(before);
    this.#take(address, owner, mayPack);
    this.#lastTaken = lastTaken;
  }

  /** Takes back a record that proved wrong: the address is free again at once, without a cooldown. */
  forget(address: Address): void {
    if (this.#held.ownerAt(address) === undefined) return;
    this.#held.delete(address);
    this.#freeAgain(address);
  }

  /** Replaces the hint of taken addresses, without owners: not offered. A later record of an address counts more. */
  suppose(taken: Iterable<Interval>): void {
    this.#supposed = common([this.usable], IntervalSet.of(taken));
    this.#taken = this.#occupancy();
  }

  /** Releases what the owner has. Undefined where it has nothing. */
  releaseOwner(owner: Owner): Allocation | undefined {
    const address = this.#held.addressOf(owner);
    if (address === undefined) return undefined;
    const held = this.#held.ownerAt(address)!;
    this.#held.delete(address);
    if (this.#cooldownMs > 0) {
      const untilMs = this.#now() + this.#cooldownMs;
      this.#cooling.add(this.#keyOf(address), { address, untilMs, lastOwner: ownerKey(held) });
    } else {
      this.#freeAgain(address);
    }
    return { address, owner: held };
  }

  /** Records a cooldown that a ledger remembers, after a restart. Ignored for an address that is held. */
  cool(cooling: Cooling): void {
    const key = this.#keyOf(cooling.address);
    // Written so that NaN counts as over: it never would be.
    if (this.#held.ownerAt(cooling.address) !== undefined || !(cooling.untilMs > this.#now())) return;
    this.#cooling.add(key, cooling);
    this.#taken.add(cooling.address);
  }

  /** From what is known of each address. */
  #occupancy(): Occupancy {
    const taken = occupancyOf(this.usable);
    for (const set of [this.excluded, this.#reserved, this.#supposed]) for (const each of set) taken.addAll(each);
    for (const { address } of this.#held.values()) taken.add(address);
    for (const { address } of this.#cooling.inOrder()) taken.add(address);
    return taken;
  }

  /** Frees addresses that have cooled. Called before every look at free ones. */
  #settle(): void {
    const nowMs = this.#now();
    if (!this.#cooling.due(nowMs)) return;
    for (const { address } of this.#cooling.expire(nowMs)) this.#freeAgain(address);
  }

  #freeAgain(address: Address): void {
    if (!this.#withheld(address)) this.#taken.delete(address);
  }

  #withheld(address: Address): boolean {
    return this.excluded.has(address) || this.#reserved.has(address);
  }

  #mayBeGiven(address: Address): boolean {
    return includes(this.usable, address) && !this.#withheld(address);
  }

  /** The offset inside the prefix if it is a safe number (always, in IPv4); else, and below the prefix, the text. */
  #keyOf(address: Address): AddressKey {
    return offsetBetween(this.definition.prefix.network, address) ?? address.toString();
  }
}

function contradiction(address: Address, owner: Owner, conflict: Allocation): PoolError {
  if (equal(conflict.address, address)) {
    const holder = describeOwner(conflict.owner);
    return new PoolError(
      "held-by-another",
      `${address} is held by ${holder}, so ${describeOwner(owner)} cannot have it.`,
    );
  }
  return new PoolError(
    "owner-has-another",
    `${describeOwner(owner)} has ${conflict.address} in this pool already: release it before it takes ${address}.`,
  );
}
