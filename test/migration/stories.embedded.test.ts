// A VM's migrations from end to end: what KubeVirt writes, what the reconciler makes of it, what is on record after.
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { removeNode } from "../claims/kubevirt/nodes.ts";
import { until } from "../lab/wait.ts";
import { Fixture, networksAnnotation, subnetsOf } from "./fixture.ts";

const stamp = { "kubevirt.io/migration-target-ready-timestamp": "2026-11-15 04:34:18 +0000 UTC" };
const receipt = "holdfast.io/migration-receipt";

let f: Fixture;
beforeEach(async () => {
  f = await Fixture.open();
});
afterEach(() => f.close());

describe("one VM", () => {
  it("moves away with its addresses, its MAC and the same annotation, and that is on record", async () => {
    await f.lead();
    const vm = await f.started("vm1");
    const source = vm.instance!.active;
    const migration = await f.begun(vm, "n2");
    await f.shows("vm1", "n1 of n1: n1* n2");
    const before = await f.annotationsOf(source);
    expect(before[networksAnnotation]).toBe(
      '{"default":{"ip_addresses":["10.244.1.4/24","fd10:244:0:1::4/64"],"mac_address":"0a:58:0a:f4:01:04","role":"primary"}}',
    );
    expect((await f.annotationsOf(migration.target))[networksAnnotation]).toBe(before[networksAnnotation]);
    await migration.succeed();
    await f.shows("vm1", "n2 of n1: n2*");
    expect(f.writer.addressesOf("default/vm1")).toEqual([
      "0a:58:0a:f4:01:04",
      "10.244.1.4 of 10.244.1.0/24",
      "fd10:244:0:1::4 of fd10:244:0:1::/64",
    ]);
    expect(f.moves).toEqual(["vm1 n1 > n2"]);
    expect(await f.told("AddressMoved")).toEqual([
      expect.stringMatching(
        /^VirtualMachineInstance vm1: 10\.244\.1\.4 and fd10:244:0:1::4 moved from n1 to n2 at .*, told by KubeVirt's timestamp\.$/,
      ),
    ]);
    const text = await until(async () => (await f.annotationsOf(migration.target))[receipt], { what: "the receipt" });
    expect(JSON.parse(text)).toMatchObject({
      end: "succeeded",
      from: { node: "n1" },
      to: { node: "n2" },
      isWhole: true,
    });
  });

  it("goes on to a third node, and home, where nothing is left but its port", async () => {
    const running = await f.lead();
    const vm = await f.started("vm1");
    for (const [node, row] of [
      ["n2", "n2 of n1: n2*"],
      ["n3", "n3 of n1: n3*"],
      ["n1", "n1 of n1: n1*"],
    ] as const) {
      await f.migrated(vm, node);
      await f.shows("vm1", row);
    }
    expect(f.moves).toEqual(["vm1 n1 > n2", "vm1 n2 > n3", "vm1 n3 > n1"]);
    await until(async () => running.leader.receipts().length === 3, { what: "three receipts" });
    expect(running.leader.receipts().map(({ source, target, end }) => `${source?.node} ${target.node} ${end}`)).toEqual(
      ["n1 n2 succeeded", "n2 n3 succeeded", "n3 n1 succeeded"],
    );
  });

  it.each(["exits", "is deleted", "is forced"] as const)("stays where it is when its target %s", async (how) => {
    await f.lead();
    const vm = await f.started("vm1");
    const migration = await f.begun(vm, "n2");
    await f.shows("vm1", "n1 of n1: n1* n2");
    await migration.fail(how);
    await f.shows("vm1", "n1 of n1: n1*");
    expect(await f.told("MigrationFailed")).toHaveLength(1);
    expect(f.moves).toEqual([]);
  });

  it.each(["exits", "is deleted", "is forced"] as const)(
    "is back at once when a target that was ready %s",
    async (how) => {
      await f.lead();
      const vm = await f.started("vm1");
      const migration = await f.begun(vm, "n2");
      await f.annotate(migration.target, stamp);
      await f.shows("vm1", "n2 of n1: n1 n2*");
      await migration.fail(how);
      await f.shows("vm1", "n1 of n1: n1*");
      expect(await f.told("AddressMovedBack")).toHaveLength(1);
      expect(f.moves).toEqual(["vm1 n1 > n2", "vm1 n2 > n1"]);
      // The failed pod's object stands in nobody's way.
      await f.migrated(vm, "n3");
      await f.shows("vm1", "n3 of n1: n3*");
    },
  );

  it("moves at the guest's first frame, and is taken back where that was wrong", async () => {
    await f.lead();
    const vm = await f.started("vm1");
    const source = vm.instance!.active;
    const migration = await f.begun(vm, "n2");
    const seen = (ms: number) => ({ "holdfast.io/guest-seen": `${new Date(ms).toISOString()} rarp` });
    const nowMs = Date.now();
    await f.annotate(migration.target, seen(nowMs));
    await f.shows("vm1", "n2 of n1: n1 n2*");
    await f.annotate(source, seen(nowMs + 1));
    await f.shows("vm1", "n1 of n1: n1* n2");
    await migration.succeed();
    await f.shows("vm1", "n2 of n1: n2*");
    expect(await f.told("AddressMoved")).toEqual([
      expect.stringContaining("a sign that the guest had moved was wrong"),
    ]);
  });

  it("loses its rows when it is stopped, gets other addresses when it is started, and none are left when it is deleted", async () => {
    const { leader } = await f.lead();
    const vm = await f.started("vm1");
    await f.migrated(vm, "n2");
    await f.shows("vm1", "n2 of n1: n2*");
    expect(leader.reserved().get("n1")?.map(String)).toEqual(["10.244.1.4", "fd10:244:0:1::4"]);
    await f.kubevirt.stop(vm);
    await f.shows("vm1", "none");
    expect(leader.reserved().get("n1")).toEqual([]);
    await f.kubevirt.start(vm);
    await f.shows("vm1", "n1 of n1: n1*");
    expect(f.writer.addressesOf("default/vm1")[1]).toBe("10.244.1.5 of 10.244.1.0/24");
    await f.kubevirt.delete(vm);
    await f.shows("vm1", "none");
  });

  it("is deleted in the middle of a migration", async () => {
    await f.lead();
    const vm = await f.started("vm1");
    const migration = await f.begun(vm, "n2");
    await f.kubevirt.delete(vm);
    await migration.orphaned();
    await f.shows("vm1", "none");
  });

  it("loses its rows when its pod is deleted by force while it runs", async () => {
    await f.lead();
    const vm = await f.started("vm1");
    await f.migrated(vm, "n2");
    await f.kubevirt.forcePod(vm);
    await f.shows("vm1", "n1 of n1: n1*");
    expect(f.writer.addressesOf("default/vm1")[1]).toBe("10.244.1.5 of 10.244.1.0/24");
  });
});

