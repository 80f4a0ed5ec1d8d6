// Holds found by a text of theirs, such as a container id, that few of them share. Half of what a million entries cost in a Map of texts.
import type { Hold } from "../../ipam/ledger.ts";
import { hashText, SlotIndex } from "../../ipam/slot-index.ts";

export class HoldIndex {
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
    if (text === undefined) return;
    const hash = hashText(text);
    const slot = this.#index.find(hash, (each) => this.#holds[each] === hold);
    if (slot < 0) return;
    this.#index.delete(hash, slot);
    this.#holds[slot] = undefined;
    this.#unused.push(slot);
  }
}
