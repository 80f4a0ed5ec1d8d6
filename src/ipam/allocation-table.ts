// Who has what, both ways: by address and by owner. One owner has one address here, one address one owner.
import { type Address, equal } from "../net/address.ts";
import { type Owner, sameOwner } from "./owner.ts";
import { hashText, hashWord, SlotIndex } from "./slot-index.ts";

export interface Allocation {
  readonly address: Address;
  readonly owner: Owner;
}

export class AllocationTable {
  /** Slot -> address and owner; undefined: an unused slot. Two arrays, not pairs: a million fewer objects. */
  readonly #addresses: (Address | undefined)[] = [];
  readonly #owners: (Owner | undefined)[] = [];
  readonly #unused: number[] = [];
  readonly #byAddress = new SlotIndex();
  readonly #byOwner = new SlotIndex();

  get size(): number {
    return this.#addresses.length - this.#unused.length;
  }

  ownerAt(address: Address): Owner | undefined {
    return this.#owners[this.#slotAt(address, hashAddress(address))];
  }

  addressOf(owner: Owner): Address | undefined {
    return this.#addresses[this.#slotOf(owner, hashOwner(owner))];
  }

  *values(): IterableIterator<Allocation> {
    for (const [slot, address] of this.#addresses.entries()) {
      if (address !== undefined) yield { address, owner: this.#owners[slot]! };
    }
  }

  /**
   * Records that the owner has the address. For the same record again, the owner's newer description replaces the
   * older. Where another has the address, or the owner has another, nothing changes and that record is returned.
   */
  put(address: Address, owner: Owner): Allocation | undefined {
    const addressHash = hashAddress(address);
    const ownerHash = hashOwner(owner);
    const at = this.#slotAt(address, addressHash);
    const of = this.#slotOf(owner, ownerHash);
    if (at !== of) {
      const conflict = at < 0 ? of : at;
      return { address: this.#addresses[conflict]!, owner: this.#owners[conflict]! };
    }
    if (at >= 0) {
      this.#owners[at] = owner;
      return undefined;
    }
    const slot = this.#unused.pop() ?? this.#addresses.length;
    this.#addresses[slot] = address;
    this.#owners[slot] = owner;
    this.#byAddress.add(addressHash, slot);
    this.#byOwner.add(ownerHash, slot);
    return undefined;
  }

  delete(address: Address): void {
    const addressHash = hashAddress(address);
    const slot = this.#slotAt(address, addressHash);
    if (slot < 0) return;
    this.#byAddress.delete(addressHash, slot);
    this.#byOwner.delete(hashOwner(this.#owners[slot]!), slot);
    this.#addresses[slot] = undefined;
    this.#owners[slot] = undefined;
    this.#unused.push(slot);
  }

  #slotAt(address: Address, hash: number): number {
    return this.#byAddress.find(hash, (slot) => equal(this.#addresses[slot]!, address));
  }

  #slotOf(owner: Owner, hash: number): number {
    return this.#byOwner.find(hash, (slot) => sameOwner(this.#owners[slot]!, owner));
  }
}

function hashAddress(address: Address): number {
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
