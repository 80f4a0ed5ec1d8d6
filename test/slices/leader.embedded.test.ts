// The leader of slices on the embedded API, in-process, under the test's own clock, with daemons that do as told.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { nodeLeaseName } from "../../src/api/slices/node-lease.ts";
import { grantAnnotation, readGrant, writeGrant } from "../../src/api/slices/slice-grant.ts";
import * as kinds from "../../src/cluster/resources.ts";
import { sliceMarks, sliceName } from "../../src/cluster/slice-object.ts";
import { parsePrefix } from "../../src/net/prefix.ts";
import { crds, Fixture, system } from "./leader-fixture.ts";

// A quarantine of a day is 8,640 looks of ten seconds.
vi.setConfig({ testTimeout: 120_000 });

let fixture: Fixture;
beforeEach(async () => {
  fixture = await Fixture.open();
});
afterEach(() => fixture.close());

const blue = { range: "10.0.0.0/24", network_name: "blue", node_slice_size: "/26", enable_l3: true };
const lease = (node: string) => fixture.client.get(kinds.leases, { namespace: system, name: nodeLeaseName(node) });
const slice = (name: string) => fixture.client.get(kinds.ipPools, { namespace: system, name });
const isGone = (call: Promise<unknown>) =>
  call.then(
    () => false,
    () => true,
  );

async function join(...names: string[]): Promise<void> {
  for (const name of names) await fixture.node(name);
}

