// When a node's slices go to others: by a taint, an operator's word, a quarantine, a deletion that fences.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { nodeLeaseName } from "../../src/api/node-lease.ts";
import { fencedAnnotation } from "../../src/api/slice-grant.ts";
import * as kinds from "../../src/ledger/resources.ts";
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
const isGone = (call: Promise<unknown>) =>
  call.then(
    () => false,
    () => true,
  );

async function join(...names: string[]): Promise<void> {
  for (const name of names) await stage.node(name);
}

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
