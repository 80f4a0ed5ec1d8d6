// A node that was fenced after the copy that the API server is restored from, and is back: the copy still gives it what
// another node has by now. Nobody but the other node knows better, and that one is not there yet.
import { expect, it } from "vitest";

import { nodeLeaseName } from "../../src/api/slices/node-lease.ts";
import { leases, nodes } from "../../src/cluster/resources.ts";
import { type Fixture, moment, type Network, systemNamespace } from "./fixture.ts";
import { patient, restorableServer } from "./restorable-server.ts";
import { added, addMany } from "./steps.ts";
import { release, soon } from "./stories/nodes.ts";

let fixture: Fixture;
const { snapshot, restoreLed, assigned } = restorableServer((each) => (fixture = each));

const twice = async () => (await fixture.dangers()).filter((each) => each.includes("given twice"));

const renewed = async (node: string) => {
  const lease = await fixture.admin.get(leases, { namespace: systemNamespace, name: nodeLeaseName(node) });
  return lease.spec?.renewTime;
};

/** After the copy, x is off for so long that its slice becomes y's, which gives five addresses of it. */
async function handOn(others: readonly string[]): Promise<Network> {
  const range = { range: "10.133.0.0/26", node_slice_size: "/28", network_name: "cut" };
  const net = await fixture.define("cut", range);
  for (const name of [...others, "x"]) await fixture.join(name);
  fixture.lead(soon);
  for (const name of others) await added(fixture, net, name);
  const gone = await added(fixture, net, "x");
  const guests = await Promise.all(Array.from({ length: 5 }, () => fixture.pod("y")));
  await fixture.settle();
  snapshot();
  const before = await Promise.all(others.map(renewed));
  const [own = ""] = (await assigned()).filter((each) => each.startsWith("x ")).map((each) => each.slice(2));
  await fixture.end(gone, net);
  await fixture.sleep("x");
  await release(fixture, "x");
  await expect.poll(assigned, patient).not.toContain(`x ${own}`);
  await fixture.join("y");
  for (const guest of guests) await fixture.add(guest, net);
  expect(await assigned()).toContain(`y ${own}`);
  // In the five minutes that fencing takes every other node has renewed its Lease.
  for (const [at, name] of others.entries()) await expect.poll(() => renewed(name), patient).not.toBe(before[at]);
  return net;
}

/** While pods of x ask, y comes back; then y has the block and all that it gave, and x others. */
async function yComesBack(net: Network): Promise<void> {
  const asking = Array.from({ length: 6 }, async () => fixture.tryAdd(await fixture.pod("x"), net));
  await moment();
  expect(await twice()).toEqual([]);
  fixture.node("y").line.heal();
  await fixture.admin.create(nodes, { metadata: { name: "y" } });
  await Promise.all(asking);
  expect(await twice()).toEqual([]);
  await expect.poll(assigned, patient).toContainEqual(expect.stringContaining("y "));
  // The time that the leader gives to nodes which the copy does not know.
  fixture.clock.shiftMs += 120_000;
  await addMany(fixture, net, "x", 4);
  await addMany(fixture, net, "y", 4);
  expect(await twice()).toEqual([]);
  await expect.poll(() => fixture.dangers(), patient).toEqual([]);
}

it("one that wakes after the restore gives nothing of it", { timeout: 400_000 }, async () => {
  const net = await handOn(["a"]);
  fixture.node("y").line.cut();
  await restoreLed();
  await fixture.node("x").daemonFixture.start();
  await yComesBack(net);
});

it(
  "one that woke before the restore, and had not given it up yet, gives nothing of it",
  { timeout: 400_000 },
  async () => {
    const net = await handOn(["a"]);
    const { line, daemonFixture } = fixture.node("x");
    // It has met that its object is gone, and not whose the block is now.
    line.blocks = ({ method, path }) => method === "GET" && path.includes("/nodeslicepools/");
    await daemonFixture.start();
    await moment();
    fixture.node("y").line.cut();
    await restoreLed();
    line.blocks = () => false;
    await yComesBack(net);
  },
);

it("one that wakes with an empty disk gives nothing of it", { timeout: 400_000 }, async () => {
  const net = await handOn(["a"]);
  fixture.node("y").line.cut();
  await restoreLed();
  await fixture.rejoin("x");
  await yComesBack(net);
});

it("one that wakes as the only node of the copy gives nothing of it", { timeout: 400_000 }, async () => {
  const net = await handOn([]);
  fixture.node("y").line.cut();
  await restoreLed();
  await fixture.node("x").daemonFixture.start();
  await yComesBack(net);
});
