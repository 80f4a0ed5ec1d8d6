// The holds of a journal in memory, and cooling addresses, by domain and address; found by owner and by sandbox too.
// Promised: whatever is set is found by every way. Nothing here decides.
import { type Cooling, CoolingQueue } from "../../ipam/cooling.ts";
import type { Domain, Hold } from "../../ipam/ledger.ts";
import { type Owner, type OwnerKey, ownerKey } from "../../ipam/owner.ts";
import { hashText, SlotIndex } from "../../ipam/slot-index.ts";
import type { Address } from "../../net/address.ts";

interface Book {
  /** address -> the hold */
  readonly holds: Map<number | string, Hold>;
  readonly cooling: CoolingQueue;
}

export class JournalHolds {
  readonly #books = new Map<Domain, Book>();
  /** UID, or namespace/name where there is none -> holds of any domain */
  readonly #byIdentity = new HoldIndex(({ owner: { uid, namespace, name } }) =>
    identityOf(uid === "" ? `${namespace}/${name}` : uid),
  );
  /** container id -> holds of any domain */
  readonly #byContainer = new HoldIndex(({ owner }) => containerOf(owner));
  #count = 0;

  get count(): number {
    return this.#count;
  }

  get restCount(): number {
    let sum = 0;
    for (const { cooling } of this.#books.values()) sum += cooling.count;
    return sum;
  }

  get(domain: Domain, address: Address): Hold | undefined {
    return this.#books.get(domain)?.holds.get(keyOf(address));
  }

  /** Undefined as `hold`: there is none from now on. */
  set(domain: Domain, address: Address, hold: Hold | undefined): void {
    const { holds } = this.#book(domain);
    const key = keyOf(address);
    const before = holds.get(key);
    if (before !== undefined) {
      this.#count -= 1;
      this.#byIdentity.delete(before);
      this.#byContainer.delete(before);
    }
    if (hold === undefined) return void holds.delete(key);
    holds.set(key, hold);
    this.#count += 1;
    this.#byIdentity.add(hold);
    this.#byContainer.add(hold);
  }

  /** By this journal's cooldown clock. */
  resting(domain: Domain, address: Address, nowMs: number): Cooling | undefined {
    return this.#cooling(domain, nowMs)?.get(keyOf(address));
  }

  /** Undefined: it does not cool from now on. */
  rest(domain: Domain, address: Address, rest: Cooling | undefined): void {
    const { cooling } = this.#book(domain);
    if (rest === undefined) cooling.delete(keyOf(address));
    else cooling.add(keyOf(address), rest);
  }

  *rests(domain: Domain, nowMs: number): IterableIterator<Cooling> {
    yield* this.#cooling(domain, nowMs)?.inOrder() ?? [];
  }

  of(domain: Domain): Iterable<Hold> {
    return this.#books.get(domain)?.holds.values() ?? [];
  }

  domains(): readonly Domain[] {
    return [...this.#books.keys()];
  }

  ofOwner(domain: Domain, key: OwnerKey): Hold[] {
    const holds = this.#byIdentity.get(identityOf(key.split(":", 2)[1] ?? ""));
    return holds.filter((hold) => hold.domain === domain && ownerKey(hold.owner) === key);
  }

  ofContainer(containerId: string): Hold[] {
    return this.#byContainer.get(containerId);
  }

  #book(domain: Domain): Book {
    const book = this.#books.get(domain) ?? { holds: new Map<number | string, Hold>(), cooling: new CoolingQueue() };
    this.#books.set(domain, book);
    return book;
  }

  #cooling(domain: Domain, nowMs: number): CoolingQueue | undefined {
    const cooling = this.#books.get(domain)?.cooling;
    // To its end: each that it yields is taken out.
    if (cooling?.due(nowMs)) for (const _ of cooling.expire(nowMs));
    return cooling;
  }
}

/** Different for any two addresses: an IPv4 address is a number, an IPv6 address a text. */
function keyOf(address: Address): number | string {
  return address.family === 4 ? address.value : address.toString();
}

/**
 * The part of an owner's key that narrows the search, without making the key: no new strings for a million holds. A UID
 * has no colon; should one have one, both ways to this text cut it at the same place.
 */
function identityOf(text: string): string {
  const colon = text.indexOf(":");
  return colon < 0 ? text : text.slice(0, colon);
}

function containerOf(owner: Owner): string | undefined {
  // Records of older systems may have an empty one: thousands of holds under one text, which finds none of them.
  return owner.kind === "pod" && owner.containerId !== "" ? owner.containerId : undefined;
}

/** Holds by a text that few of them share, such as a container id. A Map of a million texts costs twice as much. */
class HoldIndex {
  readonly #textOf: (hold: Hold) => string | undefined;
  /** Slot -> hold; undefined where the slot is unused. */
  readonly #holds: (Hold | undefined)[] = [];
  readonly #unused: number[] = [];
  readonly #index = new SlotIndex();

  /** Undefined: the hold is not found by a text. */
  constructor(textOf: (hold: Hold) => string | undefined) {
    this.#textOf = textOf;
  }

  get(text: string): Hold[] {
    const found: Hold[] = [];
    this.#index.find(hashText(text), (slot) => {
      const hold = this.#holds[slot]!;
      if (this.#textOf(hold) === text) found.push(hold);
      return false; // on to the next
    });
    return found;
  }

  add(hold: Hold): void {
    const text = this.#textOf(hold);
    if (text === undefined) return;
    const slot = this.#unused.pop() ?? this.#holds.length;
    this.#holds[slot] = hold;
    this.#index.add(hashText(text), slot);
  }

  delete(hold: Hold): void {
    const text = this.#textOf(hold);
    const hash = text === undefined ? undefined : hashText(text);
    const slot = hash === undefined ? -1 : this.#index.find(hash, (each) => this.#holds[each] === hold);
    if (hash === undefined || slot < 0) return;
    this.#index.delete(hash, slot);
    this.#holds[slot] = undefined;
    this.#unused.push(slot);
  }
}
