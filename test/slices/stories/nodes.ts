// Nodes that join, leave, come back as another, or are cut off: a slice goes to another node only when nobody can hand
// out of it any more. The controller's hours are the test's.
import { describe, expect, it } from "vitest";

import { nodeLeaseName } from "../../../src/api/slices/node-lease.ts";
import { goneSinceAnnotation, noteOn, offAnnotation } from "../../../src/cluster/fencing.ts";
import { leases } from "../../../src/cluster/resources.ts";
import { stateName } from "../../../src/cluster/state.ts";
import { haste } from "../../haste.ts";
import { type Fixture, type Guest, moment, type Network, systemNamespace } from "../fixture.ts";
import { added, addMany } from "../steps.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** For the five minutes of silence. A daemon here renews once a minute: one that is cut off is silent sooner. */
const soonMs = 1000 * haste;
export const soon = { fencing: { silentMs: soonMs } };

/** Two slices of three usable addresses each, and nothing else: who is short can only have another's. */
export const tight = (name: string, third: number) => ({
  range: `10.110.${third}.0/29`,
  node_slice_size: "/30",
  network_name: name,
});

const nodesOf = async (fixture: Fixture) => new Set((await fixture.books()).slices.map(({ node }) => node));

export function nodeStories(get: () => Fixture): void {
  it("one that joins gets a slice; one that leaves with its daemon alive gives its own up, and its sandboxes go on", async () => {
    const fixture = get();
    const net = await fixture.define("come", { range: "10.111.0.0/24", node_slice_size: "/28", network_name: "come" });
    await fixture.join("a");
    await fixture.join("c");
    fixture.lead();
    const stays = await added(fixture, net, "c");
    await fixture.join("b");
    await fixture.add(await fixture.pod("b"), net);
    await fixture.settle();
    await fixture.removeNode("c");
    await expect.poll(() => nodesOf(fixture), { timeout: minuteMs }).toEqual(new Set(["a", "b"]));
    expect(await fixture.dangers()).toEqual([]);
    const { shared } = await fixture.settle();
    expect(shared.map(({ who }) => who)).toEqual([`default/${stays.name} net1`]);
    // Another one gets the block, and not the address in it that is still in use.
    await fixture.join("d");
    await addMany(fixture, net, "d", 15);
    await fixture.settle();
    await fixture.end(stays, net);
    expect((await fixture.settle()).shared).toEqual([]);
  });

  it("one that is renamed: the journal stays with the machine, the old name's slice goes when it is released", async () => {
    const fixture = get();
    const net = await fixture.define("name", { range: "10.112.0.0/24", node_slice_size: "/28", network_name: "name" });
    await fixture.join("a");
    const old = await fixture.join("old");
    fixture.lead(soon);
    const guest = await added(fixture, net, "old");
    await fixture.add(await fixture.pod("a"), net);
    await fixture.settle();
    await fixture.end(guest, net);
    await old.daemonFixture.stop();
    await fixture.removeNode("old");
    await fixture.joinAs("new", old);
    await fixture.add(await fixture.pod("new"), net);
    expect(await fixture.dangers()).toEqual([]);
    await release(fixture, "old");
    await expect.poll(() => nodesOf(fixture), { timeout: minuteMs }).toEqual(new Set(["a", "new"]));
    await addMany(fixture, net, "new", 20);
    await addMany(fixture, net, "a", 20);
    expect(await fixture.dangers()).toEqual([]);
    await fixture.settle();
  });

  it("one made anew under the same name, its disk empty: what its mirror has is not given again", async () => {
    const fixture = get();
    const net = await fixture.define("anew", { range: "10.113.0.0/24", node_slice_size: "/28", network_name: "anew" });
    const a = await fixture.join("a");
    fixture.lead();
    await addMany(fixture, net, "a", 5);
    await fixture.settle();
    await a.daemonFixture.stop();
    await fixture.rejoin("a");
    await addMany(fixture, net, "a", 5);
    expect(new Set(fixture.given.map(({ address }) => address)).size).toBe(10);
    await fixture.settle();
  });

  it("one whose API server is away for the time of its churn: all of it is on record afterwards", async () => {
    const fixture = get();
    const net = await fixture.define("away", { range: "10.114.0.0/24", node_slice_size: "/26", network_name: "away" });
    const a = await fixture.join("a");
    fixture.lead();
    const guests: Guest[] = [];
    for (let index = 0; index < 30; index++) guests.push(await fixture.pod("a"));
    await fixture.add(await fixture.pod("a"), net);
    await fixture.settle();
    a.line.cut();
    await Promise.all(guests.slice(0, 20).map((guest) => fixture.add(guest, net)));
    for (const guest of guests.slice(0, 10)) await fixture.del(guest, net);
    await a.daemonFixture.stop();
    await a.daemonFixture.start(); // by its journal alone
    await Promise.all(guests.slice(20).map((guest) => fixture.add(guest, net)));
    expect(new Set(fixture.given.map(({ address }) => address)).size).toBe(21);
    a.line.heal();
    await fixture.settle();
  });
}

/** As `holdfast slices release NODE --yes-the-node-is-off` says it. */
export async function release(fixture: Fixture, node: string): Promise<void> {
  const at = { namespace: systemNamespace, name: nodeLeaseName(node) };
  const words = noteOn(await fixture.admin.get(leases, at), `the test at ${new Date().toISOString()}`);
  await fixture.admin.patch(leases, at, {
    type: "merge",
    body: { metadata: { annotations: { [offAnnotation]: words } } },
  });
}

