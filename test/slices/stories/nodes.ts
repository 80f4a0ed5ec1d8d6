// Nodes that join, leave, come back as another, or are cut off: a slice goes to another node only when nobody can hand out of it
// any more. The controller's hours are the test's.
import { describe, expect, it } from "vitest";

import { nodeLeaseName } from "../../../src/api/slices/node-lease.ts";
import { goneSinceAnnotation, noteOn, offAnnotation } from "../../../src/cluster/fencing.ts";
import { leases } from "../../../src/cluster/resources.ts";
import { haste } from "../../haste.ts";
import { type Fleet, type Guest, moment, type Network, systemNamespace } from "../fleet.ts";
import { added, addMany } from "../scenes.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** Of the five minutes of silence. A daemon here renews once a minute: whoever is only cut off is silent sooner than elsewhere. */
const soonMs = 1000 * haste;
export const soon = { fencing: { silentMs: soonMs } };

/** Two slices of three usable addresses each, and nothing else: who is short can only have another's. */
export const tight = (name: string, third: number) => ({
  range: `10.110.${third}.0/29`,
  node_slice_size: "/30",
  network_name: name,
});

const nodesOf = async (fleet: Fleet) => new Set((await fleet.books()).slices.map(({ node }) => node));

export function nodeStories(get: () => Fleet): void {
  it("one that joins gets a slice; one that leaves with its daemon alive gives its own up, and its sandboxes go on", async () => {
    const fleet = get();
    const net = await fleet.define("come", { range: "10.111.0.0/24", node_slice_size: "/28", network_name: "come" });
    await fleet.join("a");
    await fleet.join("c");
    fleet.lead();
    const stays = await added(fleet, net, "c");
    await fleet.join("b");
    await fleet.add(await fleet.pod("b"), net);
    await fleet.settle();
    await fleet.removeNode("c");
    await expect.poll(() => nodesOf(fleet), { timeout: minuteMs }).toEqual(new Set(["a", "b"]));
    expect(await fleet.dangers()).toEqual([]);
    const { shared } = await fleet.settle();
    expect(shared.map(({ who }) => who)).toEqual([`default/${stays.name} net1`]);
    // Another one gets the block, and not the address in it that is still in use.
    await fleet.join("d");
    await addMany(fleet, net, "d", 15);
    await fleet.settle();
    await fleet.end(stays, net);
    expect((await fleet.settle()).shared).toEqual([]);
  });

  it("one that is renamed: the journal stays with the machine, the old name's slice goes when it is released", async () => {
    const fleet = get();
    const net = await fleet.define("name", { range: "10.112.0.0/24", node_slice_size: "/28", network_name: "name" });
    await fleet.join("a");
    const old = await fleet.join("old");
    fleet.lead(soon);
    const guest = await added(fleet, net, "old");
    await fleet.add(await fleet.pod("a"), net);
    await fleet.settle();
    await fleet.end(guest, net);
    await old.rig.stop();
    await fleet.removeNode("old");
    await fleet.joinAs("new", old);
    await fleet.add(await fleet.pod("new"), net);
    expect(await fleet.dangers()).toEqual([]);
    await release(fleet, "old");
    await expect.poll(() => nodesOf(fleet), { timeout: minuteMs }).toEqual(new Set(["a", "new"]));
    await addMany(fleet, net, "new", 20);
    await addMany(fleet, net, "a", 20);
    expect(await fleet.dangers()).toEqual([]);
    await fleet.settle();
  });

  it("one made anew under the same name, its disk empty: what its mirror has is not given again", async () => {
    const fleet = get();
    const net = await fleet.define("anew", { range: "10.113.0.0/24", node_slice_size: "/28", network_name: "anew" });
    const a = await fleet.join("a");
    fleet.lead();
    await addMany(fleet, net, "a", 5);
    await fleet.settle();
    await a.rig.stop();
    await fleet.rejoin("a");
    await addMany(fleet, net, "a", 5);
    expect(new Set(fleet.given.map(({ address }) => address)).size).toBe(10);
    await fleet.settle();
  });

  it("one whose API server is away for the time of its churn: all of it is on record afterwards", async () => {
    const fleet = get();
    const net = await fleet.define("away", { range: "10.114.0.0/24", node_slice_size: "/26", network_name: "away" });
    const a = await fleet.join("a");
    fleet.lead();
    const guests: Guest[] = [];
    for (let index = 0; index < 30; index++) guests.push(await fleet.pod("a"));
    await fleet.add(await fleet.pod("a"), net);
    await fleet.settle();
    a.line.cut();
    await Promise.all(guests.slice(0, 20).map((guest) => fleet.add(guest, net)));
    for (const guest of guests.slice(0, 10)) await fleet.del(guest, net);
    await a.rig.stop();
    await a.rig.start(); // by its journal alone
    await Promise.all(guests.slice(20).map((guest) => fleet.add(guest, net)));
    expect(new Set(fleet.given.map(({ address }) => address)).size).toBe(21);
    a.line.heal();
    await fleet.settle();
  });
}

