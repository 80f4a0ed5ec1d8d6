// A map of several values per key. Most keys have one value: no set is made for those.

export class MultiMap<V extends object | string> {
  readonly #entries = new Map<string, V | Set<V>>();

  get(key: string): readonly V[] {
    const known = this.#entries.get(key);
    if (known === undefined) return [];
    return known instanceof Set ? [...known] : [known];
  }

  keys(): Iterable<string> {
    return this.#entries.keys();
  }

  add(key: string, value: V): void {
    const known = this.#entries.get(key);
    if (known === undefined) this.#entries.set(key, value);
    else if (known instanceof Set) known.add(value);
    else if (known !== value) this.#entries.set(key, new Set([known, value]));
  }

  delete(key: string, value: V): void {
    const known = this.#entries.get(key);
    if (known === value) this.#entries.delete(key);
    if (!(known instanceof Set)) return;
    known.delete(value);
    if (known.size === 0) this.#entries.delete(key);
  }
}
