// What went wrong with Harvester's controller, by the numbers under which it was written down (A9: found by reading; N:
// seen running; docs/complaints.md has all of them), each as a story that goes right here. Those of its agents, their
// pods and its webhook are in harvester-defects.embedded.test.ts.
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import * as marks from "../../src/api/vmnet/marks.ts";
import * as kinds from "../../src/cluster/resources.ts";
import { embeddedServer } from "../slices/embedded-server.ts";
import { Fixture, isTrue, type Leader, shop } from "./leader-fixture.ts";

const blue = `${shop}/blue`;
const mac = (number: number) => `02:00:00:00:04:${number.toString(16).padStart(2, "0")}`;

let fixture: Fixture;
let leader: Leader;
beforeEach(async () => {
  fixture = await Fixture.open(await embeddedServer());
  await fixture.network("blue");
  await fixture.pool("pool-7", { network: blue });
  leader = fixture.lead();
});
afterEach(() => fixture.close());

const ask = (name: string, number: number, ip?: string) =>
  fixture.config(name, [{ network: blue, mac: mac(number), ...(ip && { ip }) }]);
const entry = (number: number, ipAddress?: string) => ({
  networkName: blue,
  macAddress: mac(number),
  ...(ipAddress && { ipAddress }),
});
const poolStatus = async (name = "pool-7") => (await fixture.find(kinds.managedPools, name))?.status?.ipv4;

