// The nodes of a cluster as the plan wants them: who is there, leaving, silent, gone, fenced.
import type { Informer } from "../kube/informer.ts";
import type { Node } from "../ledger/resources.ts";
import type { NodeFacts } from "./plan/facts.ts";
import { type FenceRules, nodeOfLease, nodeState, renewTimeOf, Renewals } from "./presence.ts";
import type { SliceWorld } from "./world.ts";

export interface NodesOptions {
  readonly nodes: Informer<Node>;
  readonly world: SliceWorld;
  readonly rules: FenceRules;
  readonly monotonicMs: () => number;
  readonly wallMs: () => number;
}

export class Nodes {
  readonly #options: NodesOptions;
  readonly renewals: Renewals;
  /** Node -> what it was at the last look, as text. */
  readonly #before = new Map<string, string>();

  constructor(options: NodesOptions) {
    this.#options = options;
    this.renewals = new Renewals(options.monotonicMs);
  }

  facts(name: string): NodeFacts {
    const { nodes, world, rules, wallMs } = this.#options;
    const isFresh = this.renewals.isFresh(name);
    const isAlone = this.#isAlone();
    const signs = { node: nodes.cache.get(name), lease: world.leaseOf(name), isFresh, isAlone, wallMs: wallMs() };
    return { name, ...nodeState(signs, rules), isSilent: !isFresh };
  }

  /** Every Node by name, and those of the list, each once. A node without a Node object gets nothing new. */
  all(extra: Iterable<string>): NodeFacts[] {
    const { nodes } = this.#options;
    const names = new Set([...nodes.cache.keys(), ...(this.#isAlone() ? this.#leased() : []), ...extra]);
    return [...names].sort().map((name) => this.facts(name));
  }

  /** Whether the node is not what it was at the last look. */
  hasChanged(name: string): boolean {
    const text = JSON.stringify(this.facts(name));
    const isNew = this.#before.get(name) !== text;
    this.#before.set(name, text);
    return isNew;
  }

  /** Those that are not what they were at the last call: a Lease that is not renewed tells nobody. */
  changed(): string[] {
    const names = new Set([...this.#options.nodes.cache.keys(), ...this.#leased()]);
    const changed = [...names].filter((name) => this.hasChanged(name));
    for (const name of this.#before.keys()) {
      if (names.has(name)) continue;
      this.#before.delete(name);
      changed.push(name);
    }
    return changed;
  }

  #isAlone(): boolean {
    return this.#options.nodes.cache.keys().next().done === true;
  }

  *#leased(): IterableIterator<string> {
    for (const lease of this.#options.world.leases.list()) {
      const node = nodeOfLease(lease);
      if (node !== undefined) yield node;
    }
  }

  /** The versions of the sliced ranges that daemons with a fresh Lease work by; undefined: one that has not said any. */
  *seen(
    seenOf: (lease: Parameters<typeof nodeOfLease>[0]) => number | undefined,
  ): IterableIterator<number | undefined> {
    for (const lease of this.#options.world.leases.list()) {
      const node = nodeOfLease(lease);
      if (node !== undefined && renewTimeOf(lease) !== "" && this.renewals.isFresh(node)) yield seenOf(lease);
    }
  }
}
