// How often nodes that do not talk to each other want the same address: `acquire` with every node's spread against one
// ledger, on a clock of its own. A server answers one request after the other, 2 ms each; the leader tells maps as
// usual; pictures are not renewed otherwise. The bounds are those of docs/performance.md, with room: node names differ.
import { describe, expect, it } from "vitest";

import { acquire } from "../../ipam/acquire.ts";
import type { Ledger } from "../../ipam/ledger.ts";
import type { Owner } from "../../ipam/owner.ts";
import { Pool } from "../../ipam/pool.ts";
import { MemoryLedger, MemoryStore } from "../../ipam/testing/memory-ledger.ts";
import type { Interval } from "../../net/interval.ts";
import { parseCidr } from "../../net/prefix.ts";
import { CandidateSpread } from "./candidate-spread.ts";

const domain = "network:";
const serviceMs = 2;
/** As src/pools/mirror writes maps: at once if an eighth of the free addresses has changed, else every five seconds. */
const mapMs = { urgent: 250, lag: 5000 };
/** As src/node/add/shared-source.ts has it. */
const roundsMax = 3;

interface Plan {
  readonly nodes: number;
  readonly prefix: string;
  /** Takes of each node in each round, and how many of them at once. */
  readonly takes: number;
  readonly atOnce: number;
  readonly rounds?: number;
  /** Makes the names of the nodes. */
  readonly run: number;
}

interface Counts {
  readonly given: number;
  readonly posts: number;
  readonly conflicts: number;
  readonly requests: number;
}

/** Time goes from one event to the next. */
class Clock {
  nowMs = 0;
  readonly #events: { readonly atMs: number; readonly happen: () => void }[] = [];

  at(atMs: number): Promise<void> {
    return new Promise((happen) => {
      // Most events are the latest so far.
      const after = this.#events.findLastIndex((each) => each.atMs <= atMs);
      this.#events.splice(after + 1, 0, { atMs, happen });
    });
  }

  async runUntil(done: Promise<unknown>): Promise<void> {
    let isOver = false;
    void done.finally(() => (isOver = true)).catch(() => {});
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve));
      if (isOver) break;
      const next = this.#events.shift();
      if (next === undefined) throw new Error("nothing moves");
      this.nowMs = next.atMs;
      next.happen();
    }
    await done;
  }
}

class Cluster {
  readonly clock = new Clock();
  readonly store = new MemoryStore();
  readonly #truth = new MemoryLedger(this.store, { now: () => this.clock.nowMs });
  readonly plan: Plan;
  readonly counts = { given: 0, posts: 0, conflicts: 0, requests: 0 };
  map: readonly Interval[] = [];
  #busyUntilMs = 0;

  constructor(plan: Plan) {
    this.plan = plan;
  }

