// Pools with IPv6 under the leader, on the embedded API: each NIC has one address of each family, and both stay, rest
// and go alike.
import { setTimeout as sleep } from "node:timers/promises";

import { afterEach, beforeEach, expect, it } from "vitest";

import * as marks from "../../src/api/vmnet/marks.ts";
import * as kinds from "../../src/cluster/resources.ts";
import { embeddedServer } from "../slices/embedded-server.ts";
import { Fixture, isTrue, messageOf, type Pool, shop } from "./leader-fixture.ts";

const blue = `${shop}/blue`;
const macs = { a: "02:00:00:00:01:0a", b: "02:00:00:00:01:0b", c: "02:00:00:00:01:0c" } as const;
const ipv6Config = { cidr: "fd00:7::/64", leaseTime: 600, pool: { start: "fd00:7::10", end: "fd00:7::11" } };

let fixture: Fixture;
beforeEach(async () => {
  fixture = await Fixture.open(await embeddedServer());
  await fixture.network("blue");
});
afterEach(() => fixture.close());

const nicOf = async (name: string) => {
  const { status } = await fixture.configIs(name, "allocated", (each) => isTrue(each, "Allocated"));
  const { allocatedIPAddress, allocatedIPv6Address } = status!.networkConfigs![0]!;
  return [allocatedIPAddress, allocatedIPv6Address].join(" ");
};

it("a VM has both families through a changed MAC, deletion and another VM of its name", async () => {
  await fixture.pool("blue", { start: "10.7.0.10", end: "10.7.0.10", ipv6Config });
  const leader = fixture.lead();
  await fixture.vm("web", [{ network: "blue", mac: macs.a }], { [marks.keepAddressesAnnotation]: "1h" });
  const both = await nicOf("web");
  const v6 = both.split(" ")[1]!;
  expect(both).toMatch(/^10\.7\.0\.10 fd00:7::1[01]$/);
  await fixture.booksAre(`10.7.0.10 web ${macs.a}`, `${v6} web ${macs.a}`);
  const notes = (await fixture.holds()).map(({ hold }) => `${hold.domain} ${hold.note?.pool} ${hold.note?.mac}`);
  expect(new Set(notes)).toEqual(new Set([`vm-network:${blue} ${blue} ${macs.a}`]));
  await fixture.setNics("web", [{ network: "blue", mac: macs.b }]);
  await fixture.booksAre(`10.7.0.10 web ${macs.b}`, `${v6} web ${macs.b}`);
  await fixture.remove(kinds.virtualMachines, "web");
  await fixture.goes(kinds.networkConfigs, "web");
  await fixture.vm("web", [{ network: "blue", mac: macs.c }]);
  expect(await nicOf("web")).toBe(both);
  await fixture.booksAre(`10.7.0.10 web ${macs.c}`, `${v6} web ${macs.c}`);
  await leader.quiet();
  const used = (await leader.series("vmdhcpcontroller_ippool_used")).map(
    ({ cidr, value }) => `${String(cidr)} ${String(value)}`,
  );
  expect(used).toEqual(["10.7.0.0/24 1", "fd00:7::/64 1"]);
});

it("the pool's status has both; available is text where a number is not exact", async () => {
  await fixture.pool("blue", {
    ipv6Config: { cidr: "fd00:7::/64", router: "fd00:7::1", pool: { exclude: ["fd00:7::3"] } },
  });
  fixture.lead();
  await fixture.config("web", [{ network: blue, mac: macs.a, ipv6: "fd00:7::7" }]);
  expect(await nicOf("web")).toMatch(/ fd00:7::7$/);
  const { status } = await fixture.poolIs("blue", "used", (pool) => pool.status?.ipv6?.used === 1);
  expect(status?.ipv6).toEqual({
    allocated: { "fd00:7::1": "RESERVED", "fd00:7::3": "EXCLUDED", "fd00:7::7": macs.a },
    used: 1,
    available: `${2n ** 64n - 5n}`,
  });
});

it("a family that is full is said, and served when one is free; what was given rests for the lease time", async () => {
  await fixture.pool("blue", { ipv6Config });
  fixture.lead();
  for (const [name, mac] of Object.entries(macs)) await fixture.config(name, [{ network: blue, mac }]);
  const states = async () => {
    const all = await Promise.all(["a", "b", "c"].map((name) => fixture.find(kinds.networkConfigs, name)));
    return all.filter((each) => each !== undefined && isTrue(each, "Allocated")).length;
  };
  await expect.poll(states, { timeout: 20_000 }).toBe(2);
  const waits = await fixture.told(/VirtualMachineNetworkConfig . AddressPending/);
  expect(waits).toMatch(
    /has 10\.7\.0\.\d+, and not all that it asks for in shop\/blue: IPv6: ippl shop\/blue: fd00:7::\/64/,
  );
  const name = /Config (.) Address/.exec(waits)![1]!;
  const config = await fixture.configIs(name, "pending", (each) => messageOf(each, "Allocated") !== "");
  expect(config.status?.networkConfigs?.[0]).toMatchObject({
    state: "Pending",
    allocatedIPAddress: expect.any(String),
  });
  const other = ["a", "b", "c"].find((each) => each !== name)!;
  await fixture.remove(kinds.networkConfigs, other);
  await fixture.goes(kinds.networkConfigs, other);
  const resting = (await fixture.holds({ isCooling: true })).filter(({ cooling }) => cooling !== undefined);
  expect(resting.map(({ hold }) => hold.address.family).toSorted((a, b) => a - b)).toEqual([4, 6]);
  fixture.advance(601_000);
  expect(await nicOf(name)).toMatch(/ fd00:7::1[01]$/);
});

