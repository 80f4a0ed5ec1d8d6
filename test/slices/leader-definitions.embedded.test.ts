// What definitions ask for, and change: sharing, disagreement, ranges, sizes, from shared to sliced and back.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { nodeLeaseName, seenAnnotation } from "../../src/api/slices/node-lease.ts";
import { readGrant } from "../../src/api/slices/slice-grant.ts";
import * as kinds from "../../src/cluster/resources.ts";
import { readRefusal } from "../../src/cluster/sliced-ranges.ts";
import { stateName } from "../../src/cluster/state.ts";
import { ReservationLedger } from "../../src/ledger/reservation/reservation-ledger.ts";
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
const slice = (name: string) => stage.client.get(kinds.ipPools, { namespace: system, name });

async function join(...names: string[]): Promise<void> {
  for (const name of names) await stage.node(name);
}

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

  it("a range that overlaps another gets no slices: condition, event, and the state says why", async () => {
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
    const place = { namespace: system, name: stateName };
    const refusal = async (key: string) => readRefusal(await stage.client.get(kinds.configMaps, place), key);
    await stage.until("nodes know", async () => (await refusal(`${system} blue 10.0.0.0/16`)) !== undefined);
    // Once for all of them: it is in no Lease.
    await stage.until("no Lease says it", async () => Object.keys(stage.daemons.get("n1")!.waiting).length === 0);
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

  it("a Lease that claims to have seen what was never told uses up no versions: when it is right again, ranges open", async () => {
    await stage.define("a", { range: "10.0.0.0/24", network_name: "blue", enable_l3: true });
    await join("n1", "n2");
    await stage.pass(500);
    stage.lead();
    await stage.until("the state is told", async () => (await stage.sliced()).version > 0);
    await stage.pass(500);
    stage.daemons.get("n2")!.isAlive = false;
    const place = { namespace: system, name: nodeLeaseName("n2") };
    const body = { metadata: { annotations: { [seenAnnotation]: "999999999999999" } } };
    await stage.client.patch(kinds.leases, place, { type: "merge", body });
    await stage.define("a", blue);
    await stage.until("it closes", async () => (await stage.sliced()).ranges[0]?.phase === "closing");
    for (let step = 0; step < 60; step++) await stage.pass(500);
    expect((await stage.sliced()).version).toBeLessThan(10);
    expect((await stage.sliced()).ranges[0]?.phase).toBe("closing");
    stage.daemons.get("n2")!.isAlive = true;
    await stage.granted("blue", ["n1", "n2"]);
  });
});