describe("its home", () => {
  it("is nobody when the node is gone, and whoever is given the subnet: its addresses stay reserved there", async () => {
    const { leader } = await f.lead();
    const vm = await f.started("vm1");
    await f.migrated(vm, "n2");
    await f.shows("vm1", "n2 of n1: n2*");
    await removeNode(f.client, "n1");
    await f.shows("vm1", "n2 of nobody: n2*");
    expect([...leader.reserved().values()].flat()).toEqual([]);
    await f.addNode("n5", subnetsOf(1));
    await f.shows("vm1", "n2 of n5: n2*");
    expect(leader.reserved().get("n5")?.map(String)).toEqual(["10.244.1.4", "fd10:244:0:1::4"]);
    await f.migrated(vm, "n5");
    await f.shows("vm1", "n5 of n5: n5*");
  });
});

describe("several VMs", () => {
  it("move at once, also two whose label is the same: each has its own address", async () => {
    await f.lead();
    const names = ["db.one", "db.two", "web"];
    const vms = [];
    for (const name of names) vms.push(await f.started(name));
    await Promise.all(vms.map((vm, at) => f.migrated(vm, at === 1 ? "n3" : "n2")));
    await f.shows("db.one", "n2 of n1: n2*");
    await f.shows("db.two", "n3 of n1: n3*");
    await f.shows("web", "n2 of n1: n2*");
    const macs = names.map((name) => f.writer.addressesOf(`default/${name}`)[0]);
    expect(macs).toEqual(["0a:58:0a:f4:01:04", "0a:58:0a:f4:01:05", "0a:58:0a:f4:01:06"]);
  });

  it("with one address between them: whoever had it first keeps it, the other is told", async () => {
    await f.lead();
    const first = await f.started("first");
    const second = await f.started("second", "n2");
    const { [networksAnnotation]: theirs = "" } = await f.annotationsOf(first.instance!.active);
    await f.annotate(second.instance!.active, { [networksAnnotation]: theirs });
    await f.shows("second", "none");
    expect(await f.told("AddressTaken")).toEqual([
      expect.stringContaining("VirtualMachineInstance second: 10.244.1.4 is the address of VM default/first"),
    ]);
    await f.migrated(first, "n3");
    await f.shows("first", "n3 of n1: n3*");
    await f.kubevirt.delete(first);
    await f.shows("second", "n2 of n1: n2*");
  });
});
