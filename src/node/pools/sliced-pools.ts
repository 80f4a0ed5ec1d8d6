// Pools over this node's slices: one for each definition of a domain, made from the journal and kept in step with it.
// Cheap to make anew: a node's slices hold some hundred addresses.
import type { PoolDefinition } from "../../ipam/definition.ts";
import type { Domain, Hold } from "../../ipam/ledger.ts";
import { type OwnerKey, ownerKey } from "../../ipam/owner.ts";
import { Pool } from "../../ipam/pool.ts";
import type { Journal } from "../../ledger/journal/journal.ts";
import { difference, type IntervalSet } from "../../net/interval-set.ts";
import { intervalOf } from "../../net/interval.ts";
import { contains } from "../../net/prefix.ts";
import { definitionText, learnIn, releasedIn, tookIn } from "./pool-set.ts";

/** Definitions come from configurations: a handful per network. Beyond, the oldest is made anew at its next use. */
const poolsMax = 16;

interface Entry {
  readonly pool: Pool;
  /** The blocks that the pool was made over: another set means that slices came or went. */
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
    const entries = this.#domains.get(domain) ?? new Map<string, Entry>();
    this.#domains.set(domain, entries);
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

  took(hold: Hold): void {
    tookIn(this.#pools(hold.domain), hold);
  }

  released({ domain, address, owner }: Hold, cooldownMs: number, lastOwner: OwnerKey = ownerKey(owner)): void {
    releasedIn(this.#pools(domain), owner, { address, untilMs: this.#now() + cooldownMs, lastOwner });
  }

  forget(domain: Domain): void {
    this.#domains.delete(domain);
  }

  #make(domain: Domain, definition: PoolDefinition, blocks: IntervalSet): Pool {
    const { prefix, excludes = [] } = definition;
    const others = difference([intervalOf(prefix)], blocks);
    const pool = new Pool({ ...definition, excludes: [...excludes, ...others] }, this.#now);
    for (const { address, owner } of this.#journal.holdsOf(domain)) learnIn(pool, address, owner);
    for (const cooling of this.#journal.coolingOf(domain)) if (contains(prefix, cooling.address)) pool.cool(cooling);
    return pool;
  }

  #pools(domain: Domain): Pool[] {
    return Array.from(this.#domains.get(domain)?.values() ?? [], ({ pool }) => pool);
  }
}
