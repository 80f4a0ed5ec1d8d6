// All objects of one resource, in memory, listed in key order.
import type { Entry } from "./entry.ts";
import { keyOf } from "./entry.ts";

export class Collection {
  /** Key: namespace/name, or name. */
  readonly #entries = new Map<string, Entry>();
  /** Undefined when a key came or went since the last sort. */
  #sorted: string[] | undefined = [];

  get(namespace: string, name: string): Entry | undefined {
    return this.#entries.get(keyOf(namespace, name));
  }

  get size(): number {
    return this.#entries.size;
  }

  set(entry: Entry): void {
    const key = keyOf(entry.namespace, entry.name);
    if (!this.#entries.has(key)) this.#sorted = undefined;
    this.#entries.set(key, entry);
  }

  delete(namespace: string, name: string): void {
    if (this.#entries.delete(keyOf(namespace, name))) this.#sorted = undefined;
  }

  values(): Iterable<Entry> {
    return this.#entries.values();
  }

  /** In key order; `past` differs from now as History.rewind says. */
  *list(namespace: string | undefined, after: string, past?: Map<string, Entry | undefined>): Generator<Entry> {
    const prefix = namespace === undefined ? "" : `${namespace}/`;
    const keys = past === undefined ? this.#keys() : [...new Set([...this.#keys(), ...past.keys()])].sort();
    for (let at = firstAbove(keys, after > prefix ? after : prefix); at < keys.length; at++) {
      const key = keys[at]!;
      if (!key.startsWith(prefix)) return;
      const entry = past?.has(key) ? past.get(key) : this.#entries.get(key);
      if (entry !== undefined) yield entry;
    }
  }

  #keys(): string[] {
    this.#sorted ??= [...this.#entries.keys()].sort();
    return this.#sorted;
  }
}

/** The first index whose key is greater than `bound`. */
function firstAbove(keys: readonly string[], bound: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (keys[middle]! <= bound) low = middle + 1;
    else high = middle;
  }
  return low;
}