/** As `holdfast slices release NODE --yes-the-node-is-off` says it. */
export async function release(fleet: Fleet, node: string): Promise<void> {
  const at = { namespace: systemNamespace, name: nodeLeaseName(node) };
  const words = noteOn(await fleet.admin.get(leases, at), `the test at ${new Date().toISOString()}`);
  await fleet.admin.patch(leases, at, {
    type: "merge",
    body: { metadata: { annotations: { [offAnnotation]: words } } },
  });
}

/** Not given an address, and told why. */
export async function refused(fleet: Fleet, guest: Guest, net: Network): Promise<void> {
  const told = await fleet.tryAdd(guest, net);
  expect(told.status).not.toBe(0);
  await fleet.ask("DEL", guest, net);
}

export function cutOffStories(get: () => Fleet): void {
  describe("cut off with addresses that no mirror shows, its Node deleted, another node short", () => {
    async function partition(fleet: Fleet, net: Network) {
      const b = fleet.node("b");
      const told = await added(fleet, net, "b");
      await addMany(fleet, net, "a", 3);
      await fleet.settle();
      const waiting = [await fleet.pod("b"), await fleet.pod("b")];
      b.line.cut();
      for (const guest of waiting) await fleet.add(guest, net);
      await fleet.removeNode("b");
      const short = await fleet.pod("a", "short");
      await refused(fleet, short, net);
      return { b, told, waiting, short };
    }

    it("and healed: no duplicate, nothing lost, and the other gets what is free", async () => {
      const fleet = get();
      const net = await fleet.define("cut", tight("cut", 0));
      for (const name of ["a", "b"]) await fleet.join(name);
      fleet.lead();
      const { b, told, short } = await partition(fleet, net);
      for (const passMs of [4 * minuteMs, 12 * hourMs]) {
        fleet.clock.shiftMs += passMs;
        await moment();
        await refused(fleet, short, net);
        expect(await fleet.dangers()).toEqual([]);
      }
      b.line.heal();
      await fleet.end(told, net);
      await fleet.add(short, net);
      expect(await fleet.dangers()).toEqual([]);
      const { shared } = await fleet.settle();
      expect(shared.map(({ who }) => who)).toHaveLength(2);
    });

    it("and released by an operator who says that it is off: back again, it hands out nothing of it", async () => {
      const fleet = get();
      const net = await fleet.define("off", tight("off", 1));
      for (const name of ["a", "b"]) await fleet.join(name);
      fleet.lead(soon);
      const { b, told, waiting, short } = await partition(fleet, net);
      // The operator is right: its sandboxes are gone with it. Its disk and its daemon come back later.
      await b.rig.stop();
      for (const guest of [told, ...waiting]) fleet.forget(guest);
      await release(fleet, "b");
      await fleet.add(short, net);
      await addMany(fleet, net, "a", 1);
      // What its mirror showed stays taken while its pod is there.
      expect((await fleet.books()).shared.map(({ who }) => who)).toEqual([`default/${told.name} net1`]);
      b.line.heal();
      await b.rig.start();
      const late = await fleet.pod("b", "late");
      await refused(fleet, late, net);
      expect(await fleet.dangers()).toEqual([]);
      for (const guest of [told, ...waiting]) await fleet.end(guest, net);
      expect(await fleet.dangers()).toEqual([]);
      await addMany(fleet, net, "a", 1);
      await refused(fleet, late, net);
      await fleet.settle();
    });

    it("for longer than the quarantine: it is given up, and a daemon that was away so long hands out nothing", async () => {
      const fleet = get();
      const net = await fleet.define("long", tight("long", 2));
      for (const name of ["a", "b"]) await fleet.join(name);
      fleet.lead({ fencing: { quarantineMs: 24 * hourMs, silentMs: soonMs } });
      const { b, told, waiting, short } = await partition(fleet, net);
      await b.rig.stop();
      for (const guest of [told, ...waiting]) fleet.forget(guest);
      fleet.clock.shiftMs += 4 * minuteMs;
      const lease = () => fleet.admin.get(leases, { namespace: systemNamespace, name: nodeLeaseName("b") });
      const noted = async () => (await lease()).metadata.annotations?.[goneSinceAnnotation];
      await expect.poll(noted, { timeout: minuteMs }).toBeDefined();
      fleet.clock.shiftMs += 23 * hourMs;
      await moment();
      await refused(fleet, short, net);
      fleet.clock.shiftMs += 2 * hourMs;
      await fleet.add(short, net);
      expect(await fleet.dangers()).toEqual([]);
    });
  });
}
