// A leader that is killed at each of its writes, with the answer to that write lost: whoever leads next comes to the
// same end, no address is given twice (the fixture throws) and none is lost.
import { expect, it } from "vitest";

import * as kinds from "../../src/cluster/resources.ts";
import { stepsOf } from "../volume.ts";
import { type Leader, Fixture, system } from "./leader-fixture.ts";

const limitMs = 300_000;

interface Story {
  readonly about: string;
  tell(fixture: Fixture, wait: (what: string, isSo: () => Promise<boolean>) => Promise<void>): Promise<void>;
}

const network = { range: "10.0.0.0/27", network_name: "blue", node_slice_size: "/29", enable_l3: true };

const stories: readonly Story[] = [
  {
    about: "nodes join, one leaves with addresses held, the range is changed",
    tell: async (fixture, wait) => {
      const free = (pool: string, nodes: readonly string[]) => async () =>
        nodes.every((node) => fixture.daemons.get(node)!.hasFree(pool));
      for (const name of ["n1", "n2"]) await fixture.node(name);
      await fixture.define("a", network);
      await wait("both hand out", free("blue", ["n1", "n2"]));
      fixture.daemons.get("n1")!.take("blue", 2);
      await fixture.node("n3");
      await fixture.deleteNode("n1");
      await wait("n3 hands out", free("blue", ["n3"]));
      await wait("n1 has nothing", async () => (await fixture.allocations("blue"))["n1"] === undefined);
      await exhaust(fixture, "blue", 30, wait);
      await fixture.define("a", { ...network, range: "10.0.1.0/27" });
      await wait("the new range is handed out", free("blue-10.0.1.0-27", ["n2", "n3"]));
      await wait("the old one is gone", async () => !(await fixture.hasPool("blue")));
      await wait("the state has one range", async () => (await fixture.sliced()).ranges.length === 1);
      expect(fixture.held.size).toBe(32);
    },
  },
  {
    about: "more nodes than slices: pieces are lent, and everything goes back",
    tell: async (fixture, wait) => {
      for (const name of ["n1", "n2", "n3"]) await fixture.node(name);
      await fixture.define("a", { ...network, range: "10.0.0.0/28" });
      await exhaust(fixture, "blue", 16, wait);
      for (const daemon of fixture.daemons.values()) {
        daemon.releaseAll("blue");
        daemon.take("blue", 0);
      }
      await fixture.undefine("a");
      await wait("the pool is gone", async () => !(await fixture.hasPool("blue")));
      await wait("the state is empty", async () => (await fixture.sliced()).ranges.length === 0);
    },
  },
  {
    about: "slices of whereabouts: every entry reaches its node",
    tell: async (fixture, wait) => {
      const nodes = ["n1", "n2", "n3"];
      await recordOld(fixture, Object.fromEntries(nodes.map((node, index) => [node, `10.0.0.${index * 8}/29`])));
      for (const name of nodes) await fixture.node(name);
      await fixture.define("a", network);
      await wait("all hand out", async () => nodes.every((node) => fixture.daemons.get(node)!.hasFree("blue")));
      for (const [index, node] of nodes.entries()) expect(fixture.held.get(`blue 10.0.0.${index * 8 + 5}`)).toBe(node);
    },
  },
];

/** As whereabouts has it. */
async function recordOld(fixture: Fixture, slices: Readonly<Record<string, string>>): Promise<void> {
  const metadata = { namespace: system, name: "blue" };
  const spec = { range: network.range, sliceSize: network.node_slice_size };
  const pool = await fixture.client.create(kinds.nodeSlicePools, { metadata, spec });
  const allocations = Object.entries(slices).map(([nodeName, sliceRange]) => ({ nodeName, sliceRange }));
  await fixture.client.update(kinds.nodeSlicePools, { ...pool, status: { allocations } });
  for (const [node, range] of Object.entries(slices)) {
    const at = { namespace: system, name: `blue-${node}-${range.replace("/", "-")}` };
    const entry = { id: `sandbox-${node}`, podref: `shop/${node}`, ifname: "net1" };
    await fixture.client.create(kinds.ipPools, { metadata: at, spec: { range, allocations: { 5: entry } } });
  }
}

/** Everybody takes addresses until none is left: so many, none lost; then there is no more, and the pool says so. */
async function exhaust(
  fixture: Fixture,
  pool: string,
  count: number,
  wait: Parameters<Story["tell"]>[1],
): Promise<void> {
  let given = 0;
  const take = () => {
    for (const daemon of fixture.daemons.values()) given += daemon.take(pool, 1);
  };
  await wait(`${count} are handed out`, async () => {
    take();
    return given >= count;
  });
  await wait("it is exhausted", async () => {
    take();
    return (await fixture.condition(pool, "Exhausted"))?.status === "True";
  });
  expect(given).toBe(count);
}

/** Tells the story; a leader that dies is followed by one that lives. Its writes, if it lived. */
async function run(story: Story, killAtWrite: number): Promise<number> {
  const fixture = await Fixture.open();
  try {
    const first = fixture.lead({}, killAtWrite);
    let second: Leader | undefined;
    const wait = (what: string, isSo: () => Promise<boolean>) =>
      fixture.until(`${what}, killed at write ${killAtWrite}`, async () => {
        if (first.isDead) second ??= fixture.lead();
        return isSo();
      });
    await story.tell(fixture, wait);
    return first.writes;
  } finally {
    await fixture.close();
  }
}

it.each(stories)(
  "$about",
  async (story) => {
    const writes = await run(story, Number.POSITIVE_INFINITY);
    expect(writes).toBeGreaterThan(10);
    for (const killAtWrite of stepsOf(writes, 3)) await run(story, killAtWrite);
  },
  limitMs,
);
