// Acquire under every order of events that a seed can think of. Several processes, each with its own picture, share one
// store. A scheduler decides which pending call is carried out or answered next, and lets calls fail: refused, lost
// before the write, lost after it, answered as lost and carried out later, called off. After a conflict a picture hears
// what was taken some steps ago. A failure names its seed; put it into `only` to see the same run again.
import { describe, expect, it } from "vitest";

import type { Address } from "../net/address.ts";
import { parseCidr } from "../net/prefix.ts";
import { acquire } from "./acquire.ts";
import { type Domain, type Hold, type Ledger, LedgerError, type LedgerOptions } from "./ledger.ts";
import type { ReleaseRequest, TakeRequest } from "./ledger.ts";
import { type Owner, type OwnerKey, ownerKey } from "./owner.ts";
import { Pool } from "./pool.ts";
import type { Strategy, Want } from "./request.ts";
import { MemoryLedger, MemoryStore } from "./testing/memory-ledger.ts";
import { turnsOf } from "./turns.ts";

const only: number | undefined = undefined;
const domain = "net-a";

/** mulberry32: small, seeded, good enough. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 0x1_0000_0000;
  };
}

interface Story {
  readonly processes: number;
  readonly ownersEach: number;
  readonly prefix: string;
  readonly cooldownMs: number;
  /** Out of 100 calls, how many are struck. */
  readonly faultPercent: number;
  readonly requestsEach: number;
  /**
   * Whether a write may come after its caller gave up. Not with several processes: another may take and release the
   * address in between, and the late write leaves its owner with two. Only garbage collection finds those.
   */
  readonly late: boolean;
}

class Simulation {
  readonly random: () => number;
  readonly store = new MemoryStore();
  readonly truth: MemoryLedger;
  readonly story: Story;
  nowMs = 1_000_000;
  faulty = true;
  /** What can happen next; each is a step that runs at once. */
  readonly #pending: (() => void)[] = [];
  /** owner -> takes that were answered as lost and are not carried out yet */
  readonly late = new Map<OwnerKey, number>();

  constructor(story: Story, seed: number) {
    this.story = story;
    this.random = randomFrom(seed);
    this.truth = new MemoryLedger(this.store, { now: () => this.nowMs });
  }

  chance(percent: number): boolean {
    return this.random() * 100 < percent;
  }

  pick<T>(values: readonly T[]): T {
    return values[Math.floor(this.random() * values.length)]!;
  }

  /** Resolves when the scheduler gets to it. */
  step(): Promise<void> {
    return new Promise((resolve) => this.#pending.push(resolve));
  }

  async run(work: readonly Promise<unknown>[]): Promise<void> {
    let running = true;
    const all = Promise.all(work).finally(() => (running = false));
    all.catch(() => {}); // reported below
    for (let steps = 0; ; steps++) {
      await new Promise((resolve) => setImmediate(resolve));
      if (!running) break;
      if (this.#pending.length === 0 || steps > 100_000) throw new Error("nothing moves, or nothing ends");
      this.nowMs += Math.floor(this.random() * 4);
      const [next] = this.#pending.splice(Math.floor(this.random() * this.#pending.length), 1);
      next!();
    }
    await all;
  }

  /** One call as over a network: it arrives, it is carried out, its answer arrives, in three steps. */
  async call<T>(
    write: boolean,
    owner: OwnerKey,
    signal: AbortSignal | undefined,
    perform: () => Promise<T>,
  ): Promise<T> {
    signal?.throwIfAborted();
    const aborted = new Promise<never>((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
    aborted.catch(() => {});
    const answer = this.#travel(write, owner, async () => {
      if (signal?.aborted !== true || this.story.late) return perform();
      throw new Error("nobody waits for this");
    });
    answer.catch(() => {});
    return Promise.race([answer, aborted]);
  }

  async #travel<T>(write: boolean, owner: OwnerKey, perform: () => Promise<T>): Promise<T> {
    const fault = this.faulty && this.chance(this.story.faultPercent);
    const kind = fault ? this.pick(["unavailable", "before", "after", this.story.late ? "late" : "after"]) : "none";
    // Underway until it is carried out, even when the caller has been called off.
    this.#count(owner, 1);
    const carriedOut = this.step()
      .then(async () => (kind === "unavailable" || kind === "before" ? undefined : perform()))
      .finally(() => this.#count(owner, -1));
    carriedOut.catch(() => {});
    await (kind === "late" ? this.step() : carriedOut.then(() => this.step()));
    if (kind === "none") return (await carriedOut) as T;
    throw new LedgerError(kind === "unavailable" || !write ? "unavailable" : "outcome-unknown", `struck: ${kind}`);
  }

  #count(owner: OwnerKey, by: number): void {
    this.late.set(owner, (this.late.get(owner) ?? 0) + by);
  }

  holdsOf(owner: OwnerKey): Hold[] {
    return [...this.store.holds.values()].filter((hold) => ownerKey(hold.owner) === owner);
  }
}

class SlowLedger implements Ledger {
  readonly #sim: Simulation;

