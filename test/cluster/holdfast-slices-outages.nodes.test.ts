// Sliced networks while things are away, on three real nodes: the API server (for a minute in `npm run test:full`)
// under ADD and DEL, with a daemon killed and a node without power meanwhile; a node behind a cut cable whose Node is
// deleted; a node that is off and released, and comes back. The tests are one story, in order.
import { setTimeout as pause } from "node:timers/promises";

import { afterAll, beforeAll, beforeEach, expect, onTestFailed, test } from "vitest";

import {
  createPod,
  defineNetwork,
  type NetworkPlan,
  networkConfig,
  removePod,
  runningPod,
} from "../lab/holdfast/networks.ts";
import { coldStartTimeoutMs } from "../lab/start.ts";
import { until } from "../lab/wait.ts";
import { volume } from "../volume.ts";
import { ipsOf, SliceFixture, storyMs } from "./slice-fixture.ts";
import { NodeTool } from "./slice-tool.ts";

/** At least: the controller loses its lease meanwhile. */
const outageMs = volume(20_000, 60_000);
/** So many addresses a node gives in each of the two halves of the outage. */
const givenEach = volume(20, 60);
/** Between two of them on a node: without one the three nodes take both cores from whoever else is tested. */
const restMs = volume(50, 0);
/** What a node has at most in this story; a slice has 32. */
const livingMax = 20;
const network: NetworkPlan = {
  name: "tough",
  wire: "macvlan",
  ipam: { range: "10.77.0.0/24", node_slice_size: "/27", network_name: "tough" },
};
/** Three nodes, four slices of four: whoever is short can only have what another has. */
const tight: NetworkPlan = {
  name: "tight",
  wire: "macvlan",
  ipam: { range: "10.78.0.0/28", node_slice_size: "/30", network_name: "tight" },
};

let fixture: SliceFixture;
let tools: NodeTool[];
beforeAll(async () => {
  fixture = await SliceFixture.open({ sliced: true });
  for (const plan of [network, tight]) await defineNetwork(fixture.lab, plan);
  await fixture.pool("10.77.0.0/24", ({ assigned }) => assigned.length === 3);
  await fixture.pool("10.78.0.0/28", ({ assigned }) => assigned.length === 3);
  tools = await Promise.all(fixture.lab.nodes.map((node) => NodeTool.of(node, networkConfig(network))));
}, coldStartTimeoutMs);
afterAll(() => fixture?.close());
beforeEach(() => onTestFailed(() => console.error(fixture.holdfast.lastWords())));

const livingCount = () => tools.reduce((sum, { living }) => sum + living.size, 0);

/** ADD and DEL, one after the other, until it is ended. */
class Churn {
  /** ADDs that were answered with an address, and that were not. */
  given = 0;
  refused = 0;
  #isOver = false;
  readonly #ended: Promise<void>;

  constructor(tool: NodeTool) {
    this.#ended = this.#run(tool);
  }

  async #run(tool: NodeTool): Promise<void> {
    while (!this.#isOver) {
      if (tool.living.size >= livingMax || Math.random() >= 0.6) await tool.del();
      else if ((await tool.add()) === undefined) this.refused++;
      else this.given++;
      await pause(restMs);
    }
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await this.#ended;
  }

  more(count: number): Promise<unknown> {
    const before = this.given;
    const what = `${count} more addresses without an API server`;
    return until(async () => this.given >= before + count, { what, timeoutMs: storyMs });
  }
}

test(
  "the API server away: ADD and DEL go on, through kill -9 and a power cut; then the books are right",
  { timeout: 2 * storyMs },
  async () => {
    const { lab, holdfast } = fixture;
    const [one, two, three] = tools as [NodeTool, NodeTool, NodeTool];
    for (const tool of tools) for (let index = 0; index < 5; index++) await tool.surely();
    await fixture.settled(15);
    await lab.apiserver.kill();
    const enough = pause(outageMs);
    const [steady, killed, cut] = [new Churn(one), new Churn(two), new Churn(three)];
    await Promise.all([steady, killed, cut].map((each) => each.more(givenEach)));
    await holdfast.daemon(two.node).restart();
    await cut.end();
    expect(cut.refused).toBe(0);
    // Without power: its sandboxes are gone, its journal is not.
    const before = new Set(three.living.values());
    await three.node.kill();
    await three.node.start();
    await holdfast.begin(three.node);
    const after = await three.surely();
    expect(before).not.toContain(after.split("/")[0]);
    await three.delAllAfterPowerCut();
    for (let index = 0; index < 5; index++) await three.surely();
    await Promise.all([enough, ...[steady, killed].map((each) => each.more(givenEach))]);
    await Promise.all([steady.end(), killed.end()]);
    expect(steady.refused).toBe(0);
    await lab.apiserver.start();
    await holdfast.controller.start();
    await fixture.settled(livingCount());
    for (const tool of tools) while (tool.living.size > 0) await tool.del();
    await fixture.settled(0);
  },
);

