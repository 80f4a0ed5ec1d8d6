// The leader of slices on the embedded API, in-process, under a clock of the test's own, with daemons that do what they are told.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { nodeLeaseName } from "../../src/api/node-lease.ts";
import { fencedAnnotation, readGrant } from "../../src/api/slice-grant.ts";
import { ReservationLedger } from "../../src/ledger/reservation-ledger.ts";
import * as kinds from "../../src/ledger/resources.ts";
import { parseAddress } from "../../src/net/address.ts";
import { Stage, system } from "./leader-stage.ts";

// A quarantine of a day is 8,640 looks of ten seconds.
vi.setConfig({ testTimeout: 120_000 });

let stage: Stage;
beforeEach(async () => {
  stage = await Stage.open();
});
afterEach(() => stage.close());

const blue = { range: "10.0.0.0/24", network_name: "blue", node_slice_size: "/26", enable_l3: true };
const hourMs = 3_600_000;
const lease = (node: string) => stage.client.get(kinds.leases, { namespace: system, name: nodeLeaseName(node) });
const slice = (name: string) => stage.client.get(kinds.ipPools, { namespace: system, name });
const isGone = (call: Promise<unknown>) =>
  call.then(
    () => false,
    () => true,
  );

async function join(...names: string[]): Promise<void> {
  for (const name of names) await stage.node(name);
}

describe("join and leave", () => {
  it("nodes get slices by name order, lowest first, and a Lease that names them", async () => {
    stage.lead();
    await join("n2", "n1");
    await stage.define("a", blue);
    await stage.granted("blue", ["n1", "n2"]);
    expect(await stage.allocations("blue")).toEqual({ n1: ["10.0.0.0/26"], n2: ["10.0.0.64/26"] });
    expect(await stage.condition("blue", "Ready")).toMatchObject({ status: "True" });
    expect((await stage.sliced()).ranges).toMatchObject([{ network: "blue", pool: "blue", phase: "open" }]);
    await join("n0");
    await stage.granted("blue", ["n0"]);
    expect((await stage.allocations("blue"))["n0"]).toEqual(["10.0.0.128/26"]);
  });

  it("a node that leaves alive moves what it holds, and its slice, object and Lease go; the next holder does not hand that out", async () => {
    stage.lead();
    await join("n1", "n2");
    await stage.define("a", blue);
    await stage.granted("blue", ["n1", "n2"]);
    const n1 = stage.daemons.get("n1")!;
    expect(n1.take("blue", 3)).toBe(3);
    await stage.deleteNode("n1");
    await stage.until("the slice of n1 is gone", async () => (await stage.allocations("blue"))["n1"] === undefined);
    expect(await isGone(slice("blue-n1-10.0.0.0-26"))).toBe(true);
    n1.isAlive = false;
    await stage.until("its Lease is gone", () => isGone(lease("n1")), 800);
    await join("n3");
    await stage.granted("blue", ["n3"]);
    expect((await stage.allocations("blue"))["n3"]).toEqual(["10.0.0.0/26"]);
    expect(readGrant((await slice("blue-n3-10.0.0.0-26")).metadata)?.taken).toEqual(["10.0.0.0-10.0.0.2"]);
    stage.daemons.get("n3")!.take("blue", 64);
  });

  it("nothing is done while whereabouts is active or handing out is paused", async () => {
    await stage.state({ coexistence: "on", why: "it runs" });
    const leader = stage.lead();
    await join("n1");
    await stage.define("a", blue);
    for (let step = 0; step < 40; step++) await stage.pass(500);
    expect(leader.writes).toBe(0);
    await stage.state({ coexistence: "off", paused: "a migration" });
    for (let step = 0; step < 40; step++) await stage.pass(500);
    expect(leader.writes).toBe(0);
    await stage.state({ paused: "" });
    await stage.granted("blue", ["n1"]);
  });
});