/** Not given an address, and told why. */
export async function refused(fixture: Fixture, guest: Guest, net: Network): Promise<void> {
  const told = await fixture.tryAdd(guest, net);
  expect(told.status).not.toBe(0);
  await fixture.ask("DEL", guest, net);
}

export function cutOffStories(get: () => Fixture): void {
  it("asleep while a shared range is cut: awake, it gives nothing by what it knew before", async () => {
    const fixture = get();
    const ipam = { range: "10.115.0.0/28", network_name: "slept" };
    const before = await fixture.define("slept", ipam);
    await fixture.join("a");
    await fixture.ledAlone();
    await added(fixture, before, "a");
    const guests = [await fixture.pod("a"), await fixture.pod("a")];
    const { line, clock } = fixture.node("a");
    line.freeze();
    fixture.clock.shiftMs += 30 * minuteMs;
    await fixture.join("b");
    const cut = await fixture.redefine(before, { ...ipam, node_slice_size: "/29" });
    await addMany(fixture, cut, "b", 3);
    const other = fixture.given.find(({ node }) => node === "b")!.address;
    // A hypervisor's pause: the kernel's uptime has not seen it. Neither its Lease nor the state gets through yet.
    clock.setMs += 30 * minuteMs;
    line.freeze(({ path }) => path.includes("/leases") || path.includes(stateName));
    const number = { capabilities: { ips: true }, runtimeConfig: { ips: [other] } };
    const asks = [{ ...before, config: { ...before.config, ...number } }, before];
    const asking = asks.map((net, index) => fixture.tryAdd(guests[index]!, net));
    await moment();
    expect(await fixture.dangers()).toEqual([]);
    line.thaw();
    await Promise.all(asking);
    expect(await fixture.dangers()).toEqual([]);
    await fixture.ask("DEL", guests[1]!, cut);
    await fixture.add(guests[1]!, cut);
    expect(await fixture.dangers()).toEqual([]);
  });

  describe("cut off with addresses that no mirror shows, its Node deleted, another node short", () => {
    async function partition(fixture: Fixture, net: Network) {
      const b = fixture.node("b");
      const told = await added(fixture, net, "b");
      await addMany(fixture, net, "a", 3);
      await fixture.settle();
      const waiting = [await fixture.pod("b"), await fixture.pod("b")];
      b.line.cut();
      for (const guest of waiting) await fixture.add(guest, net);
      await fixture.removeNode("b");
      const short = await fixture.pod("a", "short");
      await refused(fixture, short, net);
      return { b, told, waiting, short };
    }

    it("and healed: no duplicate, nothing lost, and the other gets what is free", async () => {
      const fixture = get();
      const net = await fixture.define("cut", tight("cut", 0));
      for (const name of ["a", "b"]) await fixture.join(name);
      fixture.lead();
      const { b, told, short } = await partition(fixture, net);
      for (const passMs of [4 * minuteMs, 12 * hourMs]) {
        fixture.clock.shiftMs += passMs;
        await moment();
        await refused(fixture, short, net);
        expect(await fixture.dangers()).toEqual([]);
      }
      b.line.heal();
      await fixture.end(told, net);
      await fixture.add(short, net);
      expect(await fixture.dangers()).toEqual([]);
      const { shared } = await fixture.settle();
      expect(shared.map(({ who }) => who)).toHaveLength(2);
    });

    it("and released by an operator who says that it is off: back again, it hands out nothing of it", async () => {
      const fixture = get();
      const net = await fixture.define("off", tight("off", 1));
      for (const name of ["a", "b"]) await fixture.join(name);
      fixture.lead(soon);
      const { b, told, waiting, short } = await partition(fixture, net);
      // The operator is right: its sandboxes are gone with it. Its disk and its daemon come back later.
      await b.daemonFixture.stop();
      for (const guest of [told, ...waiting]) fixture.forget(guest);
      await release(fixture, "b");
      await fixture.add(short, net);
      await addMany(fixture, net, "a", 1);
      // What its mirror showed stays taken while its pod is there.
      expect((await fixture.books()).shared.map(({ who }) => who)).toEqual([`default/${told.name} net1`]);
      b.line.heal();
      await b.daemonFixture.start();
      const late = await fixture.pod("b", "late");
      await refused(fixture, late, net);
      expect(await fixture.dangers()).toEqual([]);
      for (const guest of [told, ...waiting]) await fixture.end(guest, net);
      expect(await fixture.dangers()).toEqual([]);
      await addMany(fixture, net, "a", 1);
      await refused(fixture, late, net);
      await fixture.settle();
    });

    it("for longer than the quarantine: it is given up, and a daemon that was away so long hands out nothing", async () => {
      const fixture = get();
      const net = await fixture.define("long", tight("long", 2));
      for (const name of ["a", "b"]) await fixture.join(name);
      fixture.lead({ fencing: { quarantineMs: 24 * hourMs, silentMs: soonMs } });
      const { b, told, waiting, short } = await partition(fixture, net);
      await b.daemonFixture.stop();
      for (const guest of [told, ...waiting]) fixture.forget(guest);
      fixture.clock.shiftMs += 4 * minuteMs;
      const lease = () => fixture.admin.get(leases, { namespace: systemNamespace, name: nodeLeaseName("b") });
      const noted = async () => (await lease()).metadata.annotations?.[goneSinceAnnotation];
      await expect.poll(noted, { timeout: minuteMs }).toBeDefined();
      fixture.clock.shiftMs += 23 * hourMs;
      await moment();
      await refused(fixture, short, net);
      fixture.clock.shiftMs += 2 * hourMs;
      await fixture.add(short, net);
      expect(await fixture.dangers()).toEqual([]);
    });
  });
}
