// Holds found by a text that few of them share. Most texts have one hold, so that one needs no list.
import type { Hold } from "../../ipam/ledger.ts";

export class HoldIndex {
  /** text -> the hold, or several */
  readonly #holds = new Map<string, Hold | Hold[]>();

  get(text: string): readonly Hold[] {
    const found = this.#holds.get(text);
    if (found === undefined) return [];
    return Array.isArray(found) ? found : [found];
  }

  add(text: string, hold: Hold): void {
    const found = this.#holds.get(text);
    if (found === undefined) this.#holds.set(text, hold);
    else if (Array.isArray(found)) found.push(hold);
    else this.#holds.set(text, [found, hold]);
  }

  delete(text: string, hold: Hold): void {
    const left = this.get(text).filter((each) => each !== hold);
    if (left.length > 1) this.#holds.set(text, left);
    else if (left.length === 1) this.#holds.set(text, left[0]!);
    else this.#holds.delete(text);
  }
}