describe("join and leave", () => {
  it("nodes get slices by name order, lowest first, and a Lease that names them", async () => {
    fixture.lead();
    await join("n2", "n1");
    await fixture.define("a", blue);
    await fixture.granted("blue", ["n1", "n2"]);
    expect(await fixture.allocations("blue")).toEqual({ n1: ["10.0.0.0/26"], n2: ["10.0.0.64/26"] });
    expect(await fixture.condition("blue", "Ready")).toMatchObject({ status: "True" });
    expect((await fixture.sliced()).ranges).toMatchObject([{ network: "blue", pool: "blue", phase: "open" }]);
    await join("n0");
    await fixture.granted("blue", ["n0"]);
    expect((await fixture.allocations("blue"))["n0"]).toEqual(["10.0.0.128/26"]);
  });

  it("an object without a grant that a node made of a slice that is nobody's, or another's by now, goes", async () => {
    fixture.lead();
    await join("n1", "n2");
    await fixture.define("a", blue);
    await fixture.granted("blue", ["n1", "n2"]);
    const before = await fixture.allocations("blue");
    const blocks = ["10.0.0.64/26", "10.0.0.128/26"].map((text) => parsePrefix(text));
    const places = blocks.map((block) => ({
      namespace: system,
      network: "blue",
      pool: "blue",
      node: "n1",
      block,
      range: parsePrefix("10.0.0.0/24"),
    }));
    for (const place of places) {
      const metadata = { namespace: system, name: sliceName(place), ...sliceMarks(place) };
      await fixture.client.create(kinds.ipPools, { metadata, spec: { range: `${place.block}`, allocations: {} } });
    }
    for (const place of places) await fixture.until("it is gone", () => isGone(slice(sliceName(place))));
    expect(await fixture.allocations("blue")).toEqual(before);
  });

  it("an earlier grant of another's slice that a copy of etcd brings back goes, although no journal has it", async () => {
    fixture.lead();
    await join("n1", "n2");
    await fixture.define("a", blue);
    await fixture.granted("blue", ["n1", "n2"]);
    const before = await fixture.allocations("blue");
    const [block, range] = [parsePrefix("10.0.0.64/26"), parsePrefix("10.0.0.0/24")];
    const place = { namespace: system, network: "blue", pool: "blue", node: "n1", block, range };
    const { labels, annotations } = sliceMarks(place);
    const grant = {
      [grantAnnotation]: writeGrant({ generation: 1, serial: 1, phase: "active", without: [], taken: [] }),
    };
    const metadata = { namespace: system, name: sliceName(place), labels, annotations: { ...annotations, ...grant } };
    await fixture.client.create(kinds.ipPools, { metadata, spec: { range: `${block}`, allocations: {} } });
    await fixture.until("it is gone", () => isGone(slice(sliceName(place))));
    expect(await fixture.allocations("blue")).toEqual(before);
  });

  it("a node that leaves alive moves what it holds, and its slice, object and Lease go; the next holder does not hand that out", async () => {
    fixture.lead({ fencing: { deletionFences: true } });
    await join("n1", "n2");
    await fixture.define("a", blue);
    await fixture.granted("blue", ["n1", "n2"]);
    const n1 = fixture.daemons.get("n1")!;
    expect(n1.take("blue", 3)).toBe(3);
    await fixture.deleteNode("n1");
    await fixture.until("the slice of n1 is gone", async () => (await fixture.allocations("blue"))["n1"] === undefined);
    expect(await isGone(slice("blue-n1-10.0.0.0-26"))).toBe(true);
    n1.isAlive = false;
    // Five minutes later it is fenced. For an hour it says that its node is off, for all who find things of its pods.
    for (let minute = 0; minute < 70; minute++) await fixture.pass(60_000);
    await fixture.until("its Lease is gone", () => isGone(lease("n1")));
    await join("n3");
    await fixture.granted("blue", ["n3"]);
    expect((await fixture.allocations("blue"))["n3"]).toEqual(["10.0.0.0/26"]);
    expect(readGrant((await slice("blue-n3-10.0.0.0-26")).metadata)?.taken).toEqual(["10.0.0.0-10.0.0.2"]);
    fixture.daemons.get("n3")!.take("blue", 64);
  });

  it("nothing is done while whereabouts is active or handing out is paused, but that nothing is sliced is told", async () => {
    await fixture.state({ coexistence: "on", why: "it runs" });
    const leader = fixture.lead();
    await join("n1");
    await fixture.define("a", blue);
    for (let step = 0; step < 40; step++) await fixture.pass(500);
    expect([leader.writes, await fixture.sliced()]).toEqual([1, { version: 1, ranges: [] }]);
    await fixture.state({ coexistence: "off", paused: "a migration" });
    for (let step = 0; step < 40; step++) await fixture.pass(500);
    expect(leader.writes).toBe(1);
    await fixture.state({ paused: "" });
    await fixture.granted("blue", ["n1"]);
  });
});

describe("exhaustion", () => {
  it("more nodes than slices: pieces are lent; when nothing is left: condition, event, metric, and all of it again when there is", async () => {
    const leader = fixture.lead();
    await join("n1", "n2", "n3");
    await fixture.define("a", { range: "10.0.0.0/28", network_name: "blue", node_slice_size: "/29", enable_l3: true });
    await fixture.granted("blue", ["n1", "n2", "n3"]);
    // A cluster that starts is not exhausted, although no node had said yet what is free.
    expect((await fixture.events()).filter((event) => event.includes("Exhausted"))).toEqual([]);
    const all = () => [...fixture.daemons.values()].reduce((sum, daemon) => sum + daemon.take("blue", 1), 0);
    let given = 0;
    await fixture.until("all sixteen are given", async () => (given += all()) === 16);
    await fixture.until("it is said", async () => (await fixture.condition("blue", "Exhausted"))?.status === "True");
    expect(await leader.metric("holdfast_slices_exhausted", "blue")).toBe(1);
    expect(await leader.metric("holdfast_slice_pieces_borrowed", "blue")).toBeGreaterThan(0);
    await fixture.until("events say so", async () =>
      (await fixture.events()).includes("NetworkAttachmentDefinition a Exhausted"),
    );
    fixture.daemons.get("n1")!.releaseAll("blue");
    fixture.daemons.get("n1")!.take("blue", 0);
    await fixture.until(
      "others get what it gave up",
      async () => fixture.daemons.get("n2")!.take("blue", 1) + fixture.daemons.get("n3")!.take("blue", 1) > 0,
    );
    fixture.daemons.get("n2")!.releaseAll("blue");
    fixture.daemons.get("n3")!.releaseAll("blue");
    for (const daemon of fixture.daemons.values()) daemon.take("blue", 0);
    await fixture.until("it is over", async () => (await fixture.condition("blue", "Exhausted"))?.status === "False");
    expect(await leader.metric("holdfast_slices_exhausted", "blue")).toBe(0);
    await fixture.until("an event says so", async () =>
      (await fixture.events()).includes("NodeSlicePool blue ExhaustedOver"),
    );
  });
});