describe("fencing", () => {
  /** n1 has a slice with three addresses, its machine is off, and its Node is deleted where that is said. */
  async function lose(isDeleted: boolean, options = {}) {
    const leader = stage.lead(options);
    // Without any Node the cluster would be a machine of its own.
    await join("n1", "n2", "n3");
    await stage.define("a", { ...blue, range: "10.0.0.0/25" });
    await stage.granted("blue", ["n1", "n2"]);
    stage.daemons.get("n1")!.take("blue", 3);
    stage.daemons.get("n1")!.isAlive = false;
    if (isDeleted) await stage.deleteNode("n1");
    else await stage.ready("n1", "Unknown");
    return leader;
  }
  const has = async () => (await stage.allocations("blue"))["n1"];
  const hours = async (count: number) => {
    for (let step = 0; step < count * 4; step++) await stage.pass(hourMs / 4);
  };

  it("a Node that is gone keeps its slice until the quarantine is over, also where leaders change", async () => {
    const first = await lose(true);
    await stage.until(
      "it is noted",
      async () => (await lease("n1")).metadata.annotations?.["holdfast.io/gone-since"] !== undefined,
      800,
    );
    await hours(12);
    await first.stop();
    stage.lead();
    await hours(11);
    expect(await has()).toEqual(["10.0.0.0/26"]);
    await hours(2);
    await stage.until("it is fenced", async () => (await has()) === undefined);
    await stage.until("its Lease is gone", () => isGone(lease("n1")));
  });

  it("one that renews again within the quarantine keeps it, and the time begins anew", async () => {
    await lose(true);
    await hours(20);
    const renewal = { type: "merge", body: { spec: { renewTime: "2026-01-02T00:00:00.000000Z" } } } as const;
    await stage.client.patch(kinds.leases, { namespace: system, name: nodeLeaseName("n1") }, renewal);
    await hours(20);
    expect(await has()).toEqual(["10.0.0.0/26"]);
    await hours(5);
    await stage.until("it is fenced", async () => (await has()) === undefined);
  });

  it("the taint out-of-service fences a node that is not Ready", async () => {
    await lose(false);
    await hours(30);
    expect(await has()).toEqual(["10.0.0.0/26"]);
    const taints = [{ key: "node.kubernetes.io/out-of-service", value: "nodeshutdown", effect: "NoExecute" }];
    await stage.client.patch(kinds.nodes, { name: "n1" }, { type: "merge", body: { spec: { taints } } });
    await stage.until("it is fenced", async () => (await has()) === undefined);
  });

  it("an operator's word on the slice fences it", async () => {
    await lose(true);
    await hours(1);
    expect(await has()).toEqual(["10.0.0.0/26"]);
    const body = { metadata: { annotations: { [fencedAnnotation]: "admin, it is in the skip" } } };
    await stage.client.patch(
      kinds.ipPools,
      { namespace: system, name: "blue-n1-10.0.0.0-26" },
      { type: "merge", body },
    );
    await stage.until("it is fenced", async () => (await has()) === undefined);
  });

  it("--node-deletion-fences: at once when its daemon is silent, and not before", async () => {
    await lose(true, { deletionFences: true });
    await stage.until("it is fenced", async () => (await has()) === undefined, 800);
    const n2 = stage.daemons.get("n2")!;
    await stage.deleteNode("n2");
    n2.take("blue", 1);
    await stage.until("n2 has sealed", async () => (await stage.allocations("blue"))["n2"] === undefined);
    const held = await stage.client.list(kinds.reservations);
    expect(held.items.map(({ metadata }) => metadata.name)).toEqual(["blue-10.0.0.64"]);
  });
});

