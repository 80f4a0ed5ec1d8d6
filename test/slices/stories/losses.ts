// The knowledge of sliced ranges is lost: the ConfigMap for daemons, the NodeSlicePool behind it, the controller, a
// daemon's memory; in each phase of a range. No address is given twice, none shared before that is known; slices go on.
import { describe, expect, it } from "vitest";

import { journalAnnotation, nodeLeaseName } from "../../../src/api/slices/node-lease.ts";
import { configMaps, ipPools, leases, nodeSlicePools } from "../../../src/cluster/resources.ts";
import { readSlicedRanges, slicedKey } from "../../../src/cluster/sliced-ranges.ts";
import { fetchState, stateName } from "../../../src/cluster/state.ts";
import { stateObject } from "../../../src/cluster/testing/state.ts";
import { isApiError } from "../../../src/kube/errors.ts";
import { type Fixture, type Guest, type Network, systemNamespace } from "../fixture.ts";
import { added } from "../steps.ts";

const at = { namespace: systemNamespace, name: stateName };
const patient = { timeout: 60_000 };

/** Gone, and not there again before somebody leads. */
async function loseState(fixture: Fixture): Promise<void> {
  await fixture.admin.delete(configMaps, at).catch((error: unknown) => {
    if (!isApiError(error, "not-found")) throw error;
  });
}

/** What an operator says is said again; what the leader says is not. */
async function resayCoexistence(fixture: Fixture): Promise<void> {
  const object = stateObject(systemNamespace, { coexistence: false, why: "a test", paused: "" });
  await fixture.admin.create(configMaps, object).catch(async (error: unknown) => {
    if (!isApiError(error, "already-exists")) throw error;
    await fixture.admin.patch(configMaps, at, { type: "merge", body: { data: object.data } });
  });
}

async function restart(fixture: Fixture, name: string): Promise<void> {
  const { daemonFixture } = fixture.node(name);
  await daemonFixture.stop();
  await daemonFixture.start();
}

async function phase(fixture: Fixture): Promise<string | undefined> {
  return readSlicedRanges(await fetchState(fixture.admin, { namespace: systemNamespace }))?.ranges[0]?.phase;
}

async function journalOf(fixture: Fixture, node: string): Promise<string | undefined> {
  const { metadata } = await fixture.admin.get(leases, { namespace: systemNamespace, name: nodeLeaseName(node) });
  return metadata.annotations?.[journalAnnotation];
}

/** Name and grant of every slice: what was drained and cut anew is another. */
async function slices(fixture: Fixture): Promise<string[]> {
  const { items } = await fixture.admin.list(ipPools, { labelSelector: "holdfast.io/slice" });
  const generationOf = (text: string) => (JSON.parse(text) as { generation: number }).generation;
  return items
    .map(({ metadata }) => `${metadata.name} ${generationOf(metadata.annotations?.["holdfast.io/grant"] ?? "{}")}`)
    .toSorted();
}

/** Each asks once; what is told must be an address or "later". */
async function askAll(fixture: Fixture, networks: readonly Network[], nodes: readonly string[]): Promise<string[]> {
  const guests: { guest: Guest; network: Network }[] = [];
  for (const node of nodes) for (const network of networks) guests.push({ guest: await fixture.pod(node), network });
  return Promise.all(
    guests.map(async ({ guest, network }) => {
      const { status, json } = await fixture.tryAdd(guest, network);
      return `${guest.node} ${network.name} ${status === 0 ? "served" : `code ${json.code}`}`;
    }),
  );
}

