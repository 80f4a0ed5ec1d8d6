// A block changes hands after the copy that the API server is restored from: the copy gives it to its former node, or
// lacks a loan. Of two grants of an address the later generation counts: the former node gives none, no hold is lost.
import { expect, it } from "vitest";

import { nodes } from "../../src/cluster/resources.ts";
import type { Fixture, Guest, Network } from "./fixture.ts";
import { patient, restorableServer } from "./restorable-server.ts";
import { added, addMany } from "./steps.ts";
import { release, soon } from "./stories/nodes.ts";

let fixture: Fixture;
const { snapshot, restoreLed, assigned } = restorableServer((each) => (fixture = each));

/** So many pods that the copy knows, for later addresses: a pod that the server forgot is ended by its kubelet. */
const guestsOf = (node: string, count: number) => Promise.all(Array.from({ length: count }, () => fixture.pod(node)));

async function addAll(guests: readonly Guest[], net: Network): Promise<void> {
  for (const guest of guests) await fixture.add(guest, net);
}

/** All ask at once, again and again, while daemons and leader notice the restore. Until then mirrors are the copy's. */
async function goOn(net: Network, on: readonly string[], rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    await Promise.all(on.map(async (node) => fixture.tryAdd(await fixture.pod(node), net)));
    expect((await fixture.dangers()).filter((each) => each.includes("given twice"))).toEqual([]);
  }
}

it(
  "a node that left gives nothing of a slice that is another's by now, and the other keeps it with all it holds",
  { timeout: 400_000 },
  async () => {
    const net = await fixture.define("cut", { range: "10.130.0.0/26", node_slice_size: "/28", network_name: "cut" });
    for (const name of ["a", "x"]) await fixture.join(name);
    fixture.lead();
    for (const name of ["a", "x"]) await added(fixture, net, name);
    expect(await assigned()).toContain("x 10.130.0.16/28");
    const guests = await guestsOf("y", 5);
    snapshot();
    await fixture.removeNode("x");
    await expect.poll(assigned, patient).toEqual(["a 10.130.0.0/28"]);
    await fixture.join("y");
    await addAll(guests, net);
    expect(await assigned()).toContain("y 10.130.0.16/28");
    await fixture.settle();
    await restoreLed();
    await fixture.admin.create(nodes, { metadata: { name: "y" } });
    await goOn(net, ["x", "y"], 12);
    await addMany(fixture, net, "x", 4);
    await expect.poll(assigned, patient).toContain("y 10.130.0.16/28");
    await addMany(fixture, net, "y", 3);
    await expect.poll(() => fixture.dangers(), patient).toEqual([]);
  },
);

it(
  "a node that was fenced, and is back with its disk, gives nothing of what the copy gives to it again",
  { timeout: 400_000 },
  async () => {
    const net = await fixture.define("cut", { range: "10.132.0.0/26", node_slice_size: "/28", network_name: "cut" });
    for (const name of ["a", "x"]) await fixture.join(name);
    fixture.lead(soon);
    const [, gone] = [await added(fixture, net, "a"), await added(fixture, net, "x")];
    expect(await assigned()).toContain("x 10.132.0.16/28");
    const guests = await guestsOf("y", 5);
    await fixture.settle();
    snapshot();
    await fixture.end(gone, net);
    await fixture.sleep("x");
    await release(fixture, "x");
    await expect.poll(assigned, patient).toEqual(["a 10.132.0.0/28"]);
    await fixture.join("y");
    await addAll(guests, net);
    expect(await assigned()).toContain("y 10.132.0.16/28");
    await fixture.node("x").daemonFixture.start();
    await expect.poll(assigned, patient).toContain("x 10.132.0.32/28");
    await restoreLed();
    await fixture.admin.create(nodes, { metadata: { name: "y" } });
    await fixture.restart("x");
    await goOn(net, ["x", "y"], 12);
    await addMany(fixture, net, "x", 4);
    await expect.poll(assigned, patient).toContain("y 10.132.0.16/28");
    await expect.poll(() => fixture.dangers(), patient).toEqual([]);
  },
);

it(
  "a piece that was lent stays with whom it was lent to, and its lender gives nothing of it",
  { timeout: 400_000 },
  async () => {
    const net = await fixture.define("cut", { range: "10.131.0.0/28", node_slice_size: "/28", network_name: "cut" });
    await fixture.join("x");
    fixture.lead();
    await addMany(fixture, net, "x", 2);
    const guests = await guestsOf("y", 3);
    await fixture.settle();
    snapshot();
    await fixture.join("y");
    await addAll(guests, net);
    expect((await assigned())[0]).toBe("x 10.131.0.0/28");
    await fixture.settle();
    const pieces = (await assigned()).filter((each) => each.startsWith("y "));
    expect(pieces).not.toEqual([]);
    await restoreLed();
    await fixture.admin.create(nodes, { metadata: { name: "y" } });
    await goOn(net, ["x", "y"], 12);
    await expect.poll(assigned, patient).toEqual(expect.arrayContaining(pieces));
    await goOn(net, ["x", "x", "y"], 4);
  },
);
