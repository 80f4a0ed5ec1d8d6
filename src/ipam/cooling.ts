// Released addresses that cool before reuse, ordered by when their cooldown ends.
import type { Address } from "../net/address.ts";
import type { OwnerKey } from "./owner.ts";

export interface Cooling {
  readonly address: Address;
  readonly untilMs: number;
  /** Who had it last: that owner may come back at once. */
  readonly lastOwner: OwnerKey;
}

/** The pool's key of an address: what tells two addresses apart. */
export type AddressKey = number | string;

interface Entry extends Cooling {
  readonly key: AddressKey;
}

/** A binary heap by untilMs with a map beside it. An entry that the map no longer names is stale and skipped. */
export class CoolingQueue {
  #heap: Entry[] = [];
  /** address key -> the entry that counts */
  readonly #current = new Map<AddressKey, Entry>();
  /** last owner -> what it released last and may have back */
  readonly #byOwner = new Map<OwnerKey, Entry>();

  get count(): number {
    return this.#current.size;
  }

  get(key: AddressKey): Cooling | undefined {
    return this.#current.get(key);
  }

  /** The address that this owner released last, while it cools. */
  of(owner: OwnerKey): Cooling | undefined {
    return this.#byOwner.get(owner);
  }

  add(key: AddressKey, cooling: Cooling): void {
    this.delete(key);
    const entry = { key, ...cooling };
    this.#current.set(key, entry);
    this.#byOwner.set(cooling.lastOwner, entry);
    const heap = this.#heap;
    let at = heap.push(entry) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (heap[parent]!.untilMs <= heap[at]!.untilMs) break;
      swap(heap, parent, at);
      at = parent;
    }
    // Stale entries leave when they reach the top; many early retakes must not pile up below it.
    if (heap.length > 64 && heap.length > 2 * this.#current.size) this.#heap = this.#sorted();
  }

  delete(key: AddressKey): void {
    const entry = this.#current.get(key);
    if (entry === undefined) return;
    this.#current.delete(key);
    if (this.#byOwner.get(entry.lastOwner) === entry) this.#byOwner.delete(entry.lastOwner);
  }

  /** Takes out every address whose cooldown is over. */
  *expire(nowMs: number): IterableIterator<Cooling> {
    for (;;) {
      const top = this.#heap[0];
      if (top === undefined || top.untilMs > nowMs) return;
      this.#pop();
      if (this.#current.get(top.key) !== top) continue;
      this.delete(top.key);
      yield top;
    }
  }

  /** True where `expire` has something to look at: the cheap question before every operation. */
  due(nowMs: number): boolean {
    const top = this.#heap[0];
    return top !== undefined && top.untilMs <= nowMs;
  }

  /**
   * All cooling addresses, the one nearest its end first: with one cooldown per pool, the one that has cooled longest.
   * The first is found at once; only a second costs the sorting.
   */
  *inOrder(): IterableIterator<Cooling> {
    while (this.#heap[0] !== undefined && this.#current.get(this.#heap[0].key) !== this.#heap[0]) this.#pop();
    const first = this.#heap[0];
    if (first === undefined) return;
    yield first;
    for (const entry of this.#sorted()) if (entry !== first) yield entry;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop()!;
    if (heap.length === 0) return;
    heap[0] = last;
    for (let at = 0; ;) {
      const left = 2 * at + 1;
      if (left >= heap.length) return;
      const right = left + 1;
      const child = right < heap.length && heap[right]!.untilMs < heap[left]!.untilMs ? right : left;
      if (heap[at]!.untilMs <= heap[child]!.untilMs) return;
      swap(heap, at, child);
      at = child;
    }
  }

  /** By untilMs: a heap, too. */
  #sorted(): Entry[] {
    return [...this.#current.values()].sort((a, b) => a.untilMs - b.untilMs);
  }
}

function swap(heap: Entry[], a: number, b: number): void {
  const entry = heap[a]!;
  heap[a] = heap[b]!;
  heap[b] = entry;
}
