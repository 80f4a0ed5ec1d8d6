// Sliced networks that change while sandboxes live: range, slice size, from shared to sliced and back, the floating
// part. What is in use stays in use and on record; what is new comes from the new.
import { describe, expect, it } from "vitest";

import { nodeLeaseName, seenAnnotation } from "../../../src/api/slices/node-lease.ts";
import { configMaps, leases, reservations } from "../../../src/cluster/resources.ts";
import { slicedKey, writeSlicedRanges } from "../../../src/cluster/sliced-ranges.ts";
import { stateName } from "../../../src/cluster/state.ts";
import { parseAddress } from "../../../src/net/address.ts";
import { contains, parsePrefix } from "../../../src/net/prefix.ts";
import { until } from "../../lab/wait.ts";
import { type Fixture, type Guest, type Network, systemNamespace } from "../fixture.ts";
import { added, addMany } from "../steps.ts";

const patient = { timeout: 60_000 };
const isIn = (range: string, address: string) =>
  contains(parsePrefix(range), parseAddress(address.split("/")[0] ?? ""));

/** Asks for the address once more, as a kubelet that restarts a sandbox's pod does not, but CHECK does. */
async function stillHas(fixture: Fixture, guest: Guest, network: Network, address: string): Promise<void> {
  const told = await fixture.tryAdd(guest, network);
  expect(told.json).toMatchObject({ ips: [{ address }] });
}

