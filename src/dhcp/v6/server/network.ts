// One link with clients: its pools, bindings and memory of its clients. Changes are served from the next message on.
import type { V6Address } from "../../../net/address.ts";
import { contains } from "../../../net/prefix.ts";
import { Quarantine } from "../../server/quarantine.ts";
import { RateLimit, rateLimitDefaults, type RateLimitOptions } from "../../server/rate-limit.ts";
import { isSame } from "../bytes.ts";
import { BindingTableV6 } from "./binding-table.ts";
import type { PoolV6 } from "./pool.ts";
import { TallyV6 } from "./tally.ts";

export class NetworkV6 {
  readonly name: string;
  /** Key: the pool's name. Their subnets may be the same; their addresses are not. */
  readonly #pools = new Map<string, PoolV6>();
  readonly bindings = new BindingTableV6();
  /** Key: keyOf the address. */
  readonly quarantine = new Quarantine<string>();
  readonly rateLimit: RateLimit;
  /** Key: the pool of the client; empty for messages of nobody's. A pool that is gone takes its counts along. */
  readonly #tallies = new Map<string, TallyV6>([["", new TallyV6()]]);

  constructor(name: string, rateLimit: RateLimitOptions = rateLimitDefaults) {
    this.name = name;
    this.rateLimit = new RateLimit(rateLimit);
  }

  /** Counts of messages by the pool of their client; empty for those of nobody's. */
  get tallies(): ReadonlyMap<string, TallyV6> {
    return this.#tallies;
  }

  /** Of messages from this link that are of no pool, or of this one. */
  tally(pool = ""): TallyV6 {
    return this.#tallies.get(pool) ?? this.#tallies.get("")!;
  }

  setPool(pool: PoolV6): void {
    this.#pools.set(pool.name, pool);
    if (!this.#tallies.has(pool.name)) this.#tallies.set(pool.name, new TallyV6());
  }

  /** Its bindings stay, and are silent while it is away. */
  deletePool(name: string): void {
    this.#pools.delete(name);
    this.#tallies.delete(name);
  }

  pool(name: string): PoolV6 | undefined {
    return this.#pools.get(name);
  }

  pools(): IterableIterator<PoolV6> {
    return this.#pools.values();
  }

  /** The pool in whose subnet an address is. */
  poolAround(address: V6Address): PoolV6 | undefined {
    for (const pool of this.#pools.values()) if (contains(pool.subnet, address)) return pool;
    return undefined;
  }

  /** Whether clients of this network know us by that DUID. */
  isServer(duid: Uint8Array): boolean {
    for (const { identity } of this.#pools.values()) if (isSame(identity.data, duid)) return true;
    return false;
  }
}
