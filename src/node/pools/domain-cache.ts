// This daemon's knowledge of one domain: which addresses are taken, as far as it has heard. All pools of the domain
// share it. A picture that is behind costs a conflict, never a duplicate: the ledger arbitrates. A list never
// overwrites an address that this node holds, or is just writing, since the list began.
import type { Cooling } from "../../ipam/cooling.ts";
import type { PoolDefinition } from "../../ipam/definition.ts";
import type { Domain, Hold } from "../../ipam/ledger.ts";
import { type Owner, type OwnerKey, ownerKey } from "../../ipam/owner.ts";
import { Pool } from "../../ipam/pool.ts";
import { type Address, equal } from "../../net/address.ts";
import { IntervalSet } from "../../net/interval-set.ts";
import type { Interval } from "../../net/interval.ts";
import { contains } from "../../net/prefix.ts";
import type { HoldIndex } from "../holds/hold-index.ts";
import type { CandidateSpread } from "./candidate-spread.ts";
import { definitionText, learnIn, releasedIn, tookIn } from "./pool-set.ts";

/** A node with a few hundred pods frees so many at once after its return; more are handed out like any other. */
const restingMax = 1024;
/** A free map lags by the leader's cache and by the difference of two clocks: what was met just before stays. */
const lagMs = 5000;

interface Foreign {
  readonly address: Address;
  /** The very object that the pools were told: a different one there is newer knowledge. */
  readonly owner: Owner;
  readonly learntMs: number;
}

export interface DomainCacheOptions {
  readonly namespace: string;
  readonly domain: Domain;
  readonly held: HoldIndex;
  readonly makeSpread: () => CandidateSpread;
  /** The wall clock. */
  readonly now: () => number;
}

export interface Listed {
  readonly hold: Hold;
  readonly cooling?: { readonly untilMs: number; readonly lastOwner: Cooling["lastOwner"] };
}

export class DomainCache {
  readonly namespace: string;
  readonly domain: Domain;
  /** When the last whole list began; by the wall clock. */
  listedMs = Number.NEGATIVE_INFINITY;
  usedMs = Number.NEGATIVE_INFINITY;
  /** When it was made, or last renewed in the background. */
  renewedMs: number;
  readonly #options: DomainCacheOptions;
  /** Text of the definition -> its pool. Definitions come from configurations: a handful. */
  readonly #pools = new Map<string, Pool>();
  /** Range -> where this node looks in it: who takes in another range of the domain is no rival here. */
  readonly #spreads = new Map<string, CandidateSpread>();
  /** address -> a hold that is not this node's */
  readonly #foreign = new Map<string, Foreign>();
  /** Cooling addresses of the last list: for pools that are made later. */
  #resting: readonly Cooling[] = [];

  constructor(options: DomainCacheOptions) {
    this.#options = options;
    this.namespace = options.namespace;
    this.domain = options.domain;
    this.renewedMs = options.now();
  }

  pools(): IterableIterator<Pool> {
    return this.#pools.values();
  }

  poolFor(definition: PoolDefinition): Pool {
    const key = definitionText(definition);
    const known = this.#pools.get(key);
    if (known !== undefined) return known;
    const pool = new Pool(definition, this.#options.now);
    this.#pools.set(key, pool);
    const { held, namespace, domain } = this.#options;
    for (const { address, owner } of this.#foreign.values()) learnIn(pool, address, owner);
    for (const { hold } of held.ofDomain(namespace, domain)) learnIn(pool, hold.address, hold.owner);
    for (const each of this.#resting) if (contains(definition.prefix, each.address)) pool.cool(each);
    return pool;
  }

  spreadOf({ definition: { prefix } }: Pool): CandidateSpread {
    const known = this.#spreads.get(String(prefix)) ?? this.#options.makeSpread();
    this.#spreads.set(String(prefix), known);
    return known;
  }

  took(hold: Hold): void {
    this.#foreign.delete(String(hold.address));
    tookIn(this.#pools.values(), hold);
  }

  met({ address, owner }: Pick<Hold, "address" | "owner">): void {
    this.#foreign.set(String(address), { address, owner, learntMs: this.#options.now() });
    for (const pool of this.#pools.values()) if (pool.ownerAt(address) === undefined) learnIn(pool, address, owner);
  }

  /** The owner gave it back, and it cools; `lastOwner` may have it back before. */
  released(address: Address, owner: Owner, cooldownMs: number, lastOwner: OwnerKey = ownerKey(owner)): void {
    const nowMs = this.#options.now();
    const untilMs = nowMs + cooldownMs;
    // A started daemon frees sandboxes from before its start first: the pool may not have been made yet.
    const isMade = this.#pools.values().some(({ definition }) => contains(definition.prefix, address));
    if (!isMade && cooldownMs > 0) {
      const others = this.#resting.filter((each) => each.untilMs > nowMs && !equal(each.address, address));
      this.#resting = [...others.slice(-restingMax), { address, untilMs, lastOwner }];
    }
    releasedIn(this.#pools.values(), owner, { address, untilMs, lastOwner });
  }

  /** The ledger says that the owner holds nothing here: the mark of its request with an unknown outcome goes. */
  unmark(owner: Owner): void {
    const { held, namespace, domain } = this.#options;
    for (const pool of this.#pools.values()) {
      const address = pool.addressOf(owner);
      if (address !== undefined && held.get({ namespace, domain, address }) === undefined) pool.forget(address);
    }
  }

  replace(listed: readonly Listed[], startedMs: number): void {
    const { held, namespace, domain } = this.#options;
    const resting: Cooling[] = [];
    const seen = new Set<string>();
    for (const { hold, cooling } of listed) {
      const { address, owner } = hold;
      if (cooling !== undefined) {
        resting.push({ address, ...cooling });
        continue;
      }
      seen.add(String(address));
      if (held.get({ namespace, domain, address }) !== undefined) continue;
      const before = this.#foreign.get(String(address));
      this.#foreign.set(String(address), { address, owner, learntMs: startedMs });
      for (const pool of this.#pools.values()) {
        const there = pool.ownerAt(address);
        // A request of this node is just writing it, or holds it: newer than the list.
        if (there === undefined || there === before?.owner) learnIn(pool, address, owner);
      }
    }
    for (const [key, entry] of this.#foreign)
      if (!seen.has(key) && entry.learntMs <= startedMs) this.#forget(key, entry);
    this.#resting = resting;
    for (const pool of this.#pools.values()) {
      pool.suppose([]);
      for (const each of resting) if (contains(pool.definition.prefix, each.address)) pool.cool(each);
    }
    this.listedMs = startedMs;
  }

  /** A hint for the pools inside one prefix, without owners, written at `writtenMs`. */
  suppose(within: PoolDefinition["prefix"], taken: readonly Interval[], writtenMs: number): void {
    const set = IntervalSet.of(taken);
    for (const [key, entry] of this.#foreign) {
      const isOver = contains(within, entry.address) && !set.has(entry.address) && entry.learntMs + lagMs < writtenMs;
      if (isOver) this.#forget(key, entry);
    }
    for (const pool of this.#pools.values()) {
      const { prefix } = pool.definition;
      if (prefix.length === within.length && contains(within, prefix.network)) pool.suppose(taken);
    }
  }

  #forget(key: string, { address, owner }: Foreign): void {
    this.#foreign.delete(key);
    for (const pool of this.#pools.values()) if (pool.ownerAt(address) === owner) pool.forget(address);
  }
}
