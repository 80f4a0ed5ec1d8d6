// What says which ranges are sliced is lost: the ConfigMap that daemons are told by, the NodeSlicePool that it is made from, the controller, the
// daemon's memory; in each phase of a range. No address is given twice, nothing shared is given before it is known again, slices go on.
import { describe, expect, it } from "vitest";

import { journalAnnotation, nodeLeaseName } from "../../../src/api/slices/node-lease.ts";
import { configMaps, ipPools, leases, nodeSlicePools } from "../../../src/cluster/resources.ts";
import { readSlicedRanges, slicedKey } from "../../../src/cluster/sliced-ranges.ts";
import { fetchState, stateName, stateObject } from "../../../src/cluster/state.ts";
import { isApiError } from "../../../src/kube/errors.ts";
import { type Fleet, type Guest, type Network, systemNamespace } from "../fleet.ts";
import { added } from "../scenes.ts";

const at = { namespace: systemNamespace, name: stateName };
const patient = { timeout: 60_000 };

/** Gone, and not there again before somebody leads. */
async function loseState(fleet: Fleet): Promise<void> {
  await fleet.admin.delete(configMaps, at).catch((error: unknown) => {
    if (!isApiError(error, "not-found")) throw error;
  });
}

/** What an operator says is said again; what the leader says is not. */
async function resayCoexistence(fleet: Fleet): Promise<void> {
  const object = stateObject(systemNamespace, { coexistence: false, why: "a test", paused: "" });
  await fleet.admin.create(configMaps, object).catch(async (error: unknown) => {
    if (!isApiError(error, "already-exists")) throw error;
    await fleet.admin.patch(configMaps, at, { type: "merge", body: { data: object.data } });
  });
}

async function restart(fleet: Fleet, name: string): Promise<void> {
  const { rig } = fleet.node(name);
  await rig.stop();
  await rig.start();
}

async function phase(fleet: Fleet): Promise<string | undefined> {
  return readSlicedRanges(await fetchState(fleet.admin, { namespace: systemNamespace }))?.ranges[0]?.phase;
}

async function journalOf(fleet: Fleet, node: string): Promise<string | undefined> {
  const { metadata } = await fleet.admin.get(leases, { namespace: systemNamespace, name: nodeLeaseName(node) });
  return metadata.annotations?.[journalAnnotation];
}

/** Name and grant of every slice: what was drained and cut anew is another. */
async function slices(fleet: Fleet): Promise<string[]> {
  const { items } = await fleet.admin.list(ipPools, { labelSelector: "holdfast.io/slice" });
  const generationOf = (text: string) => (JSON.parse(text) as { generation: number }).generation;
  return items
    .map(({ metadata }) => `${metadata.name} ${generationOf(metadata.annotations?.["holdfast.io/grant"] ?? "{}")}`)
    .toSorted();
}

/** Each asks once; what is told must be an address or "later". */
async function askAll(fleet: Fleet, networks: readonly Network[], nodes: readonly string[]): Promise<string[]> {
  const guests: { guest: Guest; network: Network }[] = [];
  for (const node of nodes) for (const network of networks) guests.push({ guest: await fleet.pod(node), network });
  return Promise.all(
    guests.map(async ({ guest, network }) => {
      const { status, json } = await fleet.tryAdd(guest, network);
      return `${guest.node} ${network.name} ${status === 0 ? "served" : `code ${json.code}`}`;
    }),
  );
}

