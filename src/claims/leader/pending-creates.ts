// Claims that are being made, or that the watch does not show yet. They count against their namespace's limit: of many
// VMs planned at once each would take the last place. And they are facts of their family: the watch shows that a NIC's
// first name is free before it shows who has the second, so a plan from caches could make a second claim for the NIC.
import type { StoredClaim } from "../../cluster/resources.ts";
import type { Clock } from "../../kube/clock.ts";
import { type DeepReadonly, keyOf, parseKey } from "../../kube/meta.ts";

/** The watch never shows a claim that came and went between two looks. With a longer lag the limit can be passed. */
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
