// The nodes of a cluster as the plan wants them: who is there, leaving, silent, gone, fenced.
import { nodeOfLease, renewTimeOf, trimLease } from "../cluster/fencing.ts";
import type { ReconcilerOptions } from "../cluster/reconciler-options.ts";
import { leases } from "../cluster/resources.ts";
import type { Lease } from "../kube/lease.ts";
import type { DeepReadonly } from "../kube/meta.ts";
import type { SliceCaches } from "./caches.ts";
import type { NodeFacts } from "./plan/facts.ts";

/** How long the Lease of a deleted node says that it is fenced: its leftovers are collected within minutes. */
const rememberedMs = 3_600_000;

export class Nodes {
  readonly #options: ReconcilerOptions & { readonly caches: SliceCaches };
  /** Node -> its facts at the last look, as text. */
  readonly #before = new Map<string, string>();
  /** Deleted node -> since when it was seen fenced, without a break. */
  readonly #fencedMs = new Map<string, number>();

  constructor(options: ReconcilerOptions & { readonly caches: SliceCaches }) {
    this.#options = options;
  }

  facts(name: string): NodeFacts {
    const { nodes, presence } = this.#options;
    const isThere = nodes.cache.get(name) !== undefined;
    const isFresh = presence.isFresh(name);
    const fenced = presence.fenced(name);
    const isOff = fenced !== undefined && !isThere;
    const nowMs = this.#options.clock.monotonicMs();
    const sinceMs = this.#fencedMs.get(name) ?? nowMs;
    if (isOff) this.#fencedMs.set(name, sinceMs);
    else this.#fencedMs.delete(name);
    return {
      name,
      isPresent: isThere || isFresh,
      isLeaving: !isThere && isFresh && !presence.isAlone,
      fenced,
      isOver: isOff && nowMs - sinceMs >= rememberedMs,
      isSilent: !isFresh,
    };
  }

  /** Every Node by name, and the nodes of the list, each once. A node without a Node object gets nothing new. */
  all(extra: Iterable<string>): NodeFacts[] {
    const { nodes, presence } = this.#options;
    const names = new Set([...nodes.cache.keys(), ...(presence.isAlone ? this.#leased() : []), ...extra]);
    return [...names].sort().map((name) => this.facts(name));
  }

  hasChanged(name: string): boolean {
    const text = JSON.stringify(this.facts(name));
    const isNew = this.#before.get(name) !== text;
    this.#before.set(name, text);
    return isNew;
  }

  /** The nodes whose facts differ from those of the last call: no event tells of a Lease that is not renewed. */
  changed(): string[] {
    const names = new Set([...this.#options.nodes.cache.keys(), ...this.#leased()]);
    const changed = [...names].filter((name) => this.hasChanged(name));
    for (const name of this.#before.keys()) {
      if (names.has(name)) continue;
      this.#before.delete(name);
      changed.push(name);
    }
    for (const name of this.#fencedMs.keys()) if (!names.has(name)) this.#fencedMs.delete(name);
    return changed;
  }

  #leased(): string[] {
    return [...this.#options.caches.leases.list()].flatMap((lease) => nodeOfLease(lease) ?? []);
  }

  /** Reads the Leases as the server has them now: informers may lag. */
  async refresh(signal: AbortSignal): Promise<void> {
    const { client, systemNamespace: namespace, caches, presence } = this.#options;
    const { items } = await client.list(leases, { namespace, signal });
    for (const lease of items) {
      presence.saw(lease);
      caches.leases.put(trimLease(lease));
    }
  }

  /** The versions of the sliced ranges that daemons with a fresh Lease work by; undefined: a daemon has said none. */
  *seen(seenOf: (lease: DeepReadonly<Lease>) => number | undefined): IterableIterator<number | undefined> {
    for (const lease of this.#options.caches.leases.list()) {
      const node = nodeOfLease(lease);
      if (node !== undefined && renewTimeOf(lease) !== "" && this.#options.presence.isFresh(node)) yield seenOf(lease);
    }
  }
}
