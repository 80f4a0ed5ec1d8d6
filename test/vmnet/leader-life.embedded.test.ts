// A VM's addresses under the leader, on the embedded API with its garbage collection: from the VM to the end.
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import * as marks from "../../src/api/vmnet/marks.ts";
import * as kinds from "../../src/cluster/resources.ts";
import { embeddedServer } from "../slices/embedded-server.ts";
import { Fixture, isTrue, messageOf, shop } from "./leader-fixture.ts";

const macA = "02:00:00:00:00:0a";
const macB = "02:00:00:00:00:0b";
const macC = "02:00:00:00:00:0c";
const blue = `${shop}/blue`;
const red = `${shop}/red`;

let fixture: Fixture;
beforeEach(async () => {
  fixture = await Fixture.open(await embeddedServer());
  await fixture.network("blue");
  await fixture.pool("blue");
});
afterEach(() => fixture.close());

describe("a VM that comes and goes", () => {
  it("has a network config as Harvester makes it, with every NIC in the VM's order, and an address for the managed one", async () => {
    await fixture.network("plain");
    const leader = fixture.lead();
    await fixture.poolIs("blue", "ready", (pool) => isTrue(pool, "CacheReady"));
    await leader.quiet();
    const before = leader.writes.length;
    const uid = await fixture.vm("web", [{ network: "plain", mac: macB }, { network: "blue" }], {
      [marks.macAnnotation]: JSON.stringify({ nic1: macA.toUpperCase() }),
    });
    const config = await fixture.configIs("web", "allocated", (each) => isTrue(each, "Allocated"));
    expect(config.metadata).toMatchObject({
      labels: { [marks.vmNameLabelName]: "web" },
      ownerReferences: [{ apiVersion: "kubevirt.io/v1", kind: "VirtualMachine", name: "web", uid }],
      finalizers: [marks.networkConfigFinalizer],
    });
    expect(config.metadata.ownerReferences![0]).not.toHaveProperty("controller");
    expect(config.spec.networkConfigs).toEqual([
      { networkName: `${shop}/plain`, macAddress: macB },
      { networkName: blue, macAddress: macA },
    ]);
    const [first, second] = config.status!.networkConfigs!;
    expect(first).toEqual({ networkName: `${shop}/plain`, macAddress: macB, state: "Unmanaged" });
    expect(second).toMatchObject({ networkName: blue, macAddress: macA, state: "Allocated" });
    const conditions = config.status!.conditions!.map(
      ({ type, status, ...rest }) => `${type} ${status} ${Object.keys(rest).join()}`,
    );
    expect(conditions).toEqual([
      "Allocated True lastUpdateTime",
      "InSynced True lastUpdateTime",
      "Disabled False lastUpdateTime",
    ]);
    await fixture.booksAre(`${second!.allocatedIPAddress} web ${macA}`);
    await fixture.poolIs(
      "blue",
      "shows it",
      ({ status }) => status?.ipv4?.allocated?.[second!.allocatedIPAddress!] === macA,
    );
    await leader.quiet();
    const made = leader.writes.slice(before);
    const count = (part: string) => made.filter((line) => line.includes(part)).length;
    expect([count("/holds"), count("/virtualmachinenetworkconfigs"), count("/ippools")]).toEqual([1, 2, 1]);
    expect(made).toHaveLength(4);
  });

  it("leaves nothing to do for a leader that starts anew: nothing flips, nothing is written", async () => {
    const first = fixture.lead();
    await fixture.vm("web", [{ network: "blue", mac: macA }]);
    await fixture.addressOf("web");
    await first.quiet();
    await first.stop();
    const second = fixture.lead();
    await second.quiet(500);
    expect(second.writes).toEqual([]);
    expect(second.error).toBeUndefined();
  });

  it("keeps its address over stop and start, and gives it back with the VM; it rests for the lease time", async () => {
    fixture.lead();
    const uid = await fixture.vm("web", [{ network: "blue", mac: macA }]);
    const address = await fixture.addressOf("web");
    await fixture.vmi("web", uid);
    await fixture.endVmi("web");
    expect(await fixture.addressOf("web")).toBe(address);
    const beforeMs = fixture.clock.wallMs();
    await fixture.remove(kinds.virtualMachines, "web");
    await fixture.goes(kinds.networkConfigs, "web");
    await fixture.booksAre();
    const [resting] = await fixture.holds({ isCooling: true });
    expect(String(resting!.hold.address)).toBe(address);
    // Written in whole seconds.
    expect(resting!.cooling!.untilMs).toBeGreaterThan(beforeMs + 599_000);
    fixture.advance(601_000);
    await expect.poll(() => fixture.holds({ isCooling: true })).toEqual([]);
  });

  it("a VM whose MAC KubeVirt makes up waits for its VMI, and keeps the MAC while it is stopped", async () => {
    fixture.lead();
    const uid = await fixture.vm("web", [{ network: "blue" }, { network: "blue", mac: macB }]);
    expect(await fixture.addressOf("web")).toMatch(/^10\.7\.0\.1\d$/);
    await fixture.vmi("web", uid, { nic0: macC });
    const both = await fixture.configIs("web", "both there", ({ status }) => status?.networkConfigs?.length === 2);
    expect(both.spec.networkConfigs!.map(({ macAddress }) => macAddress)).toEqual([macC, macB]);
    await fixture.booksAre(...(await fixture.books()));
    const address = await fixture.addressOf("web");
    await fixture.endVmi("web");
    await fixture.edit(kinds.virtualMachines, "web", { metadata: { labels: { touched: "yes" } } });
    expect(await fixture.addressOf("web")).toBe(address);
  });

  it.each(["Background", "Foreground"] as const)(
    "deleted in the %s while it runs: the address stays until the VMI is gone",
    async (policy) => {
      const leader = fixture.lead();
      const uid = await fixture.vm("web", [{ network: "blue", mac: macA }]);
      const address = await fixture.addressOf("web");
      await fixture.vmi("web", uid);
      await leader.quiet();
      await fixture.remove(kinds.virtualMachines, "web", policy);
      await fixture.configIs("web", "being deleted", ({ metadata }) => metadata.deletionTimestamp !== undefined);
      await leader.quiet();
      await fixture.booksAre(`${address} web ${macA}`);
      await fixture.endVmi("web");
      await fixture.goes(kinds.networkConfigs, "web");
      await fixture.booksAre();
    },
  );

  it("made anew under its name before garbage collection: the new VM has a config, and the address of the same MAC", async () => {
    const first = fixture.lead();
    await fixture.vm("web", [{ network: "blue", mac: macA }]);
    const address = await fixture.addressOf("web");
    const { metadata } = await fixture.configIs("web", "there", () => true);
    await first.stop();
    await fixture.remove(kinds.virtualMachines, "web");
    await fixture.goes(kinds.virtualMachines, "web");
    const uid = await fixture.vm("web", [{ network: "blue", mac: macA }]);
    fixture.lead();
    const after = await fixture.configIs(
      "web",
      "the new VM's",
      (each) =>
        each.metadata.ownerReferences?.[0]?.uid === uid &&
        each.metadata.deletionTimestamp === undefined &&
        isTrue(each, "Allocated"),
    );
    expect(after.status!.networkConfigs![0]!.allocatedIPAddress).toBe(address);
    expect(metadata.uid).toBeDefined();
    await fixture.booksAre(`${address} web ${macA}`);
  });

  it("with keep-addresses: a VM of the same name gets them back, whatever its MAC", async () => {
    const leader = fixture.lead();
    await fixture.vm("web", [{ network: "blue", mac: macA }], { [marks.keepAddressesAnnotation]: "1h" });
    const address = await fixture.addressOf("web");
    await fixture.remove(kinds.virtualMachines, "web");
    await fixture.goes(kinds.networkConfigs, "web");
    await leader.quiet(500);
    await fixture.booksAre(`${address} web ${macA}`);
    await fixture.vm("web", [{ network: "blue", mac: macB }]);
    expect(await fixture.addressOf("web")).toBe(address);
    await fixture.booksAre(`${address} web ${macB}`);
  });

  it("with keep-addresses for an hour: after it, they are released", async () => {
    const leader = fixture.lead();
    await fixture.vm("web", [{ network: "blue", mac: macA }], { [marks.keepAddressesAnnotation]: "1h" });
    const address = await fixture.addressOf("web");
    await fixture.remove(kinds.virtualMachines, "web");
    await fixture.goes(kinds.networkConfigs, "web");
    await leader.quiet(500);
    await fixture.booksAre(`${address} web ${macA}`);
    fixture.advance(3_700_000);
    await fixture.booksAre();
  });
});