describe("what whereabouts wrote", () => {
  it("under the definition of its fork, whose status is a subresource, slices are assigned as under ours", async () => {
    const at = { name: "nodeslicepools.whereabouts.cni.cncf.io" };
    const operations = [{ op: "add", path: "/spec/versions/0/subresources", value: { status: {} } }] as const;
    await fixture.client.patch(crds, at, { type: "json", operations });
    await fixture.api.settled();
    fixture.lead();
    await join("n1");
    await fixture.define("a", blue);
    await fixture.granted("blue", ["n1"]);
    expect(await fixture.allocations("blue")).toEqual({ n1: ["10.0.0.0/26"] });
  });

  it("its pool, blank entries and slices are taken over, entries and all", async () => {
    await fixture.client.create(kinds.nodeSlicePools, {
      metadata: { namespace: system, name: "blue" },
      spec: { range: "10.0.0.0/24", sliceSize: "26" },
    });
    const pool = await fixture.pool("blue");
    const allocations = [
      { nodeName: "n2", sliceRange: "10.0.0.0/26" },
      { nodeName: "", sliceRange: "10.0.0.64/26" },
      { nodeName: "n1", sliceRange: "10.0.0.128/26" },
    ];
    await fixture.client.update(kinds.nodeSlicePools, { ...pool, status: { allocations } });
    const entry = { id: "sandbox", podref: "shop/web", ifname: "net1" };
    const metadata = { namespace: system, name: "blue-n1-10.0.0.128-26" };
    await fixture.client.create(kinds.ipPools, {
      metadata,
      spec: { range: "10.0.0.128/26", allocations: { 7: entry } },
    });
    fixture.lead();
    await join("n1", "n2");
    await fixture.define("a", { ...blue, type: "whereabouts" });
    await fixture.granted("blue", ["n1", "n2"]);
    expect(await fixture.allocations("blue")).toEqual({ n1: ["10.0.0.128/26"], n2: ["10.0.0.0/26"] });
    const taken = await slice("blue-n1-10.0.0.128-26");
    expect(taken.spec.allocations).toEqual({ 7: entry });
    expect(taken.metadata.labels).toMatchObject({ "holdfast.io/slice": "true", "holdfast.io/node": "n1" });
    expect(fixture.held.get("blue 10.0.0.135")).toBe("n1");
  });
});

describe("leaders", () => {
  it("two at once assign nothing twice and come to one end", async () => {
    fixture.lead();
    fixture.lead();
    await join("n1", "n2", "n3");
    await fixture.define("a", blue);
    await fixture.define("b", { range: "10.5.0.0/24", node_slice_size: "/26" });
    await fixture.granted("blue", ["n1", "n2", "n3"]);
    await fixture.granted("b", ["n1", "n2", "n3"]);
    for (const daemon of fixture.daemons.values()) daemon.take("blue", 64);
    await fixture.deleteNode("n2");
    await fixture.until("n2 has nothing", async () => (await fixture.allocations("blue"))["n2"] === undefined);
    const blocks = Object.values(await fixture.allocations("blue")).flat();
    expect(new Set(blocks).size).toBe(blocks.length);
  });
});
