// What a sliced network does every day: addresses from the node's own slice, both families, limits inside the range,
// more slices on demand, and what happens when there are no more.
import { describe, expect, it } from "vitest";

import { parseAddress } from "../../../src/net/address.ts";
import { contains } from "../../../src/net/prefix.ts";
import type { Books } from "../books.ts";
import type { Fixture, Guest } from "../fixture.ts";
import { added, addMany, eventsOf } from "../steps.ts";

const ownSlice = (books: Books, node: string, address: string) =>
  books.slices.some((each) => each.node === node && contains(each.slice, parseAddress(address.split("/")[0] ?? "")));

export function dailyStories(get: () => Fixture): void {
  describe("a node's own slice", () => {
    it("gives the addresses, lowest first, by the order of the nodes' names, with the network's own mask", async () => {
      const fixture = get();
      const net = await fixture.define("own", { range: "10.80.0.0/24", node_slice_size: "/28", network_name: "own" });
      for (const name of ["a", "b", "c"]) await fixture.join(name);
      fixture.lead();
      const firsts = [];
      for (const name of ["a", "b", "c"]) firsts.push(await fixture.add(await fixture.pod(name), net));
      expect(firsts).toEqual([["10.80.0.1/24"], ["10.80.0.16/24"], ["10.80.0.32/24"]]);
      const books = await fixture.settle();
      for (const { node, address } of fixture.given) expect(ownSlice(books, node, address)).toBe(true);
      expect(books.pools.map(({ name, assigned }) => `${name} ${assigned.map(({ node }) => node).join()}`)).toEqual([
        "own a,b,c",
      ]);
    });

    it("has both of its ends, where they are inside the network", async () => {
      const fixture = get();
      const net = await fixture.define("ends", { range: "10.81.0.0/29", node_slice_size: "/30", network_name: "ends" });
      for (const name of ["a", "b"]) await fixture.join(name);
      fixture.lead();
      expect((await addMany(fixture, net, "a", 3)).toSorted()).toEqual([
        "10.81.0.1/29",
        "10.81.0.2/29",
        "10.81.0.3/29",
      ]);
      expect((await addMany(fixture, net, "b", 3)).toSorted()).toEqual([
        "10.81.0.4/29",
        "10.81.0.5/29",
        "10.81.0.6/29",
      ]);
      await fixture.settle();
    });

    it("keeps to range_start, range_end and exclude; a slice with nothing to hand out is left out", async () => {
      const fixture = get();
      const net = await fixture.define("limits", {
        range: "10.82.0.0/24",
        range_start: "10.82.0.70",
        range_end: "10.82.0.200",
        exclude: ["10.82.0.128/28"],
        node_slice_size: "/26",
        network_name: "limits",
      });
      for (const name of ["a", "b"]) await fixture.join(name);
      fixture.lead();
      expect(await fixture.add(await fixture.pod("a"), net)).toEqual(["10.82.0.70/24"]);
      expect(await fixture.add(await fixture.pod("b"), net)).toEqual(["10.82.0.144/24"]);
      const { pools } = await fixture.settle();
      expect(pools[0]?.assigned.map(({ block }) => String(block))).toEqual(["10.82.0.64/26", "10.82.0.128/26"]);
    });

    it("of several ranges: one pool for each, both families in one answer", async () => {
      const fixture = get();
      const ipRanges = [
        { range: "10.83.0.0/24", node_slice_size: "/28" },
        { range: "fd83::/64", node_slice_size: "/80" },
      ];
      const net = await fixture.define("dual", { ipRanges, network_name: "dual" });
      for (const name of ["a", "b"]) await fixture.join(name);
      fixture.lead();
      expect(await fixture.add(await fixture.pod("a"), net)).toEqual(["10.83.0.1/24", "fd83::1/64"]);
      expect(await fixture.add(await fixture.pod("b"), net)).toEqual(["10.83.0.16/24", "fd83::1:0:0:0/64"]);
      const { pools } = await fixture.settle();
      expect(pools.map(({ range }) => String(range)).toSorted()).toEqual(["10.83.0.0/24", "fd83::/64"]);
    });
  });

  describe("definitions", () => {
    it("of one network name share the slices, and never give an address twice", async () => {
      const fixture = get();
      const ipam = { range: "10.84.0.0/24", node_slice_size: "/28", network_name: "twin" };
      const nets = [await fixture.define("twin-1", ipam), await fixture.define("twin-2", ipam)];
      for (const name of ["a", "b"]) await fixture.join(name);
      fixture.lead();
      for (let round = 0; round < 3; round++) {
        for (const net of nets) for (const node of ["a", "b"]) await fixture.add(await fixture.pod(node), net);
      }
      const { pools } = await fixture.settle();
      expect(pools.map(({ name }) => name)).toEqual(["twin"]);
      expect(new Set(fixture.given.map(({ address }) => address)).size).toBe(12);
    });

    it("that disagree on the size: the pool stays, a condition and an event on each say so", async () => {
      const fixture = get();
      const ipam = { range: "10.85.0.0/24", network_name: "odd" };
      const net = await fixture.define("odd-1", { ...ipam, node_slice_size: "/28" });
      await fixture.join("a");
      fixture.lead();
      await fixture.add(await fixture.pod("a"), net);
      await fixture.settle();
      const other = await fixture.define("odd-2", { ...ipam, node_slice_size: "/27" });
      await expect
        .poll(async () => (await fixture.books()).pools[0]?.conditions.get("Agreed")?.status, { timeout: 30_000 })
        .toBe("False");
      for (const name of ["odd-1", "odd-2"]) {
        await expect.poll(() => eventsOf(fixture, "default", name), { timeout: 30_000 }).not.toEqual([]);
      }
      const { pools } = await fixture.settle();
      expect(pools[0]?.sliceLength).toBe(28);
      await fixture.undefine(other);
      await expect
        .poll(async () => (await fixture.books()).pools[0]?.conditions.get("Agreed")?.status, { timeout: 30_000 })
        .toBe("True");
    });

    it("without a network name never meet: each has a pool of its own", async () => {
      const fixture = get();
      const nets = [
        await fixture.define("plain-1", { range: "10.86.0.0/24", node_slice_size: "/28" }),
        await fixture.define("plain-2", { range: "10.87.0.0/24", node_slice_size: "/26" }),
      ];
      await fixture.join("a");
      fixture.lead();
      expect(await fixture.add(await fixture.pod("a"), nets[0]!)).toEqual(["10.86.0.1/24"]);
      expect(await fixture.add(await fixture.pod("a"), nets[1]!)).toEqual(["10.87.0.1/24"]);
      const { pools } = await fixture.settle();
      expect(pools.map(({ name }) => name).toSorted()).toEqual(["plain-1", "plain-2"]);
    });

    it("of another namespace, and gone: pool, slices and their objects go with them", async () => {
      const fixture = get();
      const net = await fixture.define("far", { range: "10.88.0.0/24", node_slice_size: "/28" }, "kube-system");
      await fixture.join("a");
      fixture.lead();
      const guest = await fixture.pod("a");
      expect(await fixture.add(guest, net)).toEqual(["10.88.0.1/24"]);
      await fixture.end(guest, net);
      await fixture.undefine(net);
      await expect
        .poll(async () => Object.values(await fixture.books()).map((each) => each.length), { timeout: 30_000 })
        .toEqual([0, 0, 0]);
    });
  });

  describe("more and no more", () => {
    it("a node gets more slices as it needs them, and returns what is empty", async () => {
      const fixture = get();
      const net = await fixture.define("grow", { range: "10.89.0.0/24", node_slice_size: "/28", network_name: "grow" });
      for (const name of ["a", "b"]) await fixture.join(name);
      fixture.lead();
      const guests: Guest[] = [];
      for (let index = 0; index < 40; index++) guests.push(await added(fixture, net, "a"));
      const full = await fixture.settle();
      const slicesOf = (books: Books, node: string) => books.slices.filter((each) => each.node === node).length;
      expect(slicesOf(full, "a")).toBeGreaterThanOrEqual(3);
      expect(slicesOf(full, "b")).toBe(1);
      for (const guest of guests) await fixture.end(guest, net);
      await expect.poll(async () => slicesOf(await fixture.books(), "a"), { timeout: 60_000 }).toBe(1);
      await fixture.settle();
    });

    it("full: an error and a condition that say so, and the one that is freed elsewhere is lent", async () => {
      const fixture = get();
      const net = await fixture.define("full", { range: "10.90.0.0/29", node_slice_size: "/30", network_name: "full" });
      for (const name of ["a", "b"]) await fixture.join(name);
      fixture.lead();
      await addMany(fixture, net, "a", 3);
      const others: Guest[] = [];
      for (let index = 0; index < 3; index++) others.push(await added(fixture, net, "b"));
      const late = await fixture.pod("a", "late");
      const told = await fixture.tryAdd(late, net);
      expect(told.status).not.toBe(0);
      expect(`${told.json.msg} ${told.json.details}`).toContain("10.90.0.0/29");
      const exhausted = async () => (await fixture.books()).pools[0]?.conditions.get("Exhausted");
      await expect.poll(async () => (await exhausted())?.status, { timeout: 30_000 }).toBe("True");
      await expect.poll(() => eventsOf(fixture, "default", "full"), { timeout: 30_000 }).not.toEqual([]);
      const freed = fixture.given.find(({ node }) => node === "b");
      await fixture.end(
        others.find(({ sandbox }) => sandbox === freed?.container)!,
        net,
      );
      expect(await fixture.add(late, net)).toEqual([`${freed?.address}/29`]);
      expect(await fixture.dangers()).toEqual([]);
      await fixture.settle();
      await fixture.end(late, net);
      await expect.poll(async () => (await exhausted())?.status, { timeout: 30_000 }).toBe("False");
    });

    it("more nodes than slices: those without borrow, down to single addresses, until the range is full", async () => {
      const fixture = get();
      const net = await fixture.define("few", { range: "10.91.0.0/28", node_slice_size: "/29", network_name: "few" });
      for (const name of ["a", "b", "c", "d"]) await fixture.join(name);
      fixture.lead();
      const given: string[] = [];
      for (let index = 0; index < 14; index++) given.push(...(await addMany(fixture, net, "abcd"[index % 4]!, 1)));
      expect(new Set(given).size).toBe(14);
      expect(await fixture.dangers()).toEqual([]);
      await fixture.settle();
    });
  });
}