describe("NICs that change", () => {
  beforeEach(async () => {
    await fixture.network("red");
    await fixture.pool("red", { cidr: "10.8.0.0/24", start: "10.8.0.10", end: "10.8.0.19" });
    fixture.lead();
  });

  it("plugged and unplugged: only that NIC's address comes and goes", async () => {
    await fixture.vm("web", [{ network: "blue", mac: macA }]);
    const first = await fixture.addressOf("web");
    await fixture.setNics("web", [
      { network: "blue", mac: macA },
      { network: "red", mac: macB },
    ]);
    const config = await fixture.configIs(
      "web",
      "with two",
      (each) => isTrue(each, "Allocated") && each.status!.networkConfigs!.length === 2,
    );
    const second = config.status!.networkConfigs![1]!.allocatedIPAddress!;
    await fixture.booksAre(`${first} web ${macA}`, `${second} web ${macB}`);
    await fixture.setNics("web", [
      { network: "blue", mac: macA },
      { network: "red", mac: macB, state: "absent" },
    ]);
    await fixture.booksAre(`${first} web ${macA}`);
    await expect.poll(() => fixture.shown("web")).toEqual([`${macA} ${first} Allocated`]);
  });

  it("the last managed NIC goes: its address is released, the config says that nothing is asked for", async () => {
    await fixture.vm("web", [{ network: "blue", mac: macA }]);
    await fixture.addressOf("web");
    await fixture.setNics("web", []);
    await fixture.booksAre();
    const config = await fixture.configIs("web", "empty", ({ status }) => status?.networkConfigs?.length === 0);
    expect(isTrue(config, "Allocated")).toBe(false);
    expect(messageOf(config, "Allocated")).toBe("no network configs found for vmnetcfg shop/web");
  });

  it("another MAC: the address moves to it", async () => {
    await fixture.vm("web", [
      { network: "blue", mac: macA },
      { network: "red", mac: macB },
    ]);
    const address = await fixture.addressOf("web");
    const other = await fixture.addressOf("web", 1);
    await fixture.setNics("web", [
      { network: "blue", mac: macC },
      { network: "red", mac: macB },
    ]);
    await fixture.booksAre(`${address} web ${macC}`, `${other} web ${macB}`);
    await fixture.configIs("web", "shown", ({ status }) => status?.networkConfigs?.[0]?.macAddress === macC);
    expect(await fixture.shown("web")).toEqual([`${macC} ${address} Allocated`, `${macB} ${other} Allocated`]);
  });

  it("another network with the same MAC: released there, given here", async () => {
    await fixture.vm("web", [{ network: "blue", mac: macA }]);
    await fixture.addressOf("web");
    await fixture.setNics("web", [{ network: "red", mac: macA }]);
    await fixture.configIs(
      "web",
      "in red",
      ({ status }) => status?.networkConfigs?.[0]?.allocatedIPAddress?.startsWith("10.8.") === true,
    );
    const [line, ...more] = await fixture.books();
    expect(line).toMatch(/^10\.8\.0\.1\d web 02:00:00:00:00:0a$/);
    expect(more).toEqual([]);
  });

  it("two NICs on one network have one address each, written before Allocated says so", async () => {
    await fixture.vm("web", [
      { network: "blue", mac: macA },
      { network: "blue", mac: macB },
    ]);
    const config = await fixture.configIs("web", "allocated", (each) => isTrue(each, "Allocated"));
    const addresses = config.status!.networkConfigs!.map(({ allocatedIPAddress }) => allocatedIPAddress);
    expect(new Set(addresses).size).toBe(2);
    expect(addresses).not.toContain(undefined);
  });
});