it("a pool that gets IPv6 later gives it to VMs that it has already", async () => {
  await fixture.pool("blue");
  fixture.lead();
  await fixture.config("web", [{ network: blue, mac: macs.a }]);
  const before = await fixture.addressOf("web");
  await fixture.edit(kinds.managedPools, "blue", { spec: { ipv6Config } });
  const isDual = ({
    status,
  }: {
    status?: { networkConfigs?: { allocatedIPv6Address?: string | undefined }[] | undefined };
  }) => status?.networkConfigs?.[0]?.allocatedIPv6Address !== undefined;
  await fixture.configIs("web", "dual", isDual);
  expect(await nicOf("web")).toMatch(new RegExp(`^${before} fd00:7::1[01]$`));
});

it("addresses that statuses recorded become holds before anything is given, of both families", async () => {
  const { metadata } = await fixture.pool("blue", { ipv6Config });
  const config = await fixture.config("web", [{ network: blue, mac: macs.a }]);
  const shown = { networkName: blue, macAddress: macs.a, state: "Allocated" };
  const recorded = { ...shown, allocatedIPAddress: "10.7.0.15", allocatedIPv6Address: "fd00:7::11" };
  await fixture.client.update(
    kinds.networkConfigs,
    { ...config, status: { networkConfigs: [recorded] } },
    { subresource: "status" },
  );
  const pool = await fixture.client.get(kinds.managedPools, { namespace: shop, name: metadata.name ?? "" });
  const allocated = { "fd00:7::10": macs.b };
  await fixture.client.update(
    kinds.managedPools,
    { ...pool, status: { ipv6: { allocated, used: 1, available: 0 } } },
    { subresource: "status" },
  );
  fixture.lead({ pace: { strayAfterMs: 60_000 } });
  expect(await nicOf("web")).toBe("10.7.0.15 fd00:7::11");
  await fixture.booksAre(`10.7.0.15 web ${macs.a}`, `fd00:7::10 blue ${macs.b}`, `fd00:7::11 web ${macs.a}`);
});

it("a pool whose IPv6 another one has loses IPv6 alone, says so, and has it when the other has gone", async () => {
  await fixture.pool("blue", { ipv6Config });
  fixture.lead();
  await fixture.poolIs("blue", "ready", (pool) => isTrue(pool, "CacheReady"));
  await sleep(1100); // creation times are whole seconds: the older one counts
  const range = { start: "10.7.0.30", end: "10.7.0.39", serverIP: "10.7.0.3" };
  await fixture.pool("green", { ...range, network: blue, ipv6Config });
  const green = await fixture.poolIs("green", "ready", (pool) => isTrue(pool, "CacheReady"));
  const said = green.status?.conditions?.find(({ type }) => type === "CacheReady");
  expect(said).toMatchObject({ status: "True", reason: "NoIPv6" });
  expect(said?.message).toMatch(
    /fd00:7::10-fd00:7::11 is ippl shop\/blue's too, .* Until then the pool has no IPv6\.$/,
  );
  expect(green.status?.ipv6).toBeUndefined();
  expect(await fixture.told(/IPPool green NoIPv6/)).toContain("ippl shop/blue's too");
  expect(isTrue(green, "Registered")).toBe(true);
  await fixture.config("web", [{ network: blue, mac: macs.a, ip: "10.7.0.33" }]);
  expect(await nicOf("web")).toMatch(/^10\.7\.0\.33 fd00:7::1[01]$/);
  const notes = (await fixture.holds()).map(({ hold }) => `IPv${hold.address.family} ${hold.note?.pool}`);
  expect(notes.toSorted()).toEqual(["IPv4 shop/green", "IPv6 shop/blue"]);
  await fixture.edit(kinds.managedPools, "blue", { spec: { ipv6Config: null } });
  // The VM keeps what it has.
  const isWhole = (pool: Pool) => pool.status?.ipv6?.available === 1 && !hasReserve(pool);
  await fixture.poolIs("green", "without a reserve", isWhole);
});

it("another pool's IPv6 server and router are given to no VM", async () => {
  const here = { start: "fd00:7::10", end: "fd00:7::10" };
  await fixture.pool("blue", {
    ipv6Config: { ...ipv6Config, pool: here, serverIP: "fd00:7::20", router: "fd00:7::21" },
  });
  await sleep(1100);
  const range = { start: "10.7.0.30", end: "10.7.0.39", serverIP: "10.7.0.3" };
  const there = { ...ipv6Config, pool: { start: "fd00:7::20", end: "fd00:7::22" } };
  await fixture.pool("green", { ...range, network: blue, ipv6Config: there });
  fixture.lead();
  await fixture.config("a", [{ network: blue, mac: macs.a }]);
  expect(await nicOf("a")).toMatch(/ fd00:7::10$/);
  await fixture.config("b", [{ network: blue, mac: macs.b, ipv6: "fd00:7::21" }]);
  const refused = await fixture.configIs("b", "refused", (each) => messageOf(each, "Allocated") !== "");
  expect(messageOf(refused, "Allocated")).toContain("fd00:7::20 is the server of ippl shop/blue; exclude it");
  const excluded = { pool: { ...there.pool, exclude: ["fd00:7::20-fd00:7::21"] } };
  await fixture.edit(kinds.managedPools, "green", { spec: { ipv6Config: excluded } });
  await fixture.config("c", [{ network: blue, mac: macs.c }]);
  expect(await nicOf("c")).toMatch(/ fd00:7::22$/);
});

const hasReserve = ({ status }: Pool): boolean =>
  status?.conditions?.some(({ reason }) => reason === "NoIPv6") === true;
