// What definitions ask for, and change: sharing, disagreement, ranges, sizes, from shared to sliced and back.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { nodeLeaseName, seenAnnotation } from "../../src/api/slices/node-lease.ts";
import { readGrant } from "../../src/api/slices/slice-grant.ts";
import * as kinds from "../../src/cluster/resources.ts";
import { readRefusal } from "../../src/cluster/sliced-ranges.ts";
import { stateName } from "../../src/cluster/state.ts";
import { ReservationLedger } from "../../src/ledger/reservation/reservation-ledger.ts";
import { parseAddress } from "../../src/net/address.ts";
import { Fixture, system } from "./leader-fixture.ts";

// A quarantine of a day is 8,640 looks of ten seconds.
vi.setConfig({ testTimeout: 120_000 });

let fixture: Fixture;
beforeEach(async () => {
  fixture = await Fixture.open();
});
afterEach(() => fixture.close());

const blue = { range: "10.0.0.0/24", network_name: "blue", node_slice_size: "/26", enable_l3: true };
const slice = (name: string) => fixture.client.get(kinds.ipPools, { namespace: system, name });

async function join(...names: string[]): Promise<void> {
  for (const name of names) await fixture.node(name);
}

describe("definitions", () => {
  it("two of one name share a pool; where they disagree it stays, with a condition and an event on each", async () => {
    fixture.lead();
    await join("n1");
    await fixture.define("a", blue);
    await fixture.define("b", { ...blue, exclude: ["10.0.0.0/28"] });
    await fixture.granted("blue", ["n1"]);
    expect(await fixture.condition("blue", "Agreed")).toMatchObject({ status: "True" });
    await fixture.define("b", { ...blue, node_slice_size: "/27" });
    await fixture.until("it is said", async () => (await fixture.condition("blue", "Agreed"))?.status === "False");
    expect((await fixture.pool("blue")).spec.sliceSize).toBe("/26");
    const reason = "Disagreement";
    await fixture.until("events are written", async () => (await fixture.events()).length >= 3);
    expect(await fixture.events()).toEqual(
      [
        `NetworkAttachmentDefinition a ${reason}`,
        `NetworkAttachmentDefinition b ${reason}`,
        `NodeSlicePool blue ${reason}`,
      ].toSorted(),
    );
    await fixture.define("a", { ...blue, node_slice_size: "/27" });
    await fixture.until("it has the new size", async () => (await fixture.pool("blue")).spec.sliceSize === "/27");
    await fixture.until(
      "the old slice is drained",
      async () => JSON.stringify((await fixture.allocations("blue"))["n1"]) === JSON.stringify(["10.0.0.64/27"]),
    );
    expect(await fixture.condition("blue", "Agreed")).toMatchObject({ status: "True" });
  });

  it("another range: a pool of its own, the old one drained and removed, running pods keep their addresses", async () => {
    fixture.lead();
    await join("n1", "n2");
    await fixture.define("a", blue);
    await fixture.granted("blue", ["n1", "n2"]);
    fixture.daemons.get("n1")!.take("blue", 2);
    await fixture.define("a", { ...blue, range: "10.1.0.0/24" });
    await fixture.granted("blue-10.1.0.0-24", ["n1", "n2"]);
    await fixture.until("the old pool is gone", async () => !(await fixture.hasPool("blue")));
    await fixture.until("so is its range", async () => (await fixture.sliced()).ranges.length === 1);
    const held = await fixture.client.list(kinds.reservations);
    const names = held.items.map(({ metadata }) => metadata.name ?? "");
    expect(new Set(names)).toEqual(new Set(["blue-10.0.0.0", "blue-10.0.0.1"]));
  });

  it("a wider range around the old one opens while a dead node still has a slice of the old one", async () => {
    fixture.lead();
    await join("n1", "n2");
    await fixture.define("a", blue);
    await fixture.granted("blue", ["n1", "n2"]);
    fixture.daemons.get("n1")!.take("blue", 60);
    fixture.daemons.get("n1")!.isAlive = false;
    await fixture.define("a", { ...blue, range: "10.0.0.0/23" });
    await fixture.granted("blue-10.0.0.0-23", ["n2"]);
    // n1 still hands out of the old one by its journal, and the fixture throws where n2 gives one of these.
    fixture.daemons.get("n1")!.take("blue", 4);
    fixture.daemons.get("n2")!.take("blue-10.0.0.0-23", 500);
    expect(Object.keys(await fixture.allocations("blue"))).toEqual(["n1"]);
  });

  it("back to shared: slices drain, the state says what is still a slice, and the pool goes", async () => {
    fixture.lead();
    await join("n1", "n2");
    await fixture.define("a", blue);
    await fixture.granted("blue", ["n1", "n2"]);
    fixture.daemons.get("n2")!.isAlive = false;
    await fixture.define("a", { range: "10.0.0.0/24", network_name: "blue" });
    await fixture.until("only n2 has one", async () => Object.keys(await fixture.allocations("blue")).join() === "n2");
    await fixture.until("the state says so", async () => {
      const [range] = (await fixture.sliced()).ranges;
      return range?.phase === "opening" && range.blocks.join() === "10.0.0.64/26";
    });
    fixture.daemons.get("n2")!.isAlive = true;
    await fixture.until("the pool is gone", async () => !(await fixture.hasPool("blue")));
    await fixture.until("the state is empty", async () => (await fixture.sliced()).ranges.length === 0);
    await fixture.until(
      "the Leases name nothing",
      async () => Object.keys(fixture.daemons.get("n1")!.slices).length === 0,
    );
  });

  it("from shared: closed, waited for, and what is held is left out", async () => {
    const ledger = new ReservationLedger({ client: fixture.client, namespace: system, now: Date.now, node: "n1" });
    const owner = {
      kind: "pod",
      namespace: "shop",
      name: "old",
      uid: "u",
      containerId: "c",
      interface: "net1",
    } as const;
    await fixture.define("a", { range: "10.0.0.0/24", network_name: "blue", enable_l3: true });
    await ledger.take({ domain: "network:blue", address: parseAddress("10.0.0.5"), owner });
    await join("n1", "n2");
    await fixture.pass(500);
    fixture.daemons.get("n2")!.isAlive = false;
    fixture.lead();
    await fixture.define("a", blue);
    await fixture.until("it closes", async () => (await fixture.sliced()).ranges[0]?.phase === "closing");
    for (let step = 0; step < 60; step++) await fixture.pass(500);
    // n2's Lease is fresh and it has not seen it.
    expect((await fixture.sliced()).ranges[0]?.phase).toBe("closing");
    expect(await fixture.allocations("blue")).toEqual({});
    expect(fixture.daemons.get("n1")!.waiting).toEqual({
      [`${system} blue 10.0.0.0/24`]: expect.stringContaining("changed over"),
    });
    fixture.daemons.get("n2")!.isAlive = true;
    await fixture.granted("blue", ["n1", "n2"]);
    expect(readGrant((await slice("blue-n1-10.0.0.0-26")).metadata)?.taken).toEqual(["10.0.0.5"]);
    await fixture.client.delete(kinds.reservations, { namespace: system, name: "blue-10.0.0.5" });
    await fixture.until(
      "it is handed out again",
      async () => (readGrant((await slice("blue-n1-10.0.0.0-26")).metadata)?.taken ?? []).length === 0,
    );
  });

  it("two families, two unnamed ones of one configuration name, one namespace of its own: nothing collides", async () => {
    fixture.lead();
    await join("n1");
    const sizes = [
      { range: "10.2.0.0/24", node_slice_size: "/28" },
      { range: "fd00::/64", node_slice_size: "/80" },
    ];
    await fixture.define("dual", { ipRanges: sizes, network_name: "dual" });
    await fixture.define("one", { range: "10.3.0.0/24", node_slice_size: "/28" }, "shop", "plain");
    await fixture.define("two", { range: "10.4.0.0/24", node_slice_size: "/28" }, "shop", "plain");
    await fixture.define(
      "own",
      { range: "10.3.0.0/24", node_slice_size: "/28", pool_namespace: "nad" },
      "shop",
      "plain",
    );
    const names = ["dual", "dual-fd00---64", "plain", "plain-10.4.0.0-24"];
    await fixture.until("all are granted", async () => names.every((name) => fixture.daemons.get("n1")!.hasFree(name)));
    expect(await fixture.allocations("dual-fd00---64")).toEqual({ n1: ["fd00::/80"] });
    expect(await fixture.allocations("plain")).toEqual({ n1: ["10.3.0.0/28"] });
    expect(await fixture.allocations("plain-10.4.0.0-24")).toEqual({ n1: ["10.4.0.0/28"] });
    expect(await fixture.allocations("plain", "shop")).toEqual({ n1: ["10.3.0.0/28"] });
    await fixture.undefine("two");
    await fixture.until("its pool is gone", async () => !(await fixture.hasPool("plain-10.4.0.0-24")));
  });

  it("a range that overlaps another gets no slices: condition, event, and the state says why", async () => {
    fixture.lead();
    await join("n1");
    await fixture.define("a", blue);
    await fixture.granted("blue", ["n1"]);
    await fixture.define("b", { range: "10.0.0.0/16", network_name: "blue", node_slice_size: "/24" });
    await fixture.until(
      "it is said",
      async () =>
        (await fixture.hasPool("blue-10.0.0.0-16")) &&
        (await fixture.condition("blue-10.0.0.0-16", "Ready")) !== undefined,
    );
    expect(await fixture.condition("blue-10.0.0.0-16", "Ready")).toMatchObject({
      status: "False",
      reason: "Disagreement",
    });
    const place = { namespace: system, name: stateName };
    const refusal = async (key: string) => readRefusal(await fixture.client.get(kinds.configMaps, place), key);
    await fixture.until("nodes know", async () => (await refusal(`${system} blue 10.0.0.0/16`)) !== undefined);
    // Once for all of them: it is in no Lease.
    await fixture.until("no Lease says it", async () => Object.keys(fixture.daemons.get("n1")!.waiting).length === 0);
    await fixture.define("c", { range: "10.9.0.0/24", node_slice_size: "/26" });
    await fixture.define("d", { range: "10.9.0.0/25", node_slice_size: "/26" });
    await fixture.until(
      "unnamed ones too",
      async () => (await fixture.hasPool("d")) && (await fixture.condition("d", "Ready")) !== undefined,
    );
    expect(await fixture.condition("d", "Ready")).toMatchObject({ status: "False", reason: "Overlapping" });
    await fixture.until("an event says so", async () =>
      (await fixture.events()).includes("NetworkAttachmentDefinition d Overlapping"),
    );
    expect(await fixture.allocations("d")).toEqual({});
  });

  it("a Lease that claims to have seen what was never told uses up no versions: when it is right again, ranges open", async () => {
    await fixture.define("a", { range: "10.0.0.0/24", network_name: "blue", enable_l3: true });
    await join("n1", "n2");
    await fixture.pass(500);
    fixture.lead();
    await fixture.until("the state is told", async () => (await fixture.sliced()).version > 0);
    await fixture.pass(500);
    fixture.daemons.get("n2")!.isAlive = false;
    const place = { namespace: system, name: nodeLeaseName("n2") };
    const body = { metadata: { annotations: { [seenAnnotation]: "999999999999999" } } };
    await fixture.client.patch(kinds.leases, place, { type: "merge", body });
    await fixture.define("a", blue);
    await fixture.until("it closes", async () => (await fixture.sliced()).ranges[0]?.phase === "closing");
    for (let step = 0; step < 60; step++) await fixture.pass(500);
    expect((await fixture.sliced()).version).toBeLessThan(10);
    expect((await fixture.sliced()).ranges[0]?.phase).toBe("closing");
    fixture.daemons.get("n2")!.isAlive = true;
    await fixture.granted("blue", ["n1", "n2"]);
  });
});
