// When a node's slices go to others: by a taint, an operator's word, a quarantine, a deletion that fences.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { nodeLeaseName } from "../../src/api/slices/node-lease.ts";
import { noteOn, offAnnotation } from "../../src/cluster/fencing.ts";
import * as kinds from "../../src/cluster/resources.ts";
import { Fixture, system } from "./leader-fixture.ts";

// A quarantine of a day is 8,640 looks of ten seconds.
vi.setConfig({ testTimeout: 120_000 });

let fixture: Fixture;
beforeEach(async () => {
  fixture = await Fixture.open();
});
afterEach(() => fixture.close());

const blue = { range: "10.0.0.0/24", network_name: "blue", node_slice_size: "/26", enable_l3: true };
const hourMs = 3_600_000;
const lease = (node: string) => fixture.client.get(kinds.leases, { namespace: system, name: nodeLeaseName(node) });
/** Five minutes of it, in steps of half a second, and some more. */
const silence = 800;
const taint = (name: string) => {
  const taints = [{ key: "node.kubernetes.io/out-of-service", value: "nodeshutdown", effect: "NoExecute" }];
  return fixture.client.patch(kinds.nodes, { name }, { type: "merge", body: { spec: { taints } } });
};
/** As a daemon shows what it holds. */
const mirror = (name: string, addresses: readonly string[]) => {
  const entryOf = (address: string) => ({ id: "c", podref: `shop/p-${address}`, ifname: "net1", uid: `u-${address}` });
  const allocations = Object.fromEntries(addresses.map((each) => [each.split(".")[3], entryOf(each)]));
  return fixture.client.patch(
    kinds.ipPools,
    { namespace: system, name },
    { type: "merge", body: { spec: { allocations } } },
  );
};
const isGone = (call: Promise<unknown>) =>
  call.then(
    () => false,
    () => true,
  );

async function join(...names: string[]): Promise<void> {
  for (const name of names) await fixture.node(name);
}

