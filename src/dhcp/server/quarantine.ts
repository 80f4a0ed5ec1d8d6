// Addresses not to be handed out for a while, because another host seems to use them (RFC 2131 section 4.3.3).

/** Only bound addresses, one per DECLINE of its client. Beyond, the oldest is forgotten: 4,096 x 50 B = 0.2 MiB. */
const addressesMax = 4096;

/** Keyed by what a family has for an address: IPv4 its number, IPv6 a text of its bytes. */
export class Quarantine<Key = number> {
  /** Address -> when it ends; in the order of entry. */
  readonly #untilMs = new Map<Key, number>();

  add(address: Key, untilMs: number): void {
    this.#untilMs.delete(address);
    this.#untilMs.set(address, untilMs);
    if (this.#untilMs.size <= addressesMax) return;
    const [oldest] = this.#untilMs.keys();
    this.#untilMs.delete(oldest!);
  }

  /** Whoever knows that the conflict is over need not wait for the end. */
  delete(address: Key): void {
    this.#untilMs.delete(address);
  }

  has(address: Key, nowMs: number): boolean {
    if (this.#untilMs.size === 0) return false;
    const untilMs = this.#untilMs.get(address);
    if (untilMs === undefined) return false;
    if (untilMs > nowMs) return true;
    this.#untilMs.delete(address);
    return false;
  }
}
