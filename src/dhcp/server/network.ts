// One link with clients: its pools, bindings and memory of its clients. Changes are served from the next message on.
import { BindingTable } from "./binding-table.ts";
import { isInSubnet, type Pool } from "./pool.ts";
import { Quarantine } from "./quarantine.ts";
import { RateLimit, rateLimitDefaults, type RateLimitOptions } from "./rate-limit.ts";
import { Tally } from "./tally.ts";

export class Network {
  readonly name: string;
  /** Key: the pool's name. Their subnets may be the same; their addresses are not. */
  readonly #pools = new Map<string, Pool>();
  readonly bindings = new BindingTable();
  readonly quarantine = new Quarantine();
  readonly rateLimit: RateLimit;
  /** Key: the pool of the client; empty for messages of nobody's. A pool that is gone takes its counts along. */
  readonly #tallies = new Map<string, Tally>([["", new Tally()]]);

  constructor(name: string, rateLimit: RateLimitOptions = rateLimitDefaults) {
    this.name = name;
    this.rateLimit = new RateLimit(rateLimit);
  }

  /** Counts of messages by the pool of their client; empty for those of nobody's. */
  get tallies(): ReadonlyMap<string, Tally> {
    return this.#tallies;
  }

  /** Of messages from this link that are of no pool, or of this one. */
  tally(pool = ""): Tally {
    return this.#tallies.get(pool) ?? this.#tallies.get("")!;
  }

  setPool(pool: Pool): void {
    this.#pools.set(pool.name, pool);
    if (!this.#tallies.has(pool.name)) this.#tallies.set(pool.name, new Tally());
  }

  /** Its bindings stay, and are silent while it is away. */
  deletePool(name: string): void {
    this.#pools.delete(name);
    this.#tallies.delete(name);
  }

  pool(name: string): Pool | undefined {
    return this.#pools.get(name);
  }

  /** The pool in whose subnet an address is. */
  poolAround(address: number): Pool | undefined {
    for (const pool of this.#pools.values()) if (isInSubnet(pool, address)) return pool;
    return undefined;
  }

  /** Whether clients of this network know us by that address. */
  isServer(identifier: number): boolean {
    for (const pool of this.#pools.values()) if (pool.serverIdentifier === identifier) return true;
    return false;
  }
}
