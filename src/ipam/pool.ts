// The state of one pool: for every address exactly one of free, excluded, reserved, allocated, quarantined.
//
// A pool records; it does not choose (decide.ts does) and it is not durable (a ledger is). Time comes in through `now`.
// Not promised: that an address taken here is still free in the ledger. The ledger is the arbiter, the pool its picture.
import { type Address, compare, offsetBetween } from "../net/address.ts";
import { common, IntervalSet, union } from "../net/interval-set.ts";
import { includes, type Interval, sizeOf } from "../net/interval.ts";
import { type AddressKey, type Cooling, CoolingQueue } from "./cooling.ts";
import { cooldownOf, type PoolDefinition, type Reservation, reservationsOf, usableOf } from "./definition.ts";
import { occupancyOf, type Occupancy } from "./occupancy.ts";
import { describeOwner, type Owner, type OwnerKey, ownerKey } from "./owner.ts";

export interface Allocation {
  readonly address: Address;
  readonly owner: Owner;
}

export type AddressState =
  | { readonly state: "free" }
  | { readonly state: "excluded" }
  | { readonly state: "reserved"; readonly reason: string }
  | { readonly state: "allocated"; readonly owner: Owner }
  | { readonly state: "quarantined"; readonly untilMs: number; readonly lastOwner: OwnerKey }
  /** Not one of the usable addresses, and held by nobody. */
  | { readonly state: "outside" };

/** A bug of the caller: it recorded what contradicts the pool. Input never leads here; decide.ts refuses it before. */
export class PoolError extends Error {
  readonly code: "held-by-another" | "owner-has-another";

