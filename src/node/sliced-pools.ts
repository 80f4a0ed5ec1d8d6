// Pools over what this node may hand out of its slices: one for each definition of a domain, made from the journal and kept in step
// with it. Cheap to make anew: a node's slices hold some hundred addresses.
import type { PoolDefinition } from "../ipam/definition.ts";
import type { Domain, Hold } from "../ipam/ledger.ts";
import { type OwnerKey, ownerKey, sameOwner } from "../ipam/owner.ts";
import { Pool } from "../ipam/pool.ts";
import type { Journal } from "../ledger/journal/journal.ts";
import { difference, type IntervalSet } from "../net/interval-set.ts";
import { intervalOf } from "../net/interval.ts";
import { contains } from "../net/prefix.ts";
import { definitionText } from "./definition-text.ts";

/** Definitions come from configurations: a handful per network. Beyond, the oldest is made anew when it is used again. */
const poolsMax = 16;

interface Entry {
  readonly pool: Pool;
  /** What the pool was made over: another set means that slices came or went. */
  readonly blocks: IntervalSet;
}

export class SlicedPools {
  readonly #journal: Journal;
  readonly #now: () => number;
  /** domain -> text of the definition -> its pool */
  readonly #domains = new Map<Domain, Map<string, Entry>>();

  constructor(journal: Journal, now: () => number) {
    this.#journal = journal;
    this.#now = now;
  }

  poolFor(domain: Domain, definition: PoolDefinition): Pool {
    const entries = this.#entries(domain);
    const key = definitionText(definition);
    const blocks = this.#journal.blocksOf(domain);
    const known = entries.get(key);
    if (known !== undefined && known.blocks === blocks) return known.pool;
    const pool = this.#make(domain, definition, blocks);
    entries.delete(key);
    entries.set(key, { pool, blocks });
    for (const oldest of entries.keys()) if (entries.size > poolsMax) entries.delete(oldest);
    return pool;
  }

  /** One of the domain's pools took it: the others learn it. */
  took({ domain, address, owner }: Hold): void {
    for (const { pool } of this.#entries(domain).values()) {
      const there = pool.ownerAt(address);
      if (contains(pool.definition.prefix, address) && (there === undefined || !sameOwner(there, owner))) {
        pool.learn(address, owner);
      }
    }
  }

  released({ domain, address, owner }: Hold, cooldownMs: number, lastOwner: OwnerKey = ownerKey(owner)): void {
    const untilMs = this.#now() + cooldownMs;
    for (const { pool } of this.#entries(domain).values()) {
      const there = pool.ownerAt(address);
      if (there !== undefined && !sameOwner(there, owner)) continue;
      pool.forget(address);
      if (contains(pool.definition.prefix, address)) pool.cool({ address, untilMs, lastOwner });
    }
  }

  forget(domain: Domain): void {
    this.#domains.delete(domain);
  }

  #make(domain: Domain, definition: PoolDefinition, blocks: IntervalSet): Pool {
    const { prefix, excludes = [] } = definition;
    const others = difference([intervalOf(prefix)], blocks);
    const pool = new Pool({ ...definition, excludes: [...excludes, ...others] }, this.#now);
    for (const { address, owner } of this.#journal.holdsOf(domain)) {
      if (contains(prefix, address)) pool.learn(address, owner);
    }
    for (const cooling of this.#journal.coolingOf(domain)) if (contains(prefix, cooling.address)) pool.cool(cooling);
    return pool;
  }

  #entries(domain: Domain): Map<string, Entry> {
    const known = this.#domains.get(domain) ?? new Map<string, Entry>();
    this.#domains.set(domain, known);
    return known;
  }
}
