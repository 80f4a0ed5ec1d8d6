// The bindings of one network. Each address and each MAC is in at most one of them.
import type { BindingV6 } from "./binding.ts";

export class BindingTableV6 {
  /** Key: keyOf the address. */
  readonly #byAddress = new Map<string, BindingV6>();
  /** Key: macKeyOf. */
  readonly #byMac = new Map<number, BindingV6>();

  get size(): number {
    return this.#byAddress.size;
  }

  values(): IterableIterator<BindingV6> {
    return this.#byAddress.values();
  }

  ofAddress(key: string): BindingV6 | undefined {
    return this.#byAddress.get(key);
  }

  find(macKey: number): BindingV6 | undefined {
    return this.#byMac.get(macKey);
  }

  /** What was there of the same address or the same client is no more: the newest record is the one that counts. */
  set(binding: BindingV6): void {
    for (const old of [this.#byAddress.get(binding.key), this.#byMac.get(binding.macKey)]) {
      if (old !== undefined) this.delete(old.key);
    }
    this.#byAddress.set(binding.key, binding);
    this.#byMac.set(binding.macKey, binding);
  }

  /** By keyOf the address. */
  delete(key: string): void {
    const binding = this.#byAddress.get(key);
    if (binding === undefined) return;
    this.#byAddress.delete(key);
    this.#byMac.delete(binding.macKey);
  }
}