  constructor(code: PoolError["code"], message: string) {
    super(message);
    this.name = "PoolError";
    this.code = code;
  }
}

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
  /** Undefined where the prefix is too small to hand anything out. */
  readonly usable: Interval | undefined;
  readonly excluded: IntervalSet;
  readonly reservations: readonly Reservation[];
  readonly #reserved: IntervalSet;
  readonly #now: () => number;
  readonly #cooldownMs: number;
  /** Every usable address that is not free. Undefined together with `usable`. */
  readonly #taken: Occupancy | undefined;
  /** address key -> who has it */
  readonly #byAddress = new Map<AddressKey, Allocation>();
  /** owner key -> what it has: one address per owner and pool */
  readonly #byOwner = new Map<OwnerKey, Allocation>();
  /** container id, NUL, interface -> what it uses; built when first asked for, kept up to date from then on */
  #byContainer: Map<string, Allocation> | undefined;
  readonly #cooling = new CoolingQueue();
  #lastTaken: Address | undefined;
  #withheldCount: bigint | undefined;

  constructor(definition: PoolDefinition, now: () => number) {
    this.definition = definition;
    this.#now = now;
    this.#cooldownMs = cooldownOf(definition);
    this.usable = usableOf(definition);
    this.excluded = IntervalSet.of(definition.excludes ?? []);
    this.reservations = reservationsOf(definition);
    this.#reserved = IntervalSet.of(this.reservations.map(({ interval }) => interval));
    if (this.usable === undefined) return;
    this.#taken = occupancyOf(this.usable);
    for (const each of this.excluded) this.#taken.addAll(each);
    for (const each of this.#reserved) this.#taken.addAll(each);
  }

  /** The address that was taken last: where next-free goes on. */
  get lastTaken(): Address | undefined {
    return this.#lastTaken;
  }

  stateOf(address: Address): AddressState {
    this.#settle();
    const key = this.#keyOf(address);
    const allocation = this.#byAddress.get(key);
    if (allocation !== undefined) return { state: "allocated", owner: allocation.owner };
    const cooling = this.#cooling.get(key);
    if (cooling !== undefined) return { state: "quarantined", untilMs: cooling.untilMs, lastOwner: cooling.lastOwner };
    if (this.usable === undefined || !includes(this.usable, address)) return { state: "outside" };
    if (this.#reserved.has(address)) return { state: "reserved", reason: this.#reasonFor(address) };
    return this.excluded.has(address) ? { state: "excluded" } : { state: "free" };
  }

  at(address: Address): Allocation | undefined {
    return this.#byAddress.get(this.#keyOf(address));
  }

  of(owner: OwnerKey): Allocation | undefined {
    return this.#byOwner.get(owner);
  }

  allocations(): IterableIterator<Allocation> {
    return this.#byAddress.values();
  }

  /** The lowest free address at or above `from`. */
  nextFree(from: Address): Address | undefined {
    this.#settle();
    return this.#taken?.nextFree(from);
  }

  /** What this owner released last and may have back at once, before it has cooled for others. */
  returningTo(owner: OwnerKey): Address | undefined {
    this.#settle();
    const cooling = this.#cooling.of(owner);
    return cooling !== undefined && this.#mayBeGiven(cooling.address) ? cooling.address : undefined;
  }

  /** Addresses that could be given early, the one that has cooled longest first. */
  *coolingInOrder(): IterableIterator<Cooling> {
    this.#settle();
    for (const cooling of this.#cooling.inOrder()) if (this.#mayBeGiven(cooling.address)) yield cooling;
  }

  counts(): PoolCounts {
    this.#settle();
    this.#withheldCount ??=
      this.usable === undefined ? 0n : common([this.usable], union(this.excluded, this.#reserved)).size;
    return {
      usable: this.usable === undefined ? 0n : sizeOf(this.usable),
      free: this.#taken?.free() ?? 0n,
      allocated: this.#byAddress.size,
      quarantined: this.#cooling.count,
      withheld: this.#withheldCount,
    };
  }

  /**
   * Records that the owner has the address, from whatever state it was in: what the ledger says is true even of an address
   * that is excluded, cooling or outside. The same owner again is a renewal (a new container id). Throws where another has it.
   */
  take(address: Address, owner: Owner): Allocation {
    const key = this.#keyOf(address);
    const mine = ownerKey(owner);
    const holder = this.#byAddress.get(key);
    if (holder !== undefined && ownerKey(holder.owner) !== mine) {
      throw new PoolError(
        "held-by-another",
        `${address} is held by ${describeOwner(holder.owner)}, so ${describeOwner(owner)} cannot have it.`,
      );
    }
    const before = this.#byOwner.get(mine);
    if (before !== undefined && compare(before.address, address) !== 0) {
      throw new PoolError(
        "owner-has-another",
        `${describeOwner(owner)} has ${before.address} in this pool already: release it before it takes ${address}.`,
      );
    }
    this.#forgetContainer(before);
    const allocation = { address, owner };
    this.#byAddress.set(key, allocation);
    this.#byOwner.set(mine, allocation);
    this.#rememberContainer(allocation);
    this.#cooling.delete(key);
    this.#taken?.add(address);
    this.#lastTaken = address;
    return allocation;
  }

  /** Records what a ledger says of an address, against whatever the pool thought: it was another's, or that owner had another. */
  learn(address: Address, owner: Owner): void {
    this.forget(address);
    const before = this.#byOwner.get(ownerKey(owner));
    if (before !== undefined) this.forget(before.address);
    this.take(address, owner);
  }

  /** Takes back a record that proved wrong: the address is free again at once, without a rest. */
  forget(address: Address): void {
    const allocation = this.at(address);
    if (allocation === undefined) return;
    this.#drop(allocation);
    this.#freeAgain(address);
  }

  /** Releases what the owner has. Undefined where it has nothing. */
  releaseOwner(owner: OwnerKey): Allocation | undefined {
    return this.#release(this.#byOwner.get(owner));
  }

  /** Releases what one sandbox uses. A sandbox that a later one of the same owner has replaced uses nothing any more. */
  releaseContainer(containerId: string, interfaceName: string): Allocation | undefined {
    return this.#release(this.#containers().get(containerKey(containerId, interfaceName)));
  }

  /** Releases the address, whoever has it; with `onlyIf`, only from that owner. */
  releaseAddress(address: Address, onlyIf?: OwnerKey): Allocation | undefined {
    const allocation = this.at(address);
    if (allocation === undefined || (onlyIf !== undefined && ownerKey(allocation.owner) !== onlyIf)) return undefined;
    return this.#release(allocation);
  }

  /** Records a rest that a ledger remembers, after a restart. Ignored for an address that is held. */
  cool(cooling: Cooling): void {
    const key = this.#keyOf(cooling.address);
    if (this.#byAddress.has(key) || cooling.untilMs <= this.#now()) return;
    this.#cooling.add(key, cooling);
    this.#taken?.add(cooling.address);
  }

  #release(allocation: Allocation | undefined): Allocation | undefined {
    if (allocation === undefined) return undefined;
    const { address } = allocation;
    const lastOwner = this.#drop(allocation);
    if (this.#cooldownMs > 0)
      this.#cooling.add(this.#keyOf(address), { address, untilMs: this.#now() + this.#cooldownMs, lastOwner });
    else this.#freeAgain(address);
    return allocation;
  }

  #drop(allocation: Allocation): OwnerKey {
    const key = ownerKey(allocation.owner);
    this.#byAddress.delete(this.#keyOf(allocation.address));
    this.#byOwner.delete(key);
    this.#forgetContainer(allocation);
    return key;
  }

  /** Frees what has cooled. Called before every look at what is free. */
  #settle(): void {
    const nowMs = this.#now();
    if (!this.#cooling.due(nowMs)) return;
    for (const { address } of this.#cooling.expire(nowMs)) this.#freeAgain(address);
  }

  #freeAgain(address: Address): void {
    if (!this.#withheld(address)) this.#taken?.delete(address);
  }

  #withheld(address: Address): boolean {
    return this.excluded.has(address) || this.#reserved.has(address);
  }

  #mayBeGiven(address: Address): boolean {
    return this.usable !== undefined && includes(this.usable, address) && !this.#withheld(address);
  }

  #reasonFor(address: Address): string {
    return this.reservations.find(({ interval }) => includes(interval, address))?.reason ?? "reserved";
  }

  /** The offset inside the prefix where it is a safe number (always, in IPv4); the text otherwise, and for what lies below. */
  #keyOf(address: Address): AddressKey {
    return offsetBetween(this.definition.prefix.network, address) ?? address.toString();
  }

  #containers(): Map<string, Allocation> {
    if (this.#byContainer === undefined) {
      this.#byContainer = new Map();
      for (const allocation of this.#byAddress.values()) this.#rememberContainer(allocation);
    }
    return this.#byContainer;
  }

  #rememberContainer(allocation: Allocation): void {
    const { owner } = allocation;
    if (this.#byContainer === undefined || owner.kind !== "pod" || owner.containerId === undefined) return;
    this.#byContainer.set(containerKey(owner.containerId, owner.interface), allocation);
  }

  #forgetContainer(allocation: Allocation | undefined): void {
    const owner = allocation?.owner;
    if (owner?.kind !== "pod" || owner.containerId === undefined) return;
    this.#byContainer?.delete(containerKey(owner.containerId, owner.interface));
  }
}

function containerKey(containerId: string, interfaceName: string): string {
  return `${containerId}\0${interfaceName}`;
}