  constructor(sim: Simulation) {
    this.#sim = sim;
  }

  take(request: TakeRequest, { signal }: LedgerOptions = {}) {
    const key = ownerKey(request.owner);
    return this.#sim.call(true, key, signal, async () => {
      const before = this.#sim.store.holds.get(`${domain} ${request.address}`);
      const outcome = await this.#sim.truth.take(request);
      const after = this.#sim.store.holds.get(`${domain} ${request.address}`);
      if (before !== undefined) expect(ownerKey(after!.owner)).toBe(ownerKey(before.owner));
      const held = this.#sim.holdsOf(key).map(({ address }) => String(address));
      expect(held.length, `${key} holds ${held.join(", ")}`).toBeLessThanOrEqual(1);
      return outcome;
    });
  }

  release(request: ReleaseRequest, { signal }: LedgerOptions = {}) {
    return this.#sim.call(true, request.owner, signal, () => this.#sim.truth.release(request));
  }

  find(where: Domain, owner: OwnerKey, { signal }: LedgerOptions = {}) {
    return this.#sim.call(false, owner, signal, () => this.#sim.truth.find(where, owner));
  }

  list(where: Domain) {
    return this.#sim.truth.list(where);
  }
}

/** One process: a picture, a client, and owners that come and go. */
class Process {
  readonly #sim: Simulation;
  readonly name: string;
  readonly pool: Pool;
  readonly ledger: Ledger;
  readonly owners: Owner[];
  readonly outcomes = new Map<string, number>();

  constructor(sim: Simulation, name: string) {
    const { story } = sim;
    this.#sim = sim;
    this.name = name;
    this.pool = new Pool({ prefix: parseCidr(story.prefix).prefix, cooldownMs: story.cooldownMs }, () => sim.nowMs);
    this.ledger = new SlowLedger(sim);
    this.owners = Array.from({ length: story.ownersEach }, (_, i) => pod(`${name}-${i}`));
  }

