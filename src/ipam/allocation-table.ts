// Who has what, both ways: by address and by owner. One owner has one address here, one address one owner.
import { type Address, equal, V4Address, type V6Address } from "../net/address.ts";
import { type Owner, sameOwner } from "./owner.ts";
import { hashText, hashWord, SlotIndex } from "./slot-index.ts";

/** Owners as numbers, kept by somebody who has very many that are alike. */
export interface PackedOwners {
  /** Undefined: it is none of those, and is kept as it is. To be dropped as often as it was kept. */
  keep(owner: Owner): number | undefined;
  get(kept: number): Owner;
  drop(kept: number): void;
}

export interface Allocation {
  readonly address: Address;
  readonly owner: Owner;
}

/** Of IPv4 the number, with the highest bit as its sign: V8 keeps such a number in an array itself. */
export type PackedAddress = number | V6Address;

export class AllocationTable {
  /** Slot -> address and owner; undefined: an unused slot. Two arrays, not pairs: a million fewer objects. */
  readonly #addresses: (PackedAddress | undefined)[] = [];
  readonly #owners: (Owner | number | undefined)[] = [];
  readonly #unused: number[] = [];
  readonly #byAddress = new SlotIndex();
  readonly #byOwner = new SlotIndex();

  readonly #packed: PackedOwners | undefined;

  constructor(packed?: PackedOwners) {
    this.#packed = packed;
  }

  get size(): number {
    return this.#addresses.length - this.#unused.length;
  }

  ownerAt(address: Address): Owner | undefined {
    return this.#ownerIn(this.#slotAt(address, hashAddress(address)));
  }

  addressOf(owner: Owner): Address | undefined {
    return this.#addressIn(this.#slotOf(owner, hashOwner(owner)));
  }

  *values(): IterableIterator<Allocation> {
    for (const slot of this.#addresses.keys()) {
      const address = this.#addressIn(slot);
      if (address !== undefined) yield { address, owner: this.#ownerIn(slot)! };
    }
  }

  /**
   * Records that the owner has the address. For the same record again, the owner's newer description replaces the
   * older. Where another has the address, or the owner has another, nothing changes and that record is returned.
   * `mayPack`: the owner that comes out is equal, and need not be the same object.
   */
  put(address: Address, owner: Owner, mayPack = false): Allocation | undefined {
    const addressHash = hashAddress(address);
    const ownerHash = hashOwner(owner);
    const at = this.#slotAt(address, addressHash);
    const of = this.#slotOf(owner, ownerHash);
    if (at !== of) {
      const conflict = at < 0 ? of : at;
      return { address: this.#addressIn(conflict)!, owner: this.#ownerIn(conflict)! };
    }
    const kept = (mayPack ? this.#packed?.keep(owner) : undefined) ?? owner;
    if (at >= 0) {
      this.#drop(at);
      this.#owners[at] = kept;
      return undefined;
    }
    const slot = this.#unused.pop() ?? this.#addresses.length;
    this.#addresses[slot] = packAddress(address);
    this.#owners[slot] = kept;
    this.#byAddress.add(addressHash, slot);
    this.#byOwner.add(ownerHash, slot);
    return undefined;
  }

  delete(address: Address): void {
    const addressHash = hashAddress(address);
    const slot = this.#slotAt(address, addressHash);
    if (slot < 0) return;
    this.#byAddress.delete(addressHash, slot);
    this.#byOwner.delete(hashOwner(this.#ownerIn(slot)!), slot);
    this.#drop(slot);
    this.#addresses[slot] = undefined;
    this.#owners[slot] = undefined;
    this.#unused.push(slot);
  }

  #addressIn(slot: number): Address | undefined {
    const address = this.#addresses[slot];
    return address === undefined ? undefined : unpackAddress(address);
  }

  #ownerIn(slot: number): Owner | undefined {
    const owner = this.#owners[slot];
    return typeof owner === "number" ? this.#packed!.get(owner) : owner;
  }

  #drop(slot: number): void {
    const owner = this.#owners[slot];
    if (typeof owner === "number") this.#packed!.drop(owner);
  }

  #slotAt(address: Address, hash: number): number {
    const packed = packAddress(address);
    return this.#byAddress.find(hash, (slot) => isSameAddress(this.#addresses[slot]!, packed));
  }

  #slotOf(owner: Owner, hash: number): number {
    return this.#byOwner.find(hash, (slot) => sameOwner(this.#ownerIn(slot)!, owner));
  }
}

export function packAddress(address: Address): PackedAddress {
  return address.family === 4 ? address.value | 0 : address;
}

export function unpackAddress(packed: PackedAddress): Address {
  return typeof packed === "number" ? new V4Address(packed >>> 0) : packed;
}

export function isSameAddress(one: PackedAddress, other: PackedAddress): boolean {
  return one === other || (typeof one !== "number" && typeof other !== "number" && equal(one, other));
}

export function hashAddress(address: Address): number {
  if (address.family === 4) return hashWord(address.value);
  return hashWord(hashWord(address.w0 ^ hashWord(address.w1)) ^ hashWord(address.w2 ^ hashWord(address.w3 + 1)));
}

/**
 * Interfaces of one pod share a hash; they are few and told apart by comparison. NICs do not: their number is a
 * tenant's to write, and with 1,000 in one network config a look-up took 1,000 steps.
 */
function hashOwner(owner: Owner): number {
  if (owner.kind === "nic") return hashText(owner.nic, hashText(owner.uid));
  return owner.uid === "" ? hashText(owner.name, hashText(owner.namespace)) : hashText(owner.uid);
}