describe("definitions", () => {
  it("two of one name share a pool; where they disagree it stays, with a condition and an event on each", async () => {
    stage.lead();
    await join("n1");
    await stage.define("a", blue);
    await stage.define("b", { ...blue, exclude: ["10.0.0.0/28"] });
    await stage.granted("blue", ["n1"]);
    expect(await stage.condition("blue", "Agreed")).toMatchObject({ status: "True" });
    await stage.define("b", { ...blue, node_slice_size: "/27" });
    await stage.until("it is said", async () => (await stage.condition("blue", "Agreed"))?.status === "False");
    expect((await stage.pool("blue")).spec.sliceSize).toBe("/26");
    const reason = "Disagreement";
    await stage.until("events are written", async () => (await stage.events()).length >= 3);
    expect(await stage.events()).toEqual(
      [
        `NetworkAttachmentDefinition a ${reason}`,
        `NetworkAttachmentDefinition b ${reason}`,
        `NodeSlicePool blue ${reason}`,
      ].toSorted(),
    );
    await stage.define("a", { ...blue, node_slice_size: "/27" });
    await stage.until("it has the new size", async () => (await stage.pool("blue")).spec.sliceSize === "/27");
    await stage.until(
      "the old slice is drained",
      async () => JSON.stringify((await stage.allocations("blue"))["n1"]) === JSON.stringify(["10.0.0.64/27"]),
    );
    expect(await stage.condition("blue", "Agreed")).toMatchObject({ status: "True" });
  });

  it("another range: a pool of its own, the old one drained and removed, running pods keep their addresses", async () => {
    stage.lead();
    await join("n1", "n2");
    await stage.define("a", blue);
    await stage.granted("blue", ["n1", "n2"]);
    stage.daemons.get("n1")!.take("blue", 2);
    await stage.define("a", { ...blue, range: "10.1.0.0/24" });
    await stage.granted("blue-10.1.0.0-24", ["n1", "n2"]);
    await stage.until("the old pool is gone", async () => !(await stage.hasPool("blue")));
    await stage.until("so is its range", async () => (await stage.sliced()).ranges.length === 1);
    const held = await stage.client.list(kinds.reservations);
    const names = held.items.map(({ metadata }) => metadata.name ?? "");
    expect(new Set(names)).toEqual(new Set(["blue-10.0.0.0", "blue-10.0.0.1"]));
  });

  it("a wider range around the old one opens while a dead node still has a slice of the old one", async () => {
    stage.lead();
    await join("n1", "n2");
    await stage.define("a", blue);
    await stage.granted("blue", ["n1", "n2"]);
    stage.daemons.get("n1")!.take("blue", 60);
    stage.daemons.get("n1")!.isAlive = false;
    await stage.define("a", { ...blue, range: "10.0.0.0/23" });
    await stage.granted("blue-10.0.0.0-23", ["n2"]);
    // n1 still hands out of the old one by its journal, and the stage throws where n2 gives one of these.
    stage.daemons.get("n1")!.take("blue", 4);
    stage.daemons.get("n2")!.take("blue-10.0.0.0-23", 500);
    expect(Object.keys(await stage.allocations("blue"))).toEqual(["n1"]);
  });

  it("back to shared: slices drain, the state says what is still a slice, and the pool goes", async () => {
    stage.lead();
    await join("n1", "n2");
    await stage.define("a", blue);
    await stage.granted("blue", ["n1", "n2"]);
    stage.daemons.get("n2")!.isAlive = false;
    await stage.define("a", { range: "10.0.0.0/24", network_name: "blue" });
    await stage.until("only n2 has one", async () => Object.keys(await stage.allocations("blue")).join() === "n2");
    await stage.until("the state says so", async () => {
      const [range] = (await stage.sliced()).ranges;
      return range?.phase === "opening" && range.blocks.join() === "10.0.0.64/26";
    });
    stage.daemons.get("n2")!.isAlive = true;
    await stage.until("the pool is gone", async () => !(await stage.hasPool("blue")));
    await stage.until("the state is empty", async () => (await stage.sliced()).ranges.length === 0);
    await stage.until("the Leases name nothing", async () => Object.keys(stage.daemons.get("n1")!.slices).length === 0);
  });

  it("from shared: closed, waited for, and what is held is left out", async () => {
    const ledger = new ReservationLedger({ client: stage.client, namespace: system, now: Date.now, node: "n1" });
    const owner = {
      kind: "pod",
      namespace: "shop",
      name: "old",
      uid: "u",
      containerId: "c",
      interface: "net1",
    } as const;
    await stage.define("a", { range: "10.0.0.0/24", network_name: "blue", enable_l3: true });
    await ledger.take({ domain: "network:blue", address: parseAddress("10.0.0.5"), owner });
    await join("n1", "n2");
    await stage.pass(500);
    stage.daemons.get("n2")!.isAlive = false;
    stage.lead();
    await stage.define("a", blue);
    await stage.until("it closes", async () => (await stage.sliced()).ranges[0]?.phase === "closing");
    for (let step = 0; step < 60; step++) await stage.pass(500);
    // n2's Lease is fresh and it has not seen it.
    expect((await stage.sliced()).ranges[0]?.phase).toBe("closing");
    expect(await stage.allocations("blue")).toEqual({});
    expect(stage.daemons.get("n1")!.waiting).toEqual({
      [`${system} blue 10.0.0.0/24`]: expect.stringContaining("changed over"),
    });
    stage.daemons.get("n2")!.isAlive = true;
    await stage.granted("blue", ["n1", "n2"]);
    expect(readGrant((await slice("blue-n1-10.0.0.0-26")).metadata)?.taken).toEqual(["10.0.0.5"]);
    await stage.client.delete(kinds.reservations, { namespace: system, name: "blue-10.0.0.5" });
    await stage.until(
      "it is handed out again",
      async () => (readGrant((await slice("blue-n1-10.0.0.0-26")).metadata)?.taken ?? []).length === 0,
    );
  });

  it("two families, two unnamed ones of one configuration name, one namespace of its own: nothing collides", async () => {
    stage.lead();
    await join("n1");
    const sizes = [
      { range: "10.2.0.0/24", node_slice_size: "/28" },
      { range: "fd00::/64", node_slice_size: "/80" },
    ];
    await stage.define("dual", { ipRanges: sizes, network_name: "dual" });
    await stage.define("one", { range: "10.3.0.0/24", node_slice_size: "/28" }, "shop", "plain");
    await stage.define("two", { range: "10.4.0.0/24", node_slice_size: "/28" }, "shop", "plain");
    await stage.define("own", { range: "10.3.0.0/24", node_slice_size: "/28", pool_namespace: "nad" }, "shop", "plain");
    const names = ["dual", "dual-fd00---64", "plain", "plain-10.4.0.0-24"];
    await stage.until("all are granted", async () => names.every((name) => stage.daemons.get("n1")!.hasFree(name)));
    expect(await stage.allocations("dual-fd00---64")).toEqual({ n1: ["fd00::/80"] });
    expect(await stage.allocations("plain")).toEqual({ n1: ["10.3.0.0/28"] });
    expect(await stage.allocations("plain-10.4.0.0-24")).toEqual({ n1: ["10.4.0.0/28"] });
    expect(await stage.allocations("plain", "shop")).toEqual({ n1: ["10.3.0.0/28"] });
    await stage.undefine("two");
    await stage.until("its pool is gone", async () => !(await stage.hasPool("plain-10.4.0.0-24")));
  });

  it("a range that overlaps another gets no slices: condition, event, and the nodes' Leases say why", async () => {
    stage.lead();
    await join("n1");
    await stage.define("a", blue);
    await stage.granted("blue", ["n1"]);
    await stage.define("b", { range: "10.0.0.0/16", network_name: "blue", node_slice_size: "/24" });
    await stage.until(
      "it is said",
      async () =>
        (await stage.hasPool("blue-10.0.0.0-16")) && (await stage.condition("blue-10.0.0.0-16", "Ready")) !== undefined,
    );
    expect(await stage.condition("blue-10.0.0.0-16", "Ready")).toMatchObject({
      status: "False",
      reason: "Disagreement",
    });
    await stage.until(
      "the node knows",
      async () => stage.daemons.get("n1")!.waiting[`${system} blue 10.0.0.0/16`] !== undefined,
    );
    await stage.define("c", { range: "10.9.0.0/24", node_slice_size: "/26" });
    await stage.define("d", { range: "10.9.0.0/25", node_slice_size: "/26" });
    await stage.until(
      "unnamed ones too",
      async () => (await stage.hasPool("d")) && (await stage.condition("d", "Ready")) !== undefined,
    );
    expect(await stage.condition("d", "Ready")).toMatchObject({ status: "False", reason: "Overlapping" });
    await stage.until("an event says so", async () =>
      (await stage.events()).includes("NetworkAttachmentDefinition d Overlapping"),
    );
    expect(await stage.allocations("d")).toEqual({});
  });
});