const stories: readonly (readonly [number: string, what: string, story: () => Promise<void>])[] = [
  [
    "A9-5",
    "a MAC in capitals is the same MAC, and recorded in small letters",
    async () => {
      await fixture.config("web", [{ network: blue, mac: "02:00:00:00:04:AB" }]);
      const address = await fixture.addressOf("web");
      await fixture.booksAre(`${address} web 02:00:00:00:04:ab`);
      await fixture.poolIs(
        "pool-7",
        "shown",
        ({ status }) => status?.ipv4?.allocated?.[address] === "02:00:00:00:04:ab",
      );
    },
  ],
  [
    "A9-6",
    "a pool in use is not deleted, though it is not called as its network",
    async () => {
      await ask("web", 1);
      await fixture.addressOf("web");
      await fixture.remove(kinds.managedPools, "pool-7");
      await fixture.told(/IPPool pool-7 PoolInUse/);
      await leader.quiet();
      expect(await fixture.find(kinds.managedPools, "pool-7")).toBeDefined();
    },
  ],
  [
    "A9-7",
    "a deleted pool has no series left, though it is not called as its network",
    async () => {
      await expect.poll(async () => (await leader.series("vmdhcpcontroller_ippool_used")).length).toBe(1);
      await fixture.remove(kinds.managedPools, "pool-7");
      await fixture.goes(kinds.managedPools, "pool-7");
      await expect.poll(() => leader.series("vmdhcpcontroller_ippool_used")).toEqual([]);
    },
  ],
  [
    "A9-8",
    "one managed and one unmanaged NIC: the managed one is served",
    async () => {
      await fixture.network("plain");
      await fixture.vm("web", [
        { network: "plain", mac: mac(1) },
        { network: "blue", mac: mac(2) },
        { network: "nowhere", mac: mac(3) },
      ]);
      const config = await fixture.configIs(
        "web",
        "served",
        ({ status }) => status?.networkConfigs?.[1]?.state === "Allocated",
      );
      expect(config.status!.networkConfigs!.map(({ state }) => state)).toEqual(["Unmanaged", "Allocated", "Pending"]);
      expect(config.status!.networkConfigs![2]!.message).toContain(
        "there is no NetworkAttachmentDefinition shop/nowhere",
      );
    },
  ],
  [
    "A9-9",
    "six NICs, and a VM with a name of 80 characters",
    async () => {
      const name = `web-${"x".repeat(76)}`;
      await fixture.vm(
        name,
        [1, 2, 3, 4, 5, 6].map((number) => ({ network: "blue", mac: mac(number) })),
      );
      const config = await fixture.configIs(name, "allocated", (each) => isTrue(each, "Allocated"));
      expect(config.status!.networkConfigs).toHaveLength(6);
      expect(config.metadata.labels).toBeUndefined();
      await leader.quiet();
      const count = leader.writes.length;
      await fixture.edit(kinds.virtualMachines, name, { metadata: { labels: { touched: "yes" } } });
      await leader.quiet();
      expect(leader.writes.slice(count)).toEqual([]);
    },
  ],
  [
    "A9-10",
    "many NICs and a VM that is touched: nothing is written, nothing flips",
    async () => {
      await fixture.vm(
        "web",
        [5, 3, 4, 1, 2].map((number) => ({ network: "blue", mac: mac(number) })),
      );
      await fixture.addressOf("web");
      await leader.quiet();
      const count = leader.writes.length;
      for (let time = 1; time <= 8; time++)
        await fixture.edit(kinds.virtualMachines, "web", { metadata: { labels: { time: `${time}` } } });
      await leader.quiet(500);
      expect(leader.writes.slice(count)).toEqual([]);
      expect((await fixture.shown("web"))!.map((line) => line.slice(0, 17))).toEqual([5, 3, 4, 1, 2].map(mac));
    },
  ],
  [
    "A9-11",
    "a VM that changes leaves the ipAddress that somebody wrote",
    async () => {
      await fixture.vm("web", [{ network: "blue", mac: mac(1) }]);
      await fixture.addressOf("web");
      await fixture.edit(kinds.networkConfigs, "web", { spec: { networkConfigs: [entry(1, "10.7.0.17")] } });
      await fixture.booksAre(`10.7.0.17 web ${mac(1)}`);
      await fixture.setNics("web", [
        { network: "blue", mac: mac(2) },
        { network: "blue", mac: mac(3) },
      ]);
      const config = await fixture.configIs(
        "web",
        "merged",
        ({ status }) => status?.networkConfigs?.length === 2 && isTrue({ status }, "Allocated"),
      );
      expect(config.spec.networkConfigs![0]).toEqual(entry(2, "10.7.0.17"));
      expect(await fixture.addressOf("web")).toBe("10.7.0.17");
    },
  ],
  [
    "A9-12",
    "another ipAddress for a known MAC is given; another network with the same MAC, too",
    async () => {
      await ask("web", 1);
      await fixture.addressOf("web");
      await fixture.edit(kinds.networkConfigs, "web", { spec: { networkConfigs: [entry(1, "10.7.0.18")] } });
      await fixture.booksAre(`10.7.0.18 web ${mac(1)}`);
      await fixture.network("red");
      await fixture.pool("red", { cidr: "10.8.0.0/24", start: "10.8.0.10", end: "10.8.0.10" });
      await fixture.edit(kinds.networkConfigs, "web", {
        spec: { networkConfigs: [{ networkName: `${shop}/red`, macAddress: mac(1) }] },
      });
      await fixture.booksAre(`10.8.0.10 web ${mac(1)}`);
    },
  ],
  [
    "A9-13",
    "the last managed NIC goes: its address is released",
    async () => {
      await fixture.network("plain");
      await fixture.vm("web", [{ network: "blue", mac: mac(1) }]);
      await fixture.addressOf("web");
      await fixture.setNics("web", [{ network: "plain", mac: mac(1) }]);
      await fixture.booksAre();
      await fixture.configIs("web", "unmanaged", ({ status }) => status?.networkConfigs?.[0]?.state === "Unmanaged");
    },
  ],
  [
    "A9-14",
    "one MAC in two network configs: one address for the first; the second frees nothing",
    async () => {
      await ask("first", 1);
      const address = await fixture.addressOf("first");
      await ask("second", 1);
      await fixture.configIs("second", "pending", ({ status }) => status?.networkConfigs?.[0]?.state === "Pending");
      await fixture.remove(kinds.networkConfigs, "second");
      await fixture.goes(kinds.networkConfigs, "second");
      await fixture.booksAre(`${address} first ${mac(1)}`);
    },
  ],
  [
    "A9-15",
    "a VM of the same name, made before the garbage is collected, has its config and its address",
    async () => {
      await fixture.vm("web", [{ network: "blue", mac: mac(1) }]);
      const address = await fixture.addressOf("web");
      await fixture.remove(kinds.virtualMachines, "web");
      const uid = await fixture.vm("web", [{ network: "blue", mac: mac(1) }]);
      await fixture.configIs(
        "web",
        "the new VM's",
        (each) => each.metadata.ownerReferences?.[0]?.uid === uid && isTrue(each, "Allocated"),
      );
      expect(await fixture.addressOf("web")).toBe(address);
    },
  ],
  [
    "A9-16",
    "deleted in the foreground, held by a finalizer: the address stays while the VMI is there",
    async () => {
      const uid = await fixture.vm("web", [{ network: "blue", mac: mac(1) }]);
      const address = await fixture.addressOf("web");
      await fixture.vmi("web", uid);
      await leader.quiet();
      await fixture.remove(kinds.virtualMachines, "web", "Foreground");
      await leader.quiet(500);
      await fixture.booksAre(`${address} web ${mac(1)}`);
      await fixture.endVmi("web");
      await fixture.booksAre();
    },
  ],
  [
    "A9-17",
    "a network config is deleted whatever is missing: pool paused, pool gone, definition gone",
    async () => {
      for (const name of ["a", "b", "c"]) await ask(name, name.codePointAt(0)!);
      for (const name of ["a", "b", "c"]) await fixture.addressOf(name);
      await fixture.edit(kinds.managedPools, "pool-7", { spec: { paused: true } });
      await fixture.poolIs("pool-7", "stopped", (pool) => isTrue(pool, "Stopped"));
      await fixture.remove(kinds.networkConfigs, "a");
      await fixture.goes(kinds.networkConfigs, "a");
      await fixture.remove(kinds.networkAttachmentDefinitions, "blue");
      await fixture.remove(kinds.networkConfigs, "b");
      await fixture.goes(kinds.networkConfigs, "b");
      await fixture.edit(kinds.managedPools, "pool-7", { metadata: { finalizers: null } });
      await fixture.remove(kinds.managedPools, "pool-7").catch(() => {});
      await fixture.edit(kinds.managedPools, "pool-7", { metadata: { finalizers: null } }).catch(() => {});
      await fixture.goes(kinds.managedPools, "pool-7");
      await fixture.remove(kinds.networkConfigs, "c");
      await fixture.goes(kinds.networkConfigs, "c");
      await fixture.booksAre();
    },
  ],
  [
    "A9-21",
    "an address outside the range is refused with these words, not as if the pool were full",
    async () => {
      await ask("web", 1, "10.7.0.77");
      const config = await fixture.configIs(
        "web",
        "pending",
        ({ status }) => status?.networkConfigs?.[0]?.state === "Pending",
      );
      expect(config.status!.networkConfigs![0]!.message).toMatch(/10\.7\.0\.77 is not in the range/);
    },
  ],
  [
    "A9-22",
    "the server's address among the excluded ones stops nothing",
    async () => {
      await fixture.network("red");
      await fixture.pool("red", { cidr: "10.8.0.0/24", start: "10.8.0.10", end: "10.8.0.19", exclude: ["10.8.0.2"] });
      await fixture.config("web", [{ network: `${shop}/red`, mac: mac(1) }]);
      await fixture.addressOf("web");
      await fixture.edit(kinds.managedPools, "red", { spec: { ipv4Config: { leaseTime: 300 } } });
      await fixture.poolIs("red", "counted", ({ status }) => status?.ipv4?.used === 1);
    },
  ],
  [
    "A9-23",
    "a network without a namespace is that of `default`, for the pool and for the NIC",
    async () => {
      await fixture.network("bare", "default");
      await fixture.pool(
        "bare",
        { network: "bare", cidr: "10.9.0.0/24", start: "10.9.0.10", end: "10.9.0.19" },
        "default",
      );
      await fixture.config("web", [{ network: "bare", mac: mac(1) }]);
      expect(await fixture.addressOf("web")).toMatch(/^10\.9\./);
    },
  ],
  [
    "A9-24",
    "objects of the caches are frozen: the excluded addresses are there after any number of looks",
    async () => {
      await fixture.network("red");
      await fixture.pool("red", { cidr: "10.8.0.0/24", start: "10.8.0.10", end: "10.8.0.12", exclude: ["10.8.0.11"] });
      for (const name of ["a", "b"]) {
        await fixture.config(name, [{ network: `${shop}/red`, mac: mac(name.codePointAt(0)!) }]);
        await fixture.addressOf(name);
      }
      const pool = await fixture.poolIs("red", "full", ({ status }) => status?.ipv4?.used === 2);
      expect(pool.status!.ipv4!.allocated!["10.8.0.11"]).toBe("EXCLUDED");
    },
  ],
  [
    "N-1",
    "a MAC edited by hand: the address moves with it, and nothing leaks",
    async () => {
      await ask("web", 1);
      const address = await fixture.addressOf("web");
      await fixture.edit(kinds.networkConfigs, "web", { spec: { networkConfigs: [entry(2)] } });
      await fixture.booksAre(`${address} web ${mac(2)}`);
      await fixture.poolIs("pool-7", "shown", ({ status }) => status?.ipv4?.allocated?.[address] === mac(2));
      expect((await poolStatus())!.used).toBe(1);
      expect(await fixture.holds({ isCooling: true })).toHaveLength(1);
    },
  ],
  [
    "N-2",
    "an address that is excluded while a VM has it stays that VM's, over a restart, too",
    async () => {
      await ask("web", 1, "10.7.0.15");
      await fixture.addressOf("web");
      await fixture.edit(kinds.managedPools, "pool-7", { spec: { ipv4Config: { pool: { exclude: ["10.7.0.15"] } } } });
      await leader.quiet();
      await leader.stop();
      const second = fixture.lead();
      await second.quiet();
      expect((await poolStatus())!.allocated!["10.7.0.15"]).toBe(mac(1));
      expect(await fixture.shown("web")).toEqual([`${mac(1)} 10.7.0.15 Allocated`]);
      await fixture.booksAre(`10.7.0.15 web ${mac(1)}`);
    },
  ],
  [
    "N-3",
    "a pool made anew under live network configs knows their addresses",
    async () => {
      await ask("web", 1);
      const address = await fixture.addressOf("web");
      await fixture.remove(kinds.managedPools, "pool-7");
      await fixture.edit(kinds.managedPools, "pool-7", { metadata: { finalizers: null } });
      await fixture.goes(kinds.managedPools, "pool-7");
      await fixture.pool("pool-7", { network: blue });
      await fixture.poolIs("pool-7", "knows it", ({ status }) => status?.ipv4?.allocated?.[address] === mac(1));
      await fixture.booksAre(`${address} web ${mac(1)}`);
      expect(await fixture.shown("web")).toEqual([`${mac(1)} ${address} Allocated`]);
    },
  ],
  [
    "N-4",
    "a network config that is being deleted is given nothing",
    async () => {
      await ask("first", 1, "10.7.0.15");
      await fixture.addressOf("first");
      await ask("second", 2, "10.7.0.15");
      await fixture.configIs("second", "pending", ({ status }) => status?.networkConfigs?.[0]?.state === "Pending");
      await fixture.edit(kinds.networkConfigs, "second", {
        metadata: { finalizers: [marks.networkConfigFinalizer, "test/stays"] },
      });
      await fixture.remove(kinds.networkConfigs, "second");
      await fixture.remove(kinds.networkConfigs, "first");
      await fixture.goes(kinds.networkConfigs, "first");
      fixture.advance(601_000);
      await leader.quiet(500);
      await fixture.booksAre();
      expect((await fixture.shown("second"))![0]).toContain("Pending");
      await fixture.edit(kinds.networkConfigs, "second", { metadata: { finalizers: null } });
    },
  ],
  [
    "N-5",
    "thirty network configs at once: three writes each, and few for the pool",
    async () => {
      await fixture.edit(kinds.managedPools, "pool-7", { spec: { ipv4Config: { pool: { end: "10.7.0.99" } } } });
      await leader.quiet();
      const count = leader.writes.length;
      await Promise.all(Array.from({ length: 30 }, (_, index) => ask(`vm${index}`, index)));
      for (let index = 0; index < 30; index++) await fixture.addressOf(`vm${index}`);
      await leader.quiet();
      const made = leader.writes.slice(count);
      expect(made.filter((line) => line.includes("/virtualmachinenetworkconfigs"))).toHaveLength(60);
      expect(made.filter((line) => line.includes("/holds")).length).toBeLessThan(40); // 30, and some that met another's
    },
  ],
  [
    "N-6",
    "a restart flips nothing",
    async () => {
      await fixture.vm("web", [{ network: "blue", mac: mac(1) }]);
      await fixture.addressOf("web");
      await leader.quiet();
      await leader.stop();
      const second = fixture.lead();
      await second.quiet(500);
      expect(second.writes).toEqual([]);
    },
  ],
  [
    "N-7",
    "one bad MAC stops no other NIC and no other VM",
    async () => {
      await fixture.config("web", [
        { network: blue, mac: "zz:bad" },
        { network: blue, mac: mac(1) },
      ]);
      const config = await fixture.configIs(
        "web",
        "half",
        ({ status }) => status?.networkConfigs?.[1]?.state === "Allocated",
      );
      expect(config.status!.networkConfigs![0]).toMatchObject({ macAddress: "zz:bad", state: "Pending" });
      expect(config.status!.networkConfigs![0]!.message).toContain("is not a MAC address");
      expect(isTrue(config, "Allocated")).toBe(false);
      expect(Object.values((await poolStatus())?.allocated ?? {})).not.toContain("zz:bad");
    },
  ],
  [
    "5452",
    "a VM with a static address does not take a second one",
    async () => {
      await ask("web", 1, "10.7.0.15");
      await fixture.vm("web", [{ network: "blue", mac: mac(1) }]);
      await fixture.configIs("web", "merged", ({ metadata }) => metadata.ownerReferences !== undefined);
      await leader.quiet();
      await fixture.booksAre(`10.7.0.15 web ${mac(1)}`);
    },
  ],
];

describe("defects of Harvester's controller", () => {
  it.each(stories)("%s: %s", async (_number, _what, story) => story());
});
