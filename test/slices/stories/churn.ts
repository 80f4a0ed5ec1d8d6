// Random requests on random nodes with random faults, round after round: daemons restarted, lines cut, answers lost,
// the leader killed, nodes deleted and back. No round shows anything dangerous; at the end exactly all is on record.
import { expect, it } from "vitest";

import type { Fixture, Guest, Network } from "../fixture.ts";
import type { Leader } from "../leader.ts";

/** A generator of its own, so that a failure names a seed: mulberry32. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

class Churn {
  readonly #fixture: Fixture;
  readonly #networks: readonly Network[];
  readonly #random: () => number;
  readonly #names: readonly string[];
  readonly #living: { guest: Guest; network: Network }[] = [];
  #leader: Leader;
  readonly said: string[] = [];

  constructor(fixture: Fixture, networks: readonly Network[], names: readonly string[], random: () => number) {
    this.#fixture = fixture;
    this.#networks = networks;
    this.#names = names;
    this.#random = random;
    this.#leader = fixture.lead();
  }

  #oneOf<T>(list: readonly T[]): T {
    return list[Math.floor(this.#random() * list.length)]!;
  }

  /** Several requests at once, and a fault beside them. */
  async round(): Promise<void> {
    const requests = Array.from({ length: 12 }, () => (this.#random() < 0.6 ? this.#come() : this.#go()));
    await Promise.all([...requests, this.#fault()]);
  }

  async #come(): Promise<void> {
    const network = this.#oneOf(this.#networks);
    const guest = await this.#fixture.pod(this.#oneOf(this.#names));
    const told = await this.#fixture.tryAdd(guest, network).catch(() => undefined);
    if (told?.status === 0) this.#living.push({ guest, network });
    else await this.#leave(guest, network);
  }

  async #go(): Promise<void> {
    const [chosen] = this.#living.splice(Math.floor(this.#random() * this.#living.length), 1);
    if (chosen !== undefined) await this.#leave(chosen.guest, chosen.network);
  }

  /** A kubelet asks until the DEL is answered. */
  async #leave(guest: Guest, network: Network): Promise<void> {
    for (let tries = 0; tries < 200; tries++) {
      const told = await this.#fixture.tryDel(guest, network).catch(() => undefined);
      if (told?.status === 0) return this.#fixture.endPod(guest);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error(`DEL of ${guest.name} on ${guest.node} was never answered`);
  }

  async #fault(): Promise<void> {
    const node = this.#fixture.node(this.#oneOf(this.#names));
    const kind = this.#oneOf(["none", "restart", "cut", "heal", "heal", "loss", "leader", "leader-step"]);
    this.said.push(`${kind} ${node.name}`);
    if (kind === "restart") {
      await node.daemonFixture.stop();
      await node.daemonFixture.start();
    } else if (kind === "cut") node.line.cut();
    else if (kind === "heal") node.line.heal();
    else if (kind === "loss") node.line.lossPercent = node.line.lossPercent === 0 ? 30 : 0;
    else if (kind.startsWith("leader")) await this.#succeed(kind === "leader-step");
  }

  async #succeed(inTheMiddle: boolean): Promise<void> {
    if (inTheMiddle) {
      const died = this.#leader.line.dieAfter(1 + Math.floor(this.#random() * 5));
      await Promise.race([died, new Promise((resolve) => setTimeout(resolve, 1000))]);
    }
    await this.#leader.kill();
    this.#leader = this.#fixture.lead();
  }

  /** Everything works again, and everybody goes. */
  async end(): Promise<void> {
    for (const name of this.#names) {
      const { line } = this.#fixture.node(name);
      line.heal();
      line.lossPercent = 0;
    }
    await this.#fixture.settle(120_000);
    for (const { guest, network } of this.#living.splice(0)) await this.#leave(guest, network);
  }
}

export function churnStories(get: () => Fixture, rounds: number, seeds: readonly number[]): void {
  it.each(seeds)(`${rounds} rounds of it, seed %i`, { timeout: 600_000 }, async (seed) => {
    const fixture = get();
    const names = ["a", "b", "c", "d"];
    for (const name of names) await fixture.join(name);
    const networks = [
      await fixture.define("tight", { range: "10.130.0.0/27", node_slice_size: "/30", network_name: "tight" }),
      await fixture.define("roomy", { range: "10.131.0.0/24", node_slice_size: "/28", network_name: "roomy" }),
      await fixture.define("six", { range: "fd30::/120", node_slice_size: "/124", network_name: "six" }),
    ];
    const churn = new Churn(fixture, networks, names, randomOf(seed));
    for (let round = 0; round < rounds; round++) {
      await churn.round();
      expect(await fixture.dangers(), `round ${round}: ${churn.said.join(", ")}`).toEqual([]);
    }
    await churn.end();
    const { shared, slices } = await fixture.settle(120_000);
    expect(fixture.given).toEqual([]);
    expect(shared).toEqual([]);
    expect(slices.flatMap(({ entries }) => entries)).toEqual([]);
  });
}
