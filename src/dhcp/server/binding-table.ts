// The bindings of one network. Each address, each MAC and each client identifier is in at most one of them.
import { clientKey } from "../options/client-identifier.ts";
import type { Binding } from "./binding.ts";

export class BindingTable {
  readonly #byAddress = new Map<number, Binding>();
  /** Key: macKeyOf. */
  readonly #byMac = new Map<number, Binding>();
  /** Key: clientKey. */
  readonly #byClient = new Map<string, Binding>();

  get size(): number {
    return this.#byAddress.size;
  }

  values(): IterableIterator<Binding> {
    return this.#byAddress.values();
  }

  ofAddress(address: number): Binding | undefined {
    return this.#byAddress.get(address);
  }

  /** A client identifier goes before the MAC (RFC 2131 section 4.2); one that no binding names says nothing. */
  find(macKey: number, clientIdentifier: Uint8Array | undefined): Binding | undefined {
    const isNamed = clientIdentifier !== undefined && this.#byClient.size > 0;
    return (isNamed ? this.#byClient.get(clientKey(clientIdentifier)) : undefined) ?? this.#byMac.get(macKey);
  }

  /** What was there of the same address or the same client is no more: the newest record is the one that counts. */
  set(binding: Binding): void {
    const { address, macKey, clientKey: client } = binding;
    for (const old of [
      this.#byAddress.get(address),
      macKey === undefined ? undefined : this.#byMac.get(macKey),
      client === undefined ? undefined : this.#byClient.get(client),
    ]) {
      if (old !== undefined) this.delete(old.address);
    }
    this.#byAddress.set(address, binding);
    if (macKey !== undefined) this.#byMac.set(macKey, binding);
    if (client !== undefined) this.#byClient.set(client, binding);
  }

  delete(address: number): void {
    const binding = this.#byAddress.get(address);
    if (binding === undefined) return;
    this.#byAddress.delete(address);
    if (binding.macKey !== undefined) this.#byMac.delete(binding.macKey);
    if (binding.clientKey !== undefined) this.#byClient.delete(binding.clientKey);
  }
}
