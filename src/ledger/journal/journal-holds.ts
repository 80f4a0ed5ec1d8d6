// The holds of a journal in memory, and what rests, by domain and address; found by owner and by sandbox too.
// Promised: whatever is set is found by every way. Nothing here decides.
import { type Cooling, CoolingQueue } from "../../ipam/cooling.ts";
import type { Domain, Hold } from "../../ipam/ledger.ts";
import { type Owner, type OwnerKey, ownerKey } from "../../ipam/owner.ts";
import type { Address } from "../../net/address.ts";
import { HoldIndex } from "./hold-index.ts";

interface Book {
  /** address -> the hold */
  readonly holds: Map<number | string, Hold>;
  readonly cooling: CoolingQueue;
}

export class JournalHolds {
  readonly #books = new Map<Domain, Book>();
  /** UID, or namespace/name where there is none -> holds of any domain */
  readonly #byIdentity = new HoldIndex(({ owner }) => identityOfOwner(owner));
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

  /** By this journal's rest clock. */
  resting(domain: Domain, address: Address, nowMs: number): Cooling | undefined {
    const book = this.#books.get(domain);
    if (book === undefined) return undefined;
    expire(book, nowMs);
    return book.cooling.get(keyOf(address));
  }

  /** Undefined: it does not rest from now on. */
  rest(domain: Domain, address: Address, cooling: Cooling | undefined): void {
    const book = this.#book(domain);
    if (cooling === undefined) book.cooling.delete(keyOf(address));
    else book.cooling.add(keyOf(address), cooling);
  }

  *rests(domain: Domain, nowMs: number): IterableIterator<Cooling> {
    const book = this.#books.get(domain);
    if (book === undefined) return;
    expire(book, nowMs);
    yield* book.cooling.inOrder();
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
    const known = this.#books.get(domain);
    if (known !== undefined) return known;
    const book = { holds: new Map<number | string, Hold>(), cooling: new CoolingQueue() };
    this.#books.set(domain, book);
    return book;
  }
}

/** Different for any two addresses: an IPv4 address is a number, an IPv6 address a text. */
function keyOf(address: Address): number | string {
  return address.family === 4 ? address.value : address.toString();
}

function expire({ cooling }: Book, nowMs: number): void {
  if (!cooling.due(nowMs)) return;
  // To its end: each that it yields is taken out.
  for (const _ of cooling.expire(nowMs));
}

/** The part of an owner's key that narrows the search, without making the key: texts of a million holds are not made anew. */
function identityOfOwner({ uid, namespace, name }: Owner): string {
  return uid === "" ? identityOf(`${namespace}/${name}`) : identityOf(uid);
}

/** A UID has no colon; should one have one, both ways to this text cut it at the same place. */
function identityOf(text: string): string {
  const colon = text.indexOf(":");
  return colon < 0 ? text : text.slice(0, colon);
}

function containerOf(owner: Owner): string | undefined {
  // Records of older systems may have an empty one: thousands of holds under one text, which finds none of them.
  return owner.kind === "pod" && owner.containerId !== "" ? owner.containerId : undefined;
}