describe("exhaustion", () => {
  it("more nodes than slices: pieces are lent; when nothing is left: condition, event, metric, and all of it again when there is", async () => {
    const leader = stage.lead();
    await join("n1", "n2", "n3");
    await stage.define("a", { range: "10.0.0.0/28", network_name: "blue", node_slice_size: "/29", enable_l3: true });
    await stage.granted("blue", ["n1", "n2", "n3"]);
    // A cluster that starts is not exhausted, although no node had said yet what is free.
    expect((await stage.events()).filter((event) => event.includes("Exhausted"))).toEqual([]);
    const all = () => [...stage.daemons.values()].reduce((sum, daemon) => sum + daemon.take("blue", 1), 0);
    let given = 0;
    await stage.until("all sixteen are given", async () => (given += all()) === 16);
    await stage.until("it is said", async () => (await stage.condition("blue", "Exhausted"))?.status === "True");
    expect(await leader.metric("holdfast_slices_exhausted", "blue")).toBe(1);
    expect(await leader.metric("holdfast_slice_pieces_borrowed", "blue")).toBeGreaterThan(0);
    await stage.until("events say so", async () =>
      (await stage.events()).includes("NetworkAttachmentDefinition a Exhausted"),
    );
    stage.daemons.get("n1")!.releaseAll("blue");
    stage.daemons.get("n1")!.take("blue", 0);
    await stage.until(
      "others get what it gave up",
      async () => stage.daemons.get("n2")!.take("blue", 1) + stage.daemons.get("n3")!.take("blue", 1) > 0,
    );
    stage.daemons.get("n2")!.releaseAll("blue");
    stage.daemons.get("n3")!.releaseAll("blue");
    for (const daemon of stage.daemons.values()) daemon.take("blue", 0);
    await stage.until("it is over", async () => (await stage.condition("blue", "Exhausted"))?.status === "False");
    expect(await leader.metric("holdfast_slices_exhausted", "blue")).toBe(0);
    await stage.until("an event says so", async () =>
      (await stage.events()).includes("NodeSlicePool blue ExhaustedOver"),
    );
  });
});

