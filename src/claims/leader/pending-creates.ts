// Claims that are being made, or were made and are not shown by the watch yet. They count against the limit of their namespace: many VMs are planned in
// the same moment, and each would take the last place for its own. And they are facts of their family: a plan from caches could make a second claim for
// the same NIC under its other name, since the watch shows that the first name is free before it shows who has the second.
import type { StoredClaim } from "../../cluster/resources.ts";
import type { Clock } from "../../kube/clock.ts";
import { type DeepReadonly, keyOf, parseKey } from "../../kube/meta.ts";

/** A claim that was made and gone before the watch came again is never shown. Where a watch lags longer, the limit is passed by what is in between. */
const rememberMs = 60_000;

interface Pending {
  readonly untilMs: number;
  /** As it was made; undefined: there is no answer yet. */
  readonly claim?: StoredClaim;
  readonly family?: string;
}

export class PendingCreates {
  readonly #clock: Clock;
  readonly #cached: (key: string) => DeepReadonly<StoredClaim> | undefined;
  /** Namespace -> key of the claim. */
  readonly #pending = new Map<string, Map<string, Pending>>();

  constructor(clock: Clock, cached: (key: string) => DeepReadonly<StoredClaim> | undefined) {
    this.#clock = clock;
    this.#cached = cached;
  }

  begin(key: string): void {
    this.#set(key, {});
  }

  made(family: string, claim: StoredClaim): void {
    this.#set(keyOf(claim), { family, claim });
  }

  drop(key: string): void {
    this.#pending.get(parseKey(key).namespace ?? "")?.delete(key);
  }

  /** The watch shows it, or its end. One of the same name before it is another. */
  see(claim: DeepReadonly<StoredClaim>): void {
    const known = this.#pending.get(claim.metadata.namespace ?? "")?.get(keyOf(claim));
    if (known?.claim?.metadata.uid === claim.metadata.uid) this.drop(keyOf(claim));
  }

  /** How many of a namespace are not in the cache. */
  count(namespace: string): number {
    return this.#of(namespace).filter(([key]) => this.#cached(key) === undefined).length;
  }

  of(family: string): readonly StoredClaim[] {
    const all = this.#of(parseKey(family).namespace ?? "");
    return all.flatMap(([, each]) => (each.family === family ? (each.claim ?? []) : []));
  }

  #set(key: string, pending: Omit<Pending, "untilMs">): void {
    const { namespace = "" } = parseKey(key);
    const known = this.#pending.get(namespace) ?? new Map<string, Pending>();
    known.set(key, { ...pending, untilMs: this.#clock.monotonicMs() + rememberMs });
    this.#pending.set(namespace, known);
  }

  #of(namespace: string): readonly (readonly [string, Pending])[] {
    const known = this.#pending.get(namespace);
    if (known === undefined) return [];
    const nowMs = this.#clock.monotonicMs();
    for (const [key, { claim, untilMs }] of known) {
      const cached = this.#cached(key);
      const isShown = cached !== undefined && (claim ?? cached).metadata.uid === cached.metadata.uid;
      if (untilMs <= nowMs || isShown) known.delete(key);
    }
    if (known.size === 0) this.#pending.delete(namespace);
    return [...known];
  }
}