export function lossStories(get: () => Fixture): void {
  describe("of an open range", () => {
    const sliced = { range: "10.110.0.0/24", node_slice_size: "/28", network_name: "cut" };
    // "A definition without node_slice_size whose range is a sliced one is served from the slices."
    const shared = { range: "10.110.0.0/24", network_name: "cut" };
    const beside = { range: "10.111.0.0/24", network_name: "beside" };

    async function prepared(fixture: Fixture) {
      const cut = await fixture.define("cut", sliced);
      const plain = await fixture.define("plain", shared);
      const other = await fixture.define("other", beside);
      for (const name of ["a", "b"]) await fixture.join(name);
      const leader = fixture.lead();
      for (const node of ["a", "b", "a", "b"]) await added(fixture, cut, node);
      await added(fixture, plain, "b");
      await fixture.settle();
      return { cut, plain, other, leader, before: await slices(fixture) };
    }

    it.each([
      ["deleted", loseState],
      ["spoilt", (fixture: Fixture) => spoil(fixture, "{")],
      ["of a phase that nobody knows", (fixture: Fixture) => spoil(fixture, undefined)],
    ])("the state is %s and a daemon starts anew while nobody leads", async (_, lose) => {
      const fixture = get();
      const { cut, plain, other, leader, before } = await prepared(fixture);
      await leader.stop();
      await lose(fixture);
      await restart(fixture, "b");
      const told = await fixture.tryAdd(await fixture.pod("b"), other);
      expect(told).toMatchObject({ status: 1, json: { code: 11, msg: expect.stringContaining(stateName) } });
      // Its own journal knows that this range is sliced, whoever else has forgotten it.
      expect(await askAll(fixture, [cut, plain], ["b"])).toEqual(["b cut served", "b plain served"]);
      expect(await fixture.dangers()).toEqual([]);
      await resayCoexistence(fixture);
      fixture.lead();
      await added(fixture, other, "b");
      await added(fixture, plain, "a");
      expect(await fixture.dangers()).toEqual([]);
      expect([await phase(fixture), await slices(fixture)]).toEqual(["open", before]);
      await fixture.settle();
    });

    it("the state is deleted while somebody leads", async () => {
      const fixture = get();
      const { cut, plain, other, before } = await prepared(fixture);
      await loseState(fixture);
      await restart(fixture, "b");
      expect((await askAll(fixture, [plain], ["b"]))[0]).toBe("b plain served");
      await resayCoexistence(fixture);
      for (const network of [cut, plain, other]) await added(fixture, network, "b");
      expect(await fixture.dangers()).toEqual([]);
      expect([await phase(fixture), await slices(fixture)]).toEqual(["open", before]);
      await fixture.settle();
    });

    it.each([
      ["alone", false],
      ["and the state with it", true],
    ])("the NodeSlicePool is deleted, %s: it is made again from its slices, with nothing drained", async (_, both) => {
      const fixture = get();
      const { cut, plain, leader, before } = await prepared(fixture);
      await leader.stop();
      await fixture.admin.delete(nodeSlicePools, { namespace: systemNamespace, name: "cut" });
      if (both) {
        await loseState(fixture);
        await resayCoexistence(fixture);
      }
      await restart(fixture, "b");
      fixture.lead();
      await expect.poll(async () => (await fixture.books()).pools.length, patient).toBe(1);
      for (const node of ["a", "b"]) await added(fixture, cut, node);
      expect(await fixture.dangers()).toEqual([]);
      // Closed first where nobody knows; the earlier daemon's last writes may arrive for a minute and a half.
      await expect.poll(() => phase(fixture), { timeout: 150_000 }).toBe("open");
      for (const node of ["a", "b"]) await added(fixture, plain, node);
      expect(await fixture.dangers()).toEqual([]);
      expect(await slices(fixture)).toEqual(before);
      await fixture.settle();
    });

    it("state, NodeSlicePool and slices are deleted at once: what a Lease says that a journal has is given to no other", async () => {
      const fixture = get();
      const { cut, leader } = await prepared(fixture);
      for (const node of ["a", "b"]) {
        await expect.poll(() => journalOf(fixture, node), patient).toContain("10.110.0.");
        // Only its Lease speaks for it.
        fixture.node(node).line.cut();
      }
      await leader.stop();
      await loseState(fixture);
      await fixture.admin.delete(nodeSlicePools, { namespace: systemNamespace, name: "cut" });
      const { items } = await fixture.admin.list(ipPools, { labelSelector: "holdfast.io/slice" });
      for (const { metadata } of items)
        await fixture.admin.delete(ipPools, { namespace: systemNamespace, name: metadata.name! });
      await resayCoexistence(fixture);
      // By its name it would be the first to get a slice, the lowest that seems free.
      await fixture.join("0");
      fixture.lead();
      // So long it waits, from when it first looks, for nodes that are slow, or of which nobody knows any more.
      await expect.poll(() => phase(fixture), patient).toBeDefined();
      fixture.clock.shiftMs += 120_000;
      for (let pods = 0; pods < 3; pods++) await added(fixture, cut, "0");
      expect(await fixture.dangers()).toEqual([]);
      for (const node of ["a", "b"]) fixture.node(node).line.heal();
      for (const node of ["a", "b"]) await added(fixture, cut, node);
      expect(await fixture.dangers()).toEqual([]);
      await fixture.settle();
    });

    it("the state is an older one: it is not believed, and told again with a version that nobody has seen", async () => {
      const fixture = get();
      const { cut, plain, other, leader, before } = await prepared(fixture);
      const version = async () =>
        readSlicedRanges(await fetchState(fixture.admin, { namespace: systemNamespace }))!.version;
      const newest = await version();
      await leader.stop();
      const older = { [slicedKey]: JSON.stringify({ version: newest - 1, ranges: [] }) };
      await fixture.admin.patch(configMaps, at, { type: "merge", body: { data: older } });
      await restart(fixture, "b");
      expect(await askAll(fixture, [cut, plain, other], ["b"])).toEqual([
        "b cut served",
        "b plain served",
        "b other code 11",
      ]);
      fixture.lead();
      await added(fixture, other, "b");
      expect(await version()).toBeGreaterThan(newest);
      // The earlier daemon's writes may arrive for a minute and a half: until then the later one reports nothing newer.
      await expect.poll(() => phase(fixture), { timeout: 150_000 }).toBe("open");
      expect([await fixture.dangers(), await slices(fixture)]).toEqual([[], before]);
    });
  });

  it.each(["closing", "opening"])(
    "of a range that is %s: state, controller and daemon, one after the other",
    { timeout: 300_000 },
    async (wanted) => {
      const fixture = get();
      const ipam = { range: "10.112.0.0/24", network_name: "moving" };
      const size = { node_slice_size: "/28" };
      const isClosing = wanted === "closing";
      let net = await fixture.define("moving", { ...ipam, ...(isClosing ? {} : size) });
      for (const name of ["a", "b", "c"]) await fixture.join(name);
      await fixture.ledAlone();
      for (const node of ["a", "b", "c"]) await added(fixture, net, node);
      await fixture.settle();
      // Nobody goes on without its word.
      fixture.node("c").line.cut();
      net = await fixture.redefine(net, { ...ipam, ...(isClosing ? size : {}) });
      await expect.poll(() => phase(fixture), patient).toBe(wanted);
      const plain = { ...net, config: { ...net.config, ipam: { type: "holdfast", ...ipam } } };
      const losses = [
        () => loseState(fixture),
        () => resayCoexistence(fixture),
        async () => fixture.killLeaders(),
        () => restart(fixture, "b"),
        async () => void fixture.lead(),
        () => restart(fixture, "a"),
      ];
      for (const lose of losses) {
        await lose();
        await askAll(fixture, [net, plain], ["a", "b"]);
        expect(await fixture.dangers()).toEqual([]);
      }
      await expect.poll(() => phase(fixture), patient).toBe(wanted);
      fixture.node("c").line.heal();
      await expect.poll(() => phase(fixture), { timeout: 150_000 }).toBe(isClosing ? "open" : undefined);
      await Promise.all(["a", "b", "c"].map((node) => added(fixture, net, node)));
      expect(await fixture.dangers()).toEqual([]);
      await fixture.settle();
    },
  );
}

async function spoil(fixture: Fixture, text: string | undefined): Promise<void> {
  const object = await fixture.admin.get(configMaps, at);
  const spoilt = text ?? (object.data?.[slicedKey] ?? "").replace('"open"', '"torn"');
  await fixture.admin.patch(configMaps, at, { type: "merge", body: { data: { [slicedKey]: spoilt } } });
}