export function changeStories(get: () => Fixture): void {
  describe("of the range", () => {
    it("running ones keep theirs as reservations, new ones come from the new range, the old slices go", async () => {
      const fixture = get();
      const ipam = { node_slice_size: "/28", network_name: "moving" };
      const before = await fixture.define("moving", { range: "10.100.0.0/24", ...ipam });
      for (const name of ["a", "b"]) await fixture.join(name);
      fixture.lead();
      const guests = [await added(fixture, before, "a"), await added(fixture, before, "b")];
      await fixture.settle();
      const after = await fixture.redefine(before, { range: "10.101.0.0/24", ...ipam });
      for (const node of ["a", "b"]) {
        const [address = ""] = await fixture.add(await fixture.pod(node), after);
        expect(isIn("10.101.0.0/24", address)).toBe(true);
      }
      const books = await fixture.settle();
      expect(books.pools.map(({ range }) => String(range))).toEqual(["10.101.0.0/24"]);
      expect(books.shared.map(({ address }) => String(address)).toSorted()).toEqual(["10.100.0.1", "10.100.0.16"]);
      // The runtime's cached configuration is the old one; another runtime asks with the new one.
      await fixture.end(guests[0]!, before);
      await fixture.end(guests[1]!, after);
      expect((await fixture.settle()).shared).toEqual([]);
    });

    it("what was moved out of a slice is made again where the API server loses it", async () => {
      const fixture = get();
      const ipam = { node_slice_size: "/28", network_name: "moved" };
      const before = await fixture.define("moved", { range: "10.107.0.0/24", ...ipam });
      await fixture.join("a");
      fixture.lead();
      await added(fixture, before, "a");
      await fixture.settle();
      await fixture.redefine(before, { range: "10.108.0.0/24", ...ipam });
      const isShared = async () => (await fixture.books()).shared.length === 1;
      await until(isShared, { what: "the move", everyMs: 100, timeoutMs: 60_000 });
      await fixture.settle();
      const [lost] = (await fixture.admin.list(reservations, { namespace: systemNamespace })).items;
      await fixture.admin.delete(reservations, { namespace: systemNamespace, name: lost!.metadata.name! });
      await fixture.restart("a");
      const { shared } = await fixture.settle();
      expect(shared.map(({ address }) => String(address))).toEqual(["10.107.0.1"]);
    });

    it("widened: addresses in use are never given again", async () => {
      const fixture = get();
      const ipam = { node_slice_size: "/29", network_name: "wider" };
      const before = await fixture.define("wider", { range: "10.102.0.0/28", ...ipam });
      for (const name of ["a", "b"]) await fixture.join(name);
      fixture.lead();
      await addMany(fixture, before, "a", 5);
      await addMany(fixture, before, "b", 5);
      await fixture.settle();
      const after = await fixture.redefine(before, { range: "10.102.0.0/27", ...ipam });
      await addMany(fixture, after, "a", 10);
      await addMany(fixture, after, "b", 10);
      expect(await fixture.dangers()).toEqual([]);
      await fixture.settle();
      expect(new Set(fixture.given.map(({ address }) => address)).size).toBe(30);
    });
  });

  it("a request that waits for a slice does not keep the leader waiting for its node", async () => {
    const fixture = get();
    // No leader: its word is written by hand, and the request waits for a slice that never comes.
    const say = (version: number) => ({ data: { [slicedKey]: writeSlicedRanges({ version, ranges: [] }) } });
    const name = stateName;
    await fixture.admin.create(configMaps, { metadata: { namespace: systemNamespace, name }, ...say(1) });
    await fixture.join("a");
    const lease = () => fixture.admin.get(leases, { namespace: systemNamespace, name: nodeLeaseName("a") });
    const seen = async () => (await lease()).metadata.annotations?.[seenAnnotation];
    await expect.poll(seen, { timeout: 30_000 }).toBe("1");
    const net = await fixture.define("held-up", {
      range: "10.106.0.0/24",
      node_slice_size: "/28",
      network_name: "held-up",
    });
    let isWaiting = true;
    const waiting = fixture.tryAdd(await fixture.pod("a"), net).finally(() => (isWaiting = false));
    await expect
      .poll(() => fixture.node("a").daemonFixture.registry.metrics())
      .toContain("holdfast_cni_requests_in_work 1");
    await fixture.admin.patch(configMaps, { namespace: systemNamespace, name }, { type: "merge", body: say(2) });
    await expect.poll(seen, { timeout: 30_000 }).toBe("2");
    expect(isWaiting).toBe(true);
    expect((await waiting).status).not.toBe(0);
  });

  it("of the slice size: every slice is cut anew around what is in use", async () => {
    const fixture = get();
    const ipam = { range: "10.103.0.0/24", network_name: "sizes" };
    let net = await fixture.define("sizes", { ...ipam, node_slice_size: "/28" });
    for (const name of ["a", "b"]) await fixture.join(name);
    fixture.lead();
    const guests = [await added(fixture, net, "a"), await added(fixture, net, "b")];
    for (const size of ["/26", "/29"]) {
      await fixture.settle();
      net = await fixture.redefine(net, { ...ipam, node_slice_size: size });
      await expect
        .poll(async () => (await fixture.books()).slices.map(({ slice }) => `/${slice.length}`), { timeout: 60_000 })
        .toEqual([size, size]);
      for (const node of ["a", "b"]) guests.push(await added(fixture, net, node));
      expect(await fixture.dangers()).toEqual([]);
    }
    await fixture.settle();
    for (const guest of guests) await fixture.end(guest, net);
    const { shared } = await fixture.settle();
    expect(shared).toEqual([]);
  });

  const title = "from shared to sliced and back, with requests all the while: none fails for good, none meets another";
  it(title, { timeout: 420_000 }, async () => {
    const fixture = get();
    const ipam = { range: "10.104.0.0/24", network_name: "mode" };
    let net = await fixture.define("mode", ipam);
    for (const name of ["a", "b", "c"]) await fixture.join(name);
    await fixture.ledAlone();
    const shared = await added(fixture, net, "a");
    const [{ address: first } = { address: "" }] = fixture.given;
    for (const more of [{ node_slice_size: "/28" }, {}]) {
      const changed = fixture.redefine(net, { ...ipam, ...more });
      const requests = ["a", "b", "c", "a", "b", "c"].map(async (node) => added(fixture, net, node));
      net = await changed;
      await Promise.all(requests);
      expect(await fixture.dangers()).toEqual([]);
      const wanted = "node_slice_size" in more ? 1 : 0;
      // A write whose answer was lost keeps its node from saying that it has seen the change for a minute and a half.
      await expect.poll(async () => (await fixture.books()).pools.length, { timeout: 150_000 }).toBe(wanted);
      await Promise.all(["a", "b", "c"].map(async (node) => added(fixture, net, node)));
      expect(await fixture.dangers()).toEqual([]);
      await fixture.settle();
      await stillHas(fixture, shared, net, `${first}/24`);
    }
    expect((await fixture.settle()).slices).toEqual([]);
    expect(fixture.given).toHaveLength(1 + 2 * 9);
  });

  it("from shared to sliced: a request that waits for its slice does not keep the range from being cut", async () => {
    const fixture = get();
    const ipam = { range: "10.108.0.0/24", network_name: "waiting" };
    const net = await fixture.define("waiting", ipam);
    for (const name of ["a", "b"]) await fixture.join(name);
    await fixture.ledAlone();
    await added(fixture, net, "a");
    const guest = await fixture.pod("b");
    // The definition is what its node sees first; that the range is being cut comes a moment later.
    const after = await fixture.redefine(net, { ...ipam, node_slice_size: "/28" });
    expect((await fixture.tryAdd(guest, after)).status).toBe(0);
    await fixture.settle();
  });

  it("an address by number is of the floating part, and goes with its owner from node to node", async () => {
    const fixture = get();
    const ipam = {
      range: "10.105.0.0/24",
      node_slice_size: "/28",
      floating_slice_size: "/28",
      network_name: "floating",
    };
    const net = await fixture.define("floating", ipam);
    for (const name of ["a", "b"]) await fixture.join(name);
    fixture.lead();
    await fixture.add(await fixture.pod("a"), net);
    const wanted = {
      ...net,
      config: { ...net.config, capabilities: { ips: true }, runtimeConfig: { ips: ["10.105.0.245"] } },
    };
    const here = await fixture.pod("a", "static");
    expect(await fixture.add(here, wanted)).toEqual(["10.105.0.245/24"]);
    const there = await fixture.pod("b", "static");
    expect((await fixture.tryAdd(there, wanted)).status).not.toBe(0);
    const books = await fixture.settle();
    expect(books.shared.map(({ address, who }) => `${address} ${who}`)).toEqual([
      `10.105.0.245 default/${here.name} net1`,
    ]);
    await fixture.end(here, wanted);
    expect(await fixture.add(there, wanted)).toEqual(["10.105.0.245/24"]);
    await fixture.settle();
  });

  describe("without protection of overlaps, where a pool is a domain of its own", () => {
    const own = { enable_overlapping_ranges: false };

    it("back to shared: what is moved out of a slice later is seen by who takes from the shared pool", async () => {
      const fixture = get();
      const ipam = { range: "10.106.0.0/26", network_name: "alone", ...own };
      let net = await fixture.define("alone", { ...ipam, node_slice_size: "/29" });
      await fixture.join("a");
      const { line } = await fixture.join("b");
      fixture.lead();
      await addMany(fixture, net, "a", 3);
      await addMany(fixture, net, "b", 3);
      await fixture.settle();
      line.cut();
      net = await fixture.redefine(net, ipam);
      // Node a gives its slice up, and takes from the shared pool while that of node b is still a slice.
      await expect.poll(async () => (await fixture.books()).slices.map(({ node }) => node), patient).toEqual(["b"]);
      await addMany(fixture, net, "a", 3);
      line.heal();
      await expect.poll(async () => (await fixture.books()).pools.length, patient).toBe(0);
      await addMany(fixture, net, "a", 9);
      const given = fixture.given.map(({ address }) => address).toSorted();
      expect(given).toEqual([...new Set(given)]);
    });

    it("from shared to sliced: what is held in what becomes the floating part is not given by number", async () => {
      const fixture = get();
      const ipam = { range: "10.107.0.0/24", network_name: "part", ...own };
      const before = await fixture.define("part", ipam);
      for (const name of ["a", "b"]) await fixture.join(name);
      await fixture.ledAlone();
      const asking = (net: Network) => ({
        ...net,
        config: { ...net.config, capabilities: { ips: true }, runtimeConfig: { ips: ["10.107.0.245"] } },
      });
      const first = await fixture.pod("a", "static");
      expect(await fixture.add(first, asking(before))).toEqual(["10.107.0.245/24"]);
      const after = await fixture.redefine(before, { ...ipam, node_slice_size: "/28", floating_slice_size: "/28" });
      await added(fixture, after, "b");
      const second = await fixture.pod("b", "static");
      const told = await until(
        async () => {
          const answer = await fixture.tryAdd(second, asking(after));
          // Until the floating part is told, it may be in no slice of this node.
          return JSON.stringify(answer.json).includes("floating_slice_size") ? undefined : answer;
        },
        { what: "the floating part", timeoutMs: 60_000 },
      );
      expect([told.status, JSON.stringify(told.json)]).toEqual([1, expect.stringContaining("static-1")]);
      await fixture.end(first, asking(after));
      expect(await fixture.add(second, asking(after))).toEqual(["10.107.0.245/24"]);
    });
  });
}