export function lossStories(get: () => Fleet): void {
  describe("of an open range", () => {
    const sliced = { range: "10.110.0.0/24", node_slice_size: "/28", network_name: "cut" };
    // "A definition without node_slice_size whose range is a sliced one is served from the slices."
    const shared = { range: "10.110.0.0/24", network_name: "cut" };
    const beside = { range: "10.111.0.0/24", network_name: "beside" };

    async function stage(fleet: Fleet) {
      const cut = await fleet.define("cut", sliced);
      const plain = await fleet.define("plain", shared);
      const other = await fleet.define("other", beside);
      for (const name of ["a", "b"]) await fleet.join(name);
      const leader = fleet.lead();
      for (const node of ["a", "b", "a", "b"]) await added(fleet, cut, node);
      await added(fleet, plain, "b");
      await fleet.settle();
      return { cut, plain, other, leader, before: await slices(fleet) };
    }

    it.each([
      ["deleted", loseState],
      ["spoilt", (fleet: Fleet) => spoil(fleet, "{")],
      ["of a phase that nobody knows", (fleet: Fleet) => spoil(fleet, undefined)],
    ])("the state is %s and a daemon starts anew while nobody leads", async (_, lose) => {
      const fleet = get();
      const { cut, plain, other, leader, before } = await stage(fleet);
      await leader.stop();
      await lose(fleet);
      await restart(fleet, "b");
      const told = await fleet.tryAdd(await fleet.pod("b"), other);
      expect(told).toMatchObject({ status: 1, json: { code: 11, msg: expect.stringContaining(stateName) } });
      // Its own journal knows that this range is sliced, whoever else has forgotten it.
      expect(await askAll(fleet, [cut, plain], ["b"])).toEqual(["b cut served", "b plain served"]);
      expect(await fleet.dangers()).toEqual([]);
      await resayCoexistence(fleet);
      fleet.lead();
      await added(fleet, other, "b");
      await added(fleet, plain, "a");
      expect(await fleet.dangers()).toEqual([]);
      expect([await phase(fleet), await slices(fleet)]).toEqual(["open", before]);
      await fleet.settle();
    });

    it("the state is deleted while somebody leads", async () => {
      const fleet = get();
      const { cut, plain, other, before } = await stage(fleet);
      await loseState(fleet);
      await restart(fleet, "b");
      expect((await askAll(fleet, [plain], ["b"]))[0]).toBe("b plain served");
      await resayCoexistence(fleet);
      for (const network of [cut, plain, other]) await added(fleet, network, "b");
      expect(await fleet.dangers()).toEqual([]);
      expect([await phase(fleet), await slices(fleet)]).toEqual(["open", before]);
      await fleet.settle();
    });

    it.each([
      ["alone", false],
      ["and the state with it", true],
    ])("the NodeSlicePool is deleted, %s: it is made again from its slices, with nothing drained", async (_, both) => {
      const fleet = get();
      const { cut, plain, leader, before } = await stage(fleet);
      await leader.stop();
      await fleet.admin.delete(nodeSlicePools, { namespace: systemNamespace, name: "cut" });
      if (both) {
        await loseState(fleet);
        await resayCoexistence(fleet);
      }
      await restart(fleet, "b");
      fleet.lead();
      await expect.poll(async () => (await fleet.books()).pools.length, patient).toBe(1);
      for (const node of ["a", "b"]) await added(fleet, cut, node);
      expect(await fleet.dangers()).toEqual([]);
      // Closed first where nobody knows; what the daemon before has written by what it had seen may arrive for a minute and a half.
      await expect.poll(() => phase(fleet), { timeout: 150_000 }).toBe("open");
      for (const node of ["a", "b"]) await added(fleet, plain, node);
      expect(await fleet.dangers()).toEqual([]);
      expect(await slices(fleet)).toEqual(before);
      await fleet.settle();
    });

    it("state, NodeSlicePool and slices are deleted at once: what a Lease says that a journal has is given to no other", async () => {
      const fleet = get();
      const { cut, leader } = await stage(fleet);
      for (const node of ["a", "b"]) {
        await expect.poll(() => journalOf(fleet, node), patient).toContain("10.110.0.");
        // Only its Lease speaks for it.
        fleet.node(node).line.cut();
      }
      await leader.stop();
      await loseState(fleet);
      await fleet.admin.delete(nodeSlicePools, { namespace: systemNamespace, name: "cut" });
      const { items } = await fleet.admin.list(ipPools, { labelSelector: "holdfast.io/slice" });
      for (const { metadata } of items)
        await fleet.admin.delete(ipPools, { namespace: systemNamespace, name: metadata.name! });
      await resayCoexistence(fleet);
      // By its name it would be the first to get a slice, the lowest that seems free.
      await fleet.join("0");
      fleet.lead();
      // So long it waits for nodes that are slow, or of which nobody knows any more.
      fleet.clock.shiftMs += 120_000;
      for (let pods = 0; pods < 3; pods++) await added(fleet, cut, "0");
      expect(await fleet.dangers()).toEqual([]);
      for (const node of ["a", "b"]) fleet.node(node).line.heal();
      for (const node of ["a", "b"]) await added(fleet, cut, node);
      expect(await fleet.dangers()).toEqual([]);
      await fleet.settle();
    });

    it("the state is an older one: it is not believed, and told again with a version that nobody has seen", async () => {
      const fleet = get();
      const { cut, plain, other, leader, before } = await stage(fleet);
      const version = async () =>
        readSlicedRanges(await fetchState(fleet.admin, { namespace: systemNamespace }))!.version;
      const newest = await version();
      await leader.stop();
      const older = { [slicedKey]: JSON.stringify({ version: newest - 1, ranges: [] }) };
      await fleet.admin.patch(configMaps, at, { type: "merge", body: { data: older } });
      await restart(fleet, "b");
      expect(await askAll(fleet, [cut, plain, other], ["b"])).toEqual([
        "b cut served",
        "b plain served",
        "b other code 11",
      ]);
      fleet.lead();
      await added(fleet, other, "b");
      expect(await version()).toBeGreaterThan(newest);
      // What the daemon before wrote may arrive for a minute and a half: so long the one after it does not say that it has seen more.
      await expect.poll(() => phase(fleet), { timeout: 150_000 }).toBe("open");
      expect([await fleet.dangers(), await slices(fleet)]).toEqual([[], before]);
    });
  });

  it.each(["closing", "opening"])(
    "of a range that is %s: state, controller and daemon, one after the other",
    { timeout: 300_000 },
    async (wanted) => {
      const fleet = get();
      const ipam = { range: "10.112.0.0/24", network_name: "moving" };
      const size = { node_slice_size: "/28" };
      const isClosing = wanted === "closing";
      let net = await fleet.define("moving", { ...ipam, ...(isClosing ? {} : size) });
      for (const name of ["a", "b", "c"]) await fleet.join(name);
      await fleet.ledAlone();
      for (const node of ["a", "b", "c"]) await added(fleet, net, node);
      await fleet.settle();
      // Nobody goes on without its word.
      fleet.node("c").line.cut();
      net = await fleet.redefine(net, { ...ipam, ...(isClosing ? size : {}) });
      await expect.poll(() => phase(fleet), patient).toBe(wanted);
      const plain = { ...net, config: { ...net.config, ipam: { type: "holdfast", ...ipam } } };
      const losses = [
        () => loseState(fleet),
        () => resayCoexistence(fleet),
        async () => fleet.killLeaders(),
        () => restart(fleet, "b"),
        async () => void fleet.lead(),
        () => restart(fleet, "a"),
      ];
      for (const lose of losses) {
        await lose();
        await askAll(fleet, [net, plain], ["a", "b"]);
        expect(await fleet.dangers()).toEqual([]);
      }
      await expect.poll(() => phase(fleet), patient).toBe(wanted);
      fleet.node("c").line.heal();
      await expect.poll(() => phase(fleet), { timeout: 150_000 }).toBe(isClosing ? "open" : undefined);
      await Promise.all(["a", "b", "c"].map((node) => added(fleet, net, node)));
      expect(await fleet.dangers()).toEqual([]);
      await fleet.settle();
    },
  );
}

async function spoil(fleet: Fleet, text: string | undefined): Promise<void> {
  const object = await fleet.admin.get(configMaps, at);
  const spoilt = text ?? (object.data?.[slicedKey] ?? "").replace('"open"', '"torn"');
  await fleet.admin.patch(configMaps, at, { type: "merge", body: { data: { [slicedKey]: spoilt } } });
}