  async ask<T>(answer: () => T): Promise<T> {
    this.counts.requests += 1;
    this.#busyUntilMs = Math.max(this.clock.nowMs, this.#busyUntilMs) + serviceMs;
    await this.clock.at(this.#busyUntilMs);
    return answer();
  }

  /** A POST, and a GET after a conflict. */
  readonly ledger: Pick<Ledger, "take"> = {
    take: async (request) => {
      this.counts.posts += 1;
      const outcome = await this.ask(() => this.#truth.take(request));
      if (outcome.outcome !== "held") return outcome;
      this.counts.conflicts += 1;
      return this.ask(() => outcome);
    },
  };

  taken(): Interval[] {
    return Array.from(this.store.holds.values(), ({ address }) => ({ first: address, last: address }));
  }

  async lead(): Promise<never> {
    const size = Number(parseCidr(this.plan.prefix).prefix.size);
    for (let writtenMs = 0; ;) {
      await this.clock.at(this.clock.nowMs + mapMs.urgent);
      const taken = this.taken();
      const isUrgent = (taken.length - this.map.length) * 8 >= size - taken.length;
      if (!isUrgent && this.clock.nowMs - writtenMs < mapMs.lag) continue;
      this.map = taken;
      writtenMs = this.clock.nowMs;
    }
  }
}

class Node {
  readonly #cluster: Cluster;
  readonly #name: string;
  readonly #pool: Pool;
  readonly #spread: CandidateSpread;
  #lookedMs = Number.NEGATIVE_INFINITY;
  #serial = 0;

  constructor(cluster: Cluster, name: string) {
    const { clock, plan } = cluster;
    this.#cluster = cluster;
    this.#name = name;
    const now = () => clock.nowMs;
    this.#pool = new Pool({ prefix: parseCidr(plan.prefix).prefix, cooldownMs: 0 }, now);
    this.#spread = new CandidateSpread({ seed: `${name} ${domain}`, now, daemons: () => plan.nodes });
  }

  async take(): Promise<string> {
    const { counts, ledger } = this.#cluster;
    const name = `${this.#name}-${(this.#serial += 1)}`;
    const owner: Owner = { kind: "pod", uid: name, namespace: "default", name, interface: "eth0" };
    this.#spread.begin();
    try {
      for (let round = 1; round <= roundsMax; round++) {
        const result = await acquire({
          ledger: ledger as Ledger,
          domain,
          pool: this.#pool,
          request: { owner, strategy: this.#spread },
          random: () => 0,
          onOutcome: ({ outcome }, address) => outcome === "held" && this.#spread.met(address),
          lookAgain: () => this.#look(),
        });
        if (result.kind === "acquired") {
          counts.given += 1;
          return String(result.hold.address);
        }
        this.#pool.suppose(await this.#cluster.ask(() => this.#cluster.taken()));
      }
      throw new Error(`${name} got none`);
    } finally {
      this.#spread.end();
    }
  }

  async #look(): Promise<void> {
    if (this.#cluster.clock.nowMs - this.#lookedMs < mapMs.urgent) return;
    this.#lookedMs = this.#cluster.clock.nowMs;
    this.#pool.suppose(await this.#cluster.ask(() => this.#cluster.map));
  }
}

/** What each round cost. */
async function simulate(plan: Plan): Promise<Counts[]> {
  const cluster = new Cluster(plan);
  const nodes = Array.from({ length: plan.nodes }, (_, index) => new Node(cluster, `run${plan.run}-node${index}`));
  void cluster.lead();
  const rounds: Counts[] = [];
  for (let round = 0; round < (plan.rounds ?? 1); round++) {
    const before = { ...cluster.counts };
    const work = nodes.map(async (node) => {
      let left = plan.takes;
      const worker = async () => {
        while (left-- > 0) await node.take();
      };
      await Promise.all(Array.from({ length: Math.min(plan.atOnce, plan.takes) }, worker));
    });
    await cluster.clock.runUntil(Promise.all(work));
    const { given, posts, conflicts, requests } = cluster.counts;
    rounds.push({
      given: given - before.given,
      posts: posts - before.posts,
      conflicts: conflicts - before.conflicts,
      requests: requests - before.requests,
    });
  }
  // Each has a hold of its own: the ledger arbitrates, and every take succeeds.
  expect(cluster.store.holds.size).toBe(plan.nodes * plan.takes * rounds.length);
  return rounds;
}

/** Over several runs: the share of POSTs that are lost, and the requests for each address. */
async function average(plan: Omit<Plan, "run">, runs: number): Promise<{ lost: number; requests: number }[]> {
  const all: Counts[][] = [];
  for (let run = 0; run < runs; run++) all.push(await simulate({ ...plan, run }));
  return all[0]!.map((_, round) => {
    const sum = (of: keyof Counts) => all.reduce((total, each) => total + each[round]![of], 0);
    return { lost: sum("conflicts") / sum("posts"), requests: sum("requests") / sum("given") };
  });
}

describe("nodes that do not talk to each other", () => {
  it.each([
    [1, 0.03],
    [16, 0.06],
    // In a stripe where two nodes begin, all takes under way at the first conflict are lost.
    [200, 0.12],
  ])(
    "three fill a /16 with 600 addresses, %d at once on each: fewer than %d of the takes are lost",
    async (atOnce, most) => {
      const [round] = await average({ nodes: 3, prefix: "10.0.0.0/16", takes: 200, atOnce }, 6);
      expect(round!.lost).toBeLessThan(most);
      expect(round!.requests).toBeLessThan(1 + 4 * most);
    },
  );

  it("twenty start a deployment of 1,000", async () => {
    const [round] = await average({ nodes: 20, prefix: "10.0.0.0/16", takes: 50, atOnce: 50 }, 4);
    expect(round!.lost).toBeLessThan(0.1);
  });

  it("a thousand take one each, and one more by pictures from before the first", async () => {
    const plan = { nodes: 1000, prefix: "10.0.0.0/16", takes: 1, atOnce: 1, rounds: 2 };
    const [first, second] = await average(plan, 1);
    expect(first!.lost).toBeLessThan(0.16);
    expect(second!.lost).toBeLessThan(0.08);
  });

  it("a thousand fill a /21 to 98 % by pictures from before the first half of it was taken", async () => {
    const plan = { nodes: 1000, prefix: "10.0.0.0/21", takes: 1, atOnce: 1, rounds: 2 };
    const [, second] = await average(plan, 1);
    expect(second!.requests).toBeLessThan(4);
  });

  it.each([2, 6, 18])("%d fill a range to the last address", async (nodes) => {
    const usable = 126;
    for (let run = 0; run < 3; run++) {
      const plan = { nodes, prefix: "10.0.0.0/25", takes: usable / nodes, atOnce: 8, run };
      const [round] = await simulate(plan);
      expect(round!.given).toBe(usable);
    }
  });
});

it("one node gives the lowest, however many at once", async () => {
  const cluster = new Cluster({ nodes: 1, prefix: "10.0.0.0/24", takes: 40, atOnce: 40, run: 0 });
  const node = new Node(cluster, "alone");
  const given = Promise.all(Array.from({ length: 40 }, () => node.take()));
  await cluster.clock.runUntil(given);
  expect(await given).toEqual(Array.from({ length: 40 }, (_, index) => `10.0.0.${index + 1}`));
});

it("at rest every node gives the lowest that it knows to be free", async () => {
  const cluster = new Cluster({ nodes: 5, prefix: "10.0.0.0/24", takes: 0, atOnce: 0, run: 0 });
  const node = new Node(cluster, "resting");
  for (const expected of ["10.0.0.1", "10.0.0.2", "10.0.0.3"]) {
    const given = node.take();
    await cluster.clock.runUntil(given);
    expect(await given).toBe(expected);
  }
});