describe("network configs by hand", () => {
  it("is served without a VM, and merged when the VM comes: the address that was asked for stays", async () => {
    fixture.lead();
    await fixture.config("web", [{ network: blue, mac: macA.toUpperCase(), ip: "10.7.0.15" }]);
    expect(await fixture.addressOf("web")).toBe("10.7.0.15");
    const uid = await fixture.vm("web", [
      { network: "blue", mac: macA },
      { network: "blue", mac: macB },
    ]);
    const config = await fixture.configIs("web", "merged", ({ status }) => status?.networkConfigs?.length === 2);
    expect(config.spec.networkConfigs![0]).toEqual({
      networkName: blue,
      macAddress: macA.toUpperCase(),
      ipAddress: "10.7.0.15",
    });
    expect(config.metadata.ownerReferences).toMatchObject([{ uid }]);
    await fixture.edit(kinds.virtualMachines, "web", { metadata: { labels: { touched: "yes" } } });
    expect(await fixture.addressOf("web")).toBe("10.7.0.15");
    expect((await fixture.books()).length).toBe(2);
  });

  it("deleted by hand: not made again while the VM's NICs are the same, and made again when they change", async () => {
    const leader = fixture.lead();
    await fixture.vm("web", [{ network: "blue", mac: macA }]);
    const address = await fixture.addressOf("web");
    await fixture.remove(kinds.networkConfigs, "web");
    await fixture.goes(kinds.networkConfigs, "web");
    await leader.quiet(500);
    await fixture.booksAre();
    expect((await fixture.holds({ isCooling: true })).map(({ hold }) => String(hold.address))).toEqual([address]);
    await fixture.edit(kinds.virtualMachines, "web", { metadata: { labels: { touched: "yes" } } });
    await leader.quiet(500);
    expect(await fixture.find(kinds.networkConfigs, "web")).toBeUndefined();
    await fixture.setNics("web", [
      { network: "blue", mac: macA },
      { network: "blue", mac: macB },
    ]);
    expect(await fixture.addressOf("web")).toBe(address);
    expect(red).not.toBe(blue);
  });

  it("paused: released with its rest, shown as disabled; resumed: the same address", async () => {
    fixture.lead();
    await fixture.config("web", [{ network: blue, mac: macA }]);
    const address = await fixture.addressOf("web");
    await fixture.edit(kinds.networkConfigs, "web", { spec: { paused: true } });
    const paused = await fixture.configIs("web", "disabled", (each) => isTrue(each, "Disabled"));
    expect(await fixture.shown("web")).toEqual([`${macA} ${address} Pending`]);
    expect(messageOf(paused, "Allocated")).toBe("vmnetcfg shop/web was administratively disabled");
    expect(isTrue(paused, "InSynced")).toBe(false);
    await fixture.booksAre();
    await fixture.edit(kinds.networkConfigs, "web", { spec: { paused: false } });
    expect(await fixture.addressOf("web")).toBe(address);
    await fixture.booksAre(`${address} web ${macA}`);
  });

  it("reads the former names: networkConfig, and a state that is called status", async () => {
    fixture.lead();
    await fixture.config("web", [], {
      networkConfig: [{ networkName: blue, macAddress: macA }],
      networkConfigs: undefined,
    });
    expect(await fixture.addressOf("web")).toMatch(/^10\.7\.0\.1\d$/);
  });

  it("without the finalizer, and gone while nobody leads: released after a second look", async () => {
    const first = fixture.lead();
    await fixture.config("web", [{ network: blue, mac: macA }]);
    const address = await fixture.addressOf("web");
    await first.stop();
    await fixture.edit(kinds.networkConfigs, "web", { metadata: { finalizers: null } });
    await fixture.remove(kinds.networkConfigs, "web");
    await fixture.booksAre(`${address} web ${macA}`);
    fixture.lead();
    await fixture.booksAre();
  });
});
