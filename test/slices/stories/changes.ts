// Sliced networks that change while sandboxes live: range, slice size, from shared to sliced and back, the floating part. What
// is in use stays in use and on record; what is new comes from the new.
import { describe, expect, it } from "vitest";

import { nodeLeaseName, seenAnnotation } from "../../../src/api/slices/node-lease.ts";
import { configMaps, leases, reservations } from "../../../src/cluster/resources.ts";
import { slicedKey, writeSlicedRanges } from "../../../src/cluster/sliced-ranges.ts";
import { stateName } from "../../../src/cluster/state.ts";
import { parseAddress } from "../../../src/net/address.ts";
import { contains, parsePrefix } from "../../../src/net/prefix.ts";
import { until } from "../../lab/wait.ts";
import { type Fleet, type Guest, type Network, systemNamespace } from "../fleet.ts";
import { added, addMany } from "../scenes.ts";

const patient = { timeout: 60_000 };
const isIn = (range: string, address: string) =>
  contains(parsePrefix(range), parseAddress(address.split("/")[0] ?? ""));

/** Asks for the address once more, as a kubelet that restarts a sandbox's pod does not, but CHECK does. */
async function stillHas(fleet: Fleet, guest: Guest, network: Network, address: string): Promise<void> {
  const told = await fleet.tryAdd(guest, network);
  expect(told.json).toMatchObject({ ips: [{ address }] });
}