describe("fencing", () => {
  /** n1 has a slice with three addresses, its machine is off, and its Node is deleted where that is said. */
  async function lose(isDeleted: boolean, options = {}) {
    const leader = fixture.lead(options);
    // Without any Node the cluster would be a machine of its own.
    await join("n1", "n2", "n3");
    await fixture.define("a", { ...blue, range: "10.0.0.0/25" });
    await fixture.granted("blue", ["n1", "n2"]);
    fixture.daemons.get("n1")!.take("blue", 3);
    fixture.daemons.get("n1")!.isAlive = false;
    if (isDeleted) await fixture.deleteNode("n1");
    else await fixture.ready("n1", "Unknown");
    return leader;
  }
  const has = async () => (await fixture.allocations("blue"))["n1"];
  const hours = async (count: number) => {
    for (let step = 0; step < count * 4; step++) await fixture.pass(hourMs / 4);
  };
  /** The others are heard meanwhile, so that it is silence. */
  const minutes = async (count: number) => {
    for (let minute = 0; minute < count; minute++) await fixture.pass(60_000);
  };
  /** From the fencing, however long it was silent before. */
  const lastsAnHour = async () => {
    await minutes(50);
    expect((await lease("n1")).metadata.annotations).toHaveProperty(["holdfast.io/gone-since"]);
    await minutes(15);
    await fixture.until("its Lease is gone", () => isGone(lease("n1")));
  };

  it("a Node that is gone keeps its slice until the quarantine is over, also where leaders change", async () => {
    const first = await lose(true);
    await fixture.until(
      "it is noted",
      async () => (await lease("n1")).metadata.annotations?.["holdfast.io/gone-since"] !== undefined,
      800,
    );
    await hours(12);
    await first.stop();
    fixture.lead();
    await hours(11);
    expect(await has()).toEqual(["10.0.0.0/26"]);
    await minutes(60);
    await fixture.until("it is fenced", async () => (await has()) === undefined, silence);
    // What its pods held is collected by the same word: for an hour it stays on its Lease.
    await lastsAnHour();
  });

  it("one that renews again within the quarantine keeps it, and the time begins anew", async () => {
    await lose(true);
    await hours(20);
    const renewal = { type: "merge", body: { spec: { renewTime: "2026-01-02T00:00:00.000000Z" } } } as const;
    await fixture.client.patch(kinds.leases, { namespace: system, name: nodeLeaseName("n1") }, renewal);
    await hours(20);
    expect(await has()).toEqual(["10.0.0.0/26"]);
    await hours(5);
    await fixture.until("it is fenced", async () => (await has()) === undefined, silence);
  });

  it("the taint out-of-service fences a node that is not Ready", async () => {
    await lose(false);
    await hours(30);
    expect(await has()).toEqual(["10.0.0.0/26"]);
    await taint("n1");
    await fixture.until("it is fenced", async () => (await has()) === undefined, silence);
  });

  it("the taint fences nobody whose daemon renews its Lease, for however long", async () => {
    await lose(false);
    const n1 = fixture.daemons.get("n1")!;
    n1.isAlive = true;
    await taint("n1");
    for (let minute = 0; minute < 60; minute++) {
      await fixture.pass(60_000);
      expect(await has()).toEqual(["10.0.0.0/26"]);
    }
    n1.isAlive = false;
    await fixture.until("it is fenced", async () => (await has()) === undefined, silence);
  });

  it("what its mirror showed as held stays taken for whoever gets the block, until its pod is gone", async () => {
    await lose(false);
    const n1 = fixture.daemons.get("n1")!;
    const held = [...n1.slices.values()].flatMap((slice) => [...slice.held.keys()]);
    expect(held).toHaveLength(3);
    await mirror("blue-n1-10.0.0.0-26", held);
    await taint("n1");
    await fixture.until("it is fenced", async () => (await has()) === undefined, silence);
    const records = async () => (await fixture.client.list(kinds.reservations)).items;
    expect((await records()).map(({ metadata }) => metadata.name ?? "").toSorted()).toEqual(
      held.map((each) => `blue-${each}`),
    );
    expect((await records()).map(({ metadata }) => metadata.labels?.["holdfast.io/node"])).toEqual(["n1", "n1", "n1"]);
    const n3 = fixture.daemons.get("n3")!;
    n3.take("blue", 64); // so that it needs more than the piece that it was lent
    await fixture.until(
      "n3 has the block",
      async () => (await fixture.allocations("blue"))["n3"]?.[0] === "10.0.0.0/26",
    );
    const taken = () => [...n3.slices.values()].find(({ block }) => String(block) === "10.0.0.0/26")?.grant.taken;
    await fixture.until("n3 works by it", async () => taken() !== undefined);
    // Whoever hands out what another has makes the fixture throw.
    expect([taken(), n3.take("blue", 61)]).toEqual([["10.0.0.0-10.0.0.2"], 61]);
    n3.releaseAll("blue");
    n1.reimage();
    for (const { metadata } of await records()) {
      const { namespace = "", name = "" } = metadata;
      await fixture.client.delete(kinds.reservations, { namespace, name });
    }
    await fixture.until("all of it is free", async () => taken()?.length === 0);
  });

  it("an operator's word on its Lease fences it", async () => {
    await lose(true);
    await minutes(90);
    expect(await has()).toEqual(["10.0.0.0/26"]);
    const words = noteOn(await lease("n1"), "admin, it is in the skip");
    const body = { metadata: { annotations: { [offAnnotation]: words } } };
    await fixture.client.patch(kinds.leases, { namespace: system, name: nodeLeaseName("n1") }, { type: "merge", body });
    await fixture.until("it is fenced", async () => (await has()) === undefined, silence);
    await lastsAnHour();
  });

  it("--node-deletion-fences: when its daemon is silent, and not before", async () => {
    await lose(true, { fencing: { deletionFences: true } });
    await fixture.until("it is fenced", async () => (await has()) === undefined, silence);
    const n2 = fixture.daemons.get("n2")!;
    await fixture.deleteNode("n2");
    n2.take("blue", 1);
    await fixture.until("n2 has sealed", async () => (await fixture.allocations("blue"))["n2"] === undefined);
    const held = await fixture.client.list(kinds.reservations);
    expect(held.items.map(({ metadata }) => metadata.name)).toEqual(["blue-10.0.0.64"]);
  });
});