  live(): Promise<void>[] {
    return this.owners.map(async (owner) => {
      for (let i = 0; i < this.#sim.story.requestsEach; i++) {
        const container = `${owner.name}-${i}`;
        if (this.#sim.chance(30)) await this.release(owner);
        else if (this.#sim.chance(25)) await Promise.all([this.ask(owner, container), this.ask(owner, container)]);
        else if (this.#sim.chance(20)) await Promise.all([this.ask(owner, container), this.release(owner)]);
        else await this.ask(owner, container);
      }
    });
  }

  async ask(owner: Owner, containerId: string, want = this.#want()): Promise<void> {
    const sim = this.#sim;
    const abort = new AbortController();
    if (sim.faulty && sim.chance(15)) void sim.step().then(() => abort.abort());
    const asked = { ...owner, containerId } as Owner;
    try {
      const result = await acquire({
        ledger: this.ledger,
        domain,
        pool: this.pool,
        request: { owner: asked, strategy: this.#strategy(), want },
        random: sim.random,
        lookFirst: sim.chance(20),
        lookAgain: () => this.#look(),
        signal: abort.signal,
      });
      this.#count(result.kind === "acquired" ? "acquired" : result.code);
      if (result.kind === "refusal") return;
      const { address } = result.hold;
      const written = sim.holdsOf(ownerKey(owner));
      expect(written.map((hold) => String(hold.address))).toEqual([String(address)]);
      expect(result.hold.owner).toMatchObject({ containerId });
      expect(ownerKey(this.pool.ownerAt(address)!)).toBe(ownerKey(owner));
    } catch (error) {
      if (!(error instanceof LedgerError) && !abort.signal.aborted) throw error;
      if (!(error instanceof LedgerError) && (error as Error).name !== "AbortError") throw error;
      this.#count(error instanceof LedgerError ? error.code : "aborted");
    }
  }

  /** A hint that was true a while ago, and comes late. */
  async #look(): Promise<void> {
    const taken = Array.from(this.#sim.store.holds.values(), ({ address }) => ({ first: address, last: address }));
    for (let steps = this.#sim.pick([0, 1, 5]); steps > 0; steps--) await this.#sim.step();
    this.pool.suppose(taken);
  }

  /** As a DEL does it: until it is done. */
  async release(owner: Owner): Promise<void> {
    await turnsOf(this.pool).run(ownerKey(owner), undefined, async () => {
      for (;;) {
        try {
          // No promise covers a write that arrives after the release: garbage collection is for those.
          while ((this.#sim.late.get(ownerKey(owner)) ?? 0) > 0) await this.#sim.step();
          for (const { address, version } of await this.ledger.find(domain, ownerKey(owner))) {
            const { cooldownMs } = this.#sim.story;
            await this.ledger.release({ domain, address, owner: ownerKey(owner), version, cooldownMs });
          }
          this.pool.releaseOwner(owner);
          return;
        } catch (error) {
          if (!(error instanceof LedgerError)) throw error;
        }
      }
    });
  }

  #strategy(): Strategy {
    return this.#sim.pick<Strategy>([
      { kind: "lowest" },
      { kind: "random" },
      { kind: "spread", stripes: 4, first: 1, step: 3 },
      { kind: "sticky" },
    ]);
  }

  #want(): Want {
    if (this.#sim.chance(70)) return { kind: "any" };
    const address = (): Address => this.#sim.pick([this.pool.usable.first, this.pool.usable.last]);
    return this.#sim.pick<Want>([
      { kind: "given", address: address() },
      { kind: "preferred", address: address() },
      { kind: "oneOf", addresses: [address(), address()] },
    ]);
  }

  #count(what: string): void {
    this.outcomes.set(what, (this.outcomes.get(what) ?? 0) + 1);
  }
}

function pod(name: string): Owner {
  return { kind: "pod", uid: `uid-${name}`, namespace: "default", name, interface: "eth0" };
}

async function tell(story: Story, seed: number): Promise<Map<string, number>> {
  const sim = new Simulation(story, seed);
  const processes = Array.from({ length: story.processes }, (_, i) => new Process(sim, `p${i}`));
  await sim.run(processes.flatMap((process) => process.live()));

  // Everybody goes, and everything is to be had again.
  sim.faulty = false;
  await sim.run(processes.flatMap((process) => process.owners.map((owner) => process.release(owner))));
  sim.nowMs += story.cooldownMs;
  expect([...sim.store.holds.values()]).toEqual([]);
  for (const process of processes) {
    process.pool.suppose([]);
    const own = [...process.pool.allocations()].filter(({ owner }) => owner.name.startsWith(`${process.name}-`));
    expect(own, "what a process still thinks its own").toEqual([]);
    const { allocated, free, usable } = process.pool.counts();
    expect(free, "what a process thinks free").toBe(usable - BigInt(allocated));
  }
  const fresh = new Process(sim, "fresh");
  const count = Math.min(Number(fresh.pool.counts().usable), 12);
  await sim.run(Array.from({ length: count }, (_, i) => fresh.ask(pod(`new-${i}`), "c", { kind: "any" })));
  expect(fresh.outcomes).toEqual(new Map([["acquired", count]]));
  const outcomes = new Map<string, number>();
  for (const process of processes)
    for (const [what, n] of process.outcomes) outcomes.set(what, (outcomes.get(what) ?? 0) + n);
  return outcomes;
}

const stories: [string, Story, number][] = [
  [
    "one process, few addresses",
    {
      processes: 1,
      ownersEach: 5,
      prefix: "10.0.0.0/29",
      cooldownMs: 0,
      faultPercent: 20,
      requestsEach: 6,
      late: true,
    },
    500,
  ],
  [
    "one process, one address",
    {
      processes: 1,
      ownersEach: 3,
      prefix: "10.0.0.0/32",
      cooldownMs: 40,
      faultPercent: 20,
      requestsEach: 6,
      late: true,
    },
    500,
  ],
  [
    "one process, cooling",
    {
      processes: 1,
      ownersEach: 8,
      prefix: "10.0.0.0/29",
      cooldownMs: 60,
      faultPercent: 15,
      requestsEach: 6,
      late: true,
    },
    400,
  ],
  [
    "three processes",
    {
      processes: 3,
      ownersEach: 3,
      prefix: "10.0.0.0/29",
      cooldownMs: 0,
      faultPercent: 15,
      requestsEach: 6,
      late: false,
    },
    400,
  ],
  [
    "three processes, cooling, wide IPv6",
    {
      processes: 3,
      ownersEach: 3,
      prefix: "fd00::/64",
      cooldownMs: 60,
      faultPercent: 15,
      requestsEach: 6,
      late: false,
    },
    300,
  ],
];

describe("acquire, in any order of events", () => {
  it.each(stories)("%s", async (_name, story, runs) => {
    const outcomes = new Map<string, number>();
    for (let seed = only ?? 1; seed <= (only ?? runs); seed++) {
      try {
        for (const [what, n] of await tell(story, seed)) outcomes.set(what, (outcomes.get(what) ?? 0) + n);
      } catch (error) {
        throw new Error(`seed ${seed}: ${(error as Error).message}`, { cause: error });
      }
    }
    // The runs went where it hurts.
    for (const what of ["acquired", "unavailable", "outcome-unknown", "aborted"]) {
      expect(outcomes.get(what) ?? 0, what).toBeGreaterThan(only === undefined ? runs / 10 : -1);
    }
  });
});
