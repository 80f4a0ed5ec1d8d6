// Claims that are being made and that the cache does not show yet: they count against the limit of their namespace. Many VMs are planned in
// the same moment, and each would take the last place for its own.
import type { Clock } from "../kube/clock.ts";
import { parseKey } from "../kube/meta.ts";

/** A watch that lags longer lets a claim count as not made; the limit is then passed by what is in between. */
const rememberMs = 60_000;

export class Making {
  readonly #clock: Clock;
  readonly #isCached: (key: string) => boolean;
  /** Namespace -> key of the claim -> until when it is remembered. */
  readonly #made = new Map<string, Map<string, number>>();

  constructor(clock: Clock, isCached: (key: string) => boolean) {
    this.#clock = clock;
    this.#isCached = isCached;
  }

  /** It is about to be made. */
  begin(key: string): void {
    const { namespace = "" } = parseKey(key);
    const known = this.#made.get(namespace) ?? new Map<string, number>();
    known.set(key, this.#clock.monotonicMs() + rememberMs);
    this.#made.set(namespace, known);
  }

  /** It was not made. */
  drop(key: string): void {
    const { namespace = "" } = parseKey(key);
    this.#made.get(namespace)?.delete(key);
  }

  /** Those that are made or being made, and not in the cache. */
  count(namespace: string): number {
    const known = this.#made.get(namespace);
    if (known === undefined) return 0;
    const nowMs = this.#clock.monotonicMs();
    for (const [key, untilMs] of known) if (untilMs <= nowMs || this.#isCached(key)) known.delete(key);
    if (known.size === 0) this.#made.delete(namespace);
    return known.size;
  }
}