export function changeStories(get: () => Fleet): void {
  describe("of the range", () => {
    it("running ones keep theirs as reservations, new ones come from the new range, the old slices go", async () => {
      const fleet = get();
      const ipam = { node_slice_size: "/28", network_name: "moving" };
      const before = await fleet.define("moving", { range: "10.100.0.0/24", ...ipam });
      for (const name of ["a", "b"]) await fleet.join(name);
      fleet.lead();
      const guests = [await added(fleet, before, "a"), await added(fleet, before, "b")];
      await fleet.settle();
      const after = await fleet.redefine(before, { range: "10.101.0.0/24", ...ipam });
      for (const node of ["a", "b"]) {
        const [address = ""] = await fleet.add(await fleet.pod(node), after);
        expect(isIn("10.101.0.0/24", address)).toBe(true);
      }
      const books = await fleet.settle();
      expect(books.pools.map(({ range }) => String(range))).toEqual(["10.101.0.0/24"]);
      expect(books.shared.map(({ address }) => String(address)).toSorted()).toEqual(["10.100.0.1", "10.100.0.16"]);
      // The runtime's cached configuration is the old one; another runtime asks with the new one.
      await fleet.end(guests[0]!, before);
      await fleet.end(guests[1]!, after);
      expect((await fleet.settle()).shared).toEqual([]);
    });

    it("what was moved out of a slice is made again where the API server loses it", async () => {
      const fleet = get();
      const ipam = { node_slice_size: "/28", network_name: "moved" };
      const before = await fleet.define("moved", { range: "10.107.0.0/24", ...ipam });
      await fleet.join("a");
      fleet.lead();
      await added(fleet, before, "a");
      await fleet.settle();
      await fleet.redefine(before, { range: "10.108.0.0/24", ...ipam });
      const isShared = async () => (await fleet.books()).shared.length === 1;
      await until(isShared, { what: "the move", everyMs: 100, timeoutMs: 60_000 });
      await fleet.settle();
      const [lost] = (await fleet.admin.list(reservations, { namespace: systemNamespace })).items;
      await fleet.admin.delete(reservations, { namespace: systemNamespace, name: lost!.metadata.name! });
      await fleet.restart("a");
      const { shared } = await fleet.settle();
      expect(shared.map(({ address }) => String(address))).toEqual(["10.107.0.1"]);
    });

    it("widened: addresses in use are never given again", async () => {
      const fleet = get();
      const ipam = { node_slice_size: "/29", network_name: "wider" };
      const before = await fleet.define("wider", { range: "10.102.0.0/28", ...ipam });
      for (const name of ["a", "b"]) await fleet.join(name);
      fleet.lead();
      await addMany(fleet, before, "a", 5);
      await addMany(fleet, before, "b", 5);
      await fleet.settle();
      const after = await fleet.redefine(before, { range: "10.102.0.0/27", ...ipam });
      await addMany(fleet, after, "a", 10);
      await addMany(fleet, after, "b", 10);
      expect(await fleet.dangers()).toEqual([]);
      await fleet.settle();
      expect(new Set(fleet.given.map(({ address }) => address)).size).toBe(30);
    });
  });

  it("a request that waits for a slice does not keep the leader waiting for its node", async () => {
    const fleet = get();
    // No leader: its word is written by hand, and the request waits for a slice that never comes.
    const say = (version: number) => ({ data: { [slicedKey]: writeSlicedRanges({ version, ranges: [] }) } });
    const name = stateName;
    await fleet.admin.create(configMaps, { metadata: { namespace: systemNamespace, name }, ...say(1) });
    await fleet.join("a");
    const lease = () => fleet.admin.get(leases, { namespace: systemNamespace, name: nodeLeaseName("a") });
    const seen = async () => (await lease()).metadata.annotations?.[seenAnnotation];
    await expect.poll(seen, { timeout: 30_000 }).toBe("1");
    const net = await fleet.define("held-up", {
      range: "10.106.0.0/24",
      node_slice_size: "/28",
      network_name: "held-up",
    });
    let isWaiting = true;
    const waiting = fleet.tryAdd(await fleet.pod("a"), net).finally(() => (isWaiting = false));
    await expect.poll(() => fleet.node("a").rig.registry.metrics()).toContain("holdfast_cni_requests_in_work 1");
    await fleet.admin.patch(configMaps, { namespace: systemNamespace, name }, { type: "merge", body: say(2) });
    await expect.poll(seen, { timeout: 30_000 }).toBe("2");
    expect(isWaiting).toBe(true);
    expect((await waiting).status).not.toBe(0);
  });

  it("of the slice size: every slice is cut anew around what is in use", async () => {
    const fleet = get();
    const ipam = { range: "10.103.0.0/24", network_name: "sizes" };
    let net = await fleet.define("sizes", { ...ipam, node_slice_size: "/28" });
    for (const name of ["a", "b"]) await fleet.join(name);
    fleet.lead();
    const guests = [await added(fleet, net, "a"), await added(fleet, net, "b")];
    for (const size of ["/26", "/29"]) {
      await fleet.settle();
      net = await fleet.redefine(net, { ...ipam, node_slice_size: size });
      await expect
        .poll(async () => (await fleet.books()).slices.map(({ slice }) => `/${slice.length}`), { timeout: 60_000 })
        .toEqual([size, size]);
      for (const node of ["a", "b"]) guests.push(await added(fleet, net, node));
      expect(await fleet.dangers()).toEqual([]);
    }
    await fleet.settle();
    for (const guest of guests) await fleet.end(guest, net);
    const { shared } = await fleet.settle();
    expect(shared).toEqual([]);
  });

  const title = "from shared to sliced and back, with requests all the while: none fails for good, none meets another";
  it(title, { timeout: 420_000 }, async () => {
    const fleet = get();
    const ipam = { range: "10.104.0.0/24", network_name: "mode" };
    let net = await fleet.define("mode", ipam);
    for (const name of ["a", "b", "c"]) await fleet.join(name);
    await fleet.ledAlone();
    const shared = await added(fleet, net, "a");
    const [{ address: first } = { address: "" }] = fleet.given;
    for (const more of [{ node_slice_size: "/28" }, {}]) {
      const changed = fleet.redefine(net, { ...ipam, ...more });
      const requests = ["a", "b", "c", "a", "b", "c"].map(async (node) => added(fleet, net, node));
      net = await changed;
      await Promise.all(requests);
      expect(await fleet.dangers()).toEqual([]);
      const wanted = "node_slice_size" in more ? 1 : 0;
      // A write whose answer was lost keeps its node from saying that it has seen the change for a minute and a half.
      await expect.poll(async () => (await fleet.books()).pools.length, { timeout: 150_000 }).toBe(wanted);
      await Promise.all(["a", "b", "c"].map(async (node) => added(fleet, net, node)));
      expect(await fleet.dangers()).toEqual([]);
      await fleet.settle();
      await stillHas(fleet, shared, net, `${first}/24`);
    }
    expect((await fleet.settle()).slices).toEqual([]);
    expect(fleet.given).toHaveLength(1 + 2 * 9);
  });

  it("from shared to sliced: a request that waits for its slice does not keep the range from being cut", async () => {
    const fleet = get();
    const ipam = { range: "10.108.0.0/24", network_name: "waiting" };
    const net = await fleet.define("waiting", ipam);
    for (const name of ["a", "b"]) await fleet.join(name);
    await fleet.ledAlone();
    await added(fleet, net, "a");
    const guest = await fleet.pod("b");
    // The definition is what its node sees first; that the range is being cut comes a moment later.
    const after = await fleet.redefine(net, { ...ipam, node_slice_size: "/28" });
    expect((await fleet.tryAdd(guest, after)).status).toBe(0);
    await fleet.settle();
  });

  it("an address by number is of the floating part, and goes with its owner from node to node", async () => {
    const fleet = get();
    const ipam = {
      range: "10.105.0.0/24",
      node_slice_size: "/28",
      floating_slice_size: "/28",
      network_name: "floating",
    };
    const net = await fleet.define("floating", ipam);
    for (const name of ["a", "b"]) await fleet.join(name);
    fleet.lead();
    await fleet.add(await fleet.pod("a"), net);
    const wanted = {
      ...net,
      config: { ...net.config, capabilities: { ips: true }, runtimeConfig: { ips: ["10.105.0.245"] } },
    };
    const here = await fleet.pod("a", "static");
    expect(await fleet.add(here, wanted)).toEqual(["10.105.0.245/24"]);
    const there = await fleet.pod("b", "static");
    expect((await fleet.tryAdd(there, wanted)).status).not.toBe(0);
    const books = await fleet.settle();
    expect(books.shared.map(({ address, who }) => `${address} ${who}`)).toEqual([
      `10.105.0.245 default/${here.name} net1`,
    ]);
    await fleet.end(here, wanted);
    expect(await fleet.add(there, wanted)).toEqual(["10.105.0.245/24"]);
    await fleet.settle();
  });

  describe("without protection of overlaps, where a pool is a domain of its own", () => {
    const own = { enable_overlapping_ranges: false };

    it("back to shared: what is moved out of a slice later is seen by who takes from the shared pool", async () => {
      const fleet = get();
      const ipam = { range: "10.106.0.0/26", network_name: "alone", ...own };
      let net = await fleet.define("alone", { ...ipam, node_slice_size: "/29" });
      await fleet.join("a");
      const { line } = await fleet.join("b");
      fleet.lead();
      await addMany(fleet, net, "a", 3);
      await addMany(fleet, net, "b", 3);
      await fleet.settle();
      line.cut();
      net = await fleet.redefine(net, ipam);
      // Node a gives its slice up, and takes from the shared pool while that of node b is still a slice.
      await expect.poll(async () => (await fleet.books()).slices.map(({ node }) => node), patient).toEqual(["b"]);
      await addMany(fleet, net, "a", 3);
      line.heal();
      await expect.poll(async () => (await fleet.books()).pools.length, patient).toBe(0);
      await addMany(fleet, net, "a", 9);
      const given = fleet.given.map(({ address }) => address).toSorted();
      expect(given).toEqual([...new Set(given)]);
    });

    it("from shared to sliced: what is held in what becomes the floating part is not given by number", async () => {
      const fleet = get();
      const ipam = { range: "10.107.0.0/24", network_name: "part", ...own };
      const before = await fleet.define("part", ipam);
      for (const name of ["a", "b"]) await fleet.join(name);
      await fleet.ledAlone();
      const asking = (net: Network) => ({
        ...net,
        config: { ...net.config, capabilities: { ips: true }, runtimeConfig: { ips: ["10.107.0.245"] } },
      });
      const first = await fleet.pod("a", "static");
      expect(await fleet.add(first, asking(before))).toEqual(["10.107.0.245/24"]);
      const after = await fleet.redefine(before, { ...ipam, node_slice_size: "/28", floating_slice_size: "/28" });
      await added(fleet, after, "b");
      const second = await fleet.pod("b", "static");
      const told = await until(
        async () => {
          const answer = await fleet.tryAdd(second, asking(after));
          // Until the floating part is told, it may be in no slice of this node.
          return JSON.stringify(answer.json).includes("floating_slice_size") ? undefined : answer;
        },
        { what: "the floating part", timeoutMs: 60_000 },
      );
      expect([told.status, JSON.stringify(told.json)]).toEqual([1, expect.stringContaining("static-1")]);
      await fleet.end(first, asking(after));
      expect(await fleet.add(second, asking(after))).toEqual(["10.107.0.245/24"]);
    });
  });
}