describe("what whereabouts wrote", () => {
  it("its pool, blank entries and slices are taken over, entries and all", async () => {
    await stage.client.create(kinds.nodeSlicePools, {
      metadata: { namespace: system, name: "blue" },
      spec: { range: "10.0.0.0/24", sliceSize: "26" },
    });
    const pool = await stage.pool("blue");
    const allocations = [
      { nodeName: "n2", sliceRange: "10.0.0.0/26" },
      { nodeName: "", sliceRange: "10.0.0.64/26" },
      { nodeName: "n1", sliceRange: "10.0.0.128/26" },
    ];
    await stage.client.update(kinds.nodeSlicePools, { ...pool, status: { allocations } }, { subresource: "status" });
    const entry = { id: "sandbox", podref: "shop/web", ifname: "net1" };
    const metadata = { namespace: system, name: "blue-n1-10.0.0.128-26" };
    await stage.client.create(kinds.ipPools, { metadata, spec: { range: "10.0.0.128/26", allocations: { 7: entry } } });
    stage.lead();
    await join("n1", "n2");
    await stage.define("a", { ...blue, type: "whereabouts" });
    await stage.granted("blue", ["n1", "n2"]);
    expect(await stage.allocations("blue")).toEqual({ n1: ["10.0.0.128/26"], n2: ["10.0.0.0/26"] });
    const taken = await slice("blue-n1-10.0.0.128-26");
    expect(taken.spec.allocations).toEqual({ 7: entry });
    expect(taken.metadata.labels).toMatchObject({ "holdfast.io/slice": "true", "holdfast.io/node": "n1" });
    expect(stage.held.get("blue 10.0.0.135")).toBe("n1");
  });
});

describe("leaders", () => {
  it("two at once assign nothing twice and come to one end", async () => {
    stage.lead();
    stage.lead();
    await join("n1", "n2", "n3");
    await stage.define("a", blue);
    await stage.define("b", { range: "10.5.0.0/24", node_slice_size: "/26" });
    await stage.granted("blue", ["n1", "n2", "n3"]);
    await stage.granted("b", ["n1", "n2", "n3"]);
    for (const daemon of stage.daemons.values()) daemon.take("blue", 64);
    await stage.deleteNode("n2");
    await stage.until("n2 has nothing", async () => (await stage.allocations("blue"))["n2"] === undefined);
    const blocks = Object.values(await stage.allocations("blue")).flat();
    expect(new Set(blocks).size).toBe(blocks.length);
  });
});