test(
  "behind a cut cable with addresses that nobody else knows of, its Node deleted, others short; healed: none twice, none lost",
  { timeout: 3 * storyMs },
  async () => {
    const { lab } = fixture;
    const node = fixture.node("node2");
    const tool = await NodeTool.of(node, networkConfig(tight));
    tools.push(tool);
    await until(async () => (await fixture.books()).slices.some((each) => each.node === "node2"), {
      what: "its slice",
    });
    await node.partition();
    const hidden = [await tool.surely(), await tool.surely()];
    await lab.rest.delete("/api/v1/nodes/node2");
    // The others take what is theirs, what was nobody's, and then wait.
    const names = Array.from({ length: 12 }, (_, index) => `greedy-${index}`);
    for (const [index, name] of names.entries())
      await createPod(lab, name, "tight", { node: index % 2 === 0 ? "node1" : "node3" });
    const running = await until(
      async () => {
        const books = await fixture.books();
        const full = books.slices.filter((each) => each.pool === "tight" && each.node !== "node2");
        return full.reduce((sum, { entries }) => sum + entries.length, 0) >= 10 && books;
      },
      { what: "the others to have all that is not of node2", everyMs: 500, timeoutMs: storyMs },
    );
    expect(running.slices.some((each) => each.pool === "tight" && each.node === "node2")).toBe(true);
    await pause(5000);
    await node.heal();
    await node.kubelet.restart();
    await node.waitReady({ timeoutMs: storyMs });
    const books = await fixture.settled(12 + 2);
    const recorded = [...books.slices.flatMap(({ entries }) => entries), ...books.shared];
    for (const cidr of hidden) {
      expect(recorded.map(({ address }) => String(address))).toContain(cidr.split("/")[0]);
    }
    const addresses = await Promise.all(names.map(async (name) => ipsOf(await runningPod(lab, name), "tight")[0]));
    expect(new Set([...addresses, ...hidden.map((cidr) => cidr.split("/")[0])]).size).toBe(14);
    while (tool.living.size > 0) await tool.del();
    await Promise.all(names.map((name) => removePod(lab, name)));
    await fixture.settled(0);
  },
);

test(
  "off, and released by an operator: refused while it is heard of; back again, it hands out nothing of what was its own",
  { timeout: 4 * storyMs },
  async () => {
    const { lab, holdfast } = fixture;
    const node = fixture.node("node3");
    const tool = await NodeTool.of(node, networkConfig(tight));
    await tool.surely();
    const before = (await fixture.settled(1)).slices.filter((each) => each.node === "node3");
    expect(before).not.toEqual([]);
    const release = (...more: readonly string[]) =>
      holdfast.command("slices", "release", "node3", "--observe-seconds=5", ...more);
    expect(await release("--yes-the-node-is-off")).toMatchObject({ status: 1 });
    await node.kill();
    await lab.rest.delete("/api/v1/nodes/node3");
    expect((await release()).status).not.toBe(0);
    // Five minutes after its last word, without the wait. A Lease that stays set back is a restored API server's.
    const lease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/holdfast-node-node3";
    const { spec: left } = await lab.rest.get<{ spec: { renewTime: string } }>(lease);
    const renewTime = new Date(Date.now() - 300_000).toISOString().replace("Z", "000Z");
    await lab.rest.patch(lease, { spec: { renewTime } });
    expect(await release("--yes-the-node-is-off")).toMatchObject({ status: 0 });
    const names = Array.from({ length: 14 }, (_, index) => `heir-${index}`);
    for (const [index, name] of names.entries())
      await createPod(lab, name, "tight", { node: index % 2 === 0 ? "node1" : "node2" });
    for (const name of names) await runningPod(lab, name);
    await lab.rest.patch(lease, { spec: { renewTime: left.renewTime } });
    await node.start();
    await holdfast.begin(node);
    await node.waitReady({ timeoutMs: storyMs });
    expect(await tool.add()).toBeUndefined();
    await tool.delAllAfterPowerCut();
    await fixture.settled(14);
    await removePod(lab, "heir-0");
    await until(() => tool.add(), { what: "node3 to borrow what is free again", everyMs: 1000, timeoutMs: storyMs });
    await fixture.settled(14);
  },
);

test("no address was ever seen twice", async () => {
  await fixture.sampler.stop();
  expect(fixture.sampler.found).toEqual([]);
});
