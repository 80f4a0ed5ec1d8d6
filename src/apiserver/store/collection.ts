// All objects of one resource, in memory, listed in key order.
import { type Entry, keyOf } from "./entry.ts";

export class Collection {
  /** Key: namespace/name, or name. */
  readonly #entries = new Map<string, Entry>();
  /** The same keys in order. Most new ones go to the end, or near it; moving the rest of 100,000 costs some 20 us. */
  readonly #keys: string[] = [];

  get(namespace: string, name: string): Entry | undefined {
    return this.#entries.get(keyOf(namespace, name));
  }

  get size(): number {
    return this.#entries.size;
  }

  set(entry: Entry): void {
    const key = keyOf(entry.namespace, entry.name);
    if (!this.#entries.has(key)) {
      const last = this.#keys.at(-1);
      if (last === undefined || last < key) this.#keys.push(key);
      else this.#keys.splice(firstAbove(this.#keys, key), 0, key);
    }
    this.#entries.set(key, entry);
  }

  delete(namespace: string, name: string): void {
    const key = keyOf(namespace, name);
    if (this.#entries.delete(key)) this.#keys.splice(firstAbove(this.#keys, key) - 1, 1);
  }

  values(): Iterable<Entry> {
    return this.#entries.values();
  }

  /** Of a namespace ("": all), in key order; read to its end without an await. `past` is of History.rewind. */
  *list(namespace: string, after = "", past?: Map<string, Entry | undefined>): Generator<Entry> {
    const prefix = namespace === "" ? "" : `${namespace}/`;
    const keys = past === undefined ? this.#keys : [...new Set([...this.#keys, ...past.keys()])].sort();
    for (let at = firstAbove(keys, after > prefix ? after : prefix); at < keys.length; at++) {
      const key = keys[at]!;
      if (!key.startsWith(prefix)) return;
      const entry = past?.has(key) ? past.get(key) : this.#entries.get(key);
      if (entry !== undefined) yield entry;
    }
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
