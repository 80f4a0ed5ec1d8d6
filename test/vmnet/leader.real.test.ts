// The test plan of managed DHCP's design document on the real API server, with the real garbage collection: two private
// networks and a VM with a NIC on each; a guest cluster of three VMs. Agents and clients have tests of their own. The
// pools are written as the document has them: `pool:` with nothing below it, `start` and `end` beside it.
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import * as kinds from "../../src/cluster/resources.ts";
import { coldStartTimeoutMs } from "../lab/start.ts";
import { Fixture, isTrue, type Pool } from "./leader-fixture.ts";
import { realServer } from "./real-server.ts";

const limitMs = 120_000;
const space = "default";

describe("managed DHCP on the real API server", { timeout: limitMs }, () => {
  let fixture: Fixture;
  beforeAll(async () => {
    fixture = await Fixture.open(await realServer());
    fixture.lead();
  }, coldStartTimeoutMs);
  afterAll(() => fixture?.close());

  async function network(name: string, ipv4Config: object): Promise<void> {
    await fixture.network(name, space);
    const spec = {
      ipv4Config: { ...ipv4Config, pool: null },
      networkName: `${space}/${name}`,
    } as unknown as Pool["spec"];
    await fixture.client.create(kinds.managedPools, { metadata: { namespace: space, name }, spec });
    await fixture.poolIs(name, "registered", (pool) => isTrue(pool, "Registered") && isTrue(pool, "CacheReady"), space);
  }
  const ready = (name: string) => fixture.configIs(name, "allocated", (config) => isTrue(config, "Allocated"), space);
  const addressesOf = async (name: string) =>
    (await ready(name)).status!.networkConfigs!.map(({ allocatedIPAddress = "" }) => allocatedIPAddress);

  it("private networks: a VM with two NICs has an address of each, and both pools record it", async () => {
    const all = {
      serverIP: "172.19.150.2",
      cidr: "172.19.150.0/28",
      start: "172.19.150.5",
      end: "172.19.150.14",
      leaseTime: 600,
    };
    const cp = {
      serverIP: "172.19.100.2",
      cidr: "172.19.100.0/28",
      start: "172.19.100.10",
      end: "172.19.100.14",
      leaseTime: 300,
    };
    await network("priv-net-all", all);
    await network("priv-net-cp", cp);
    const macs = ["02:00:00:00:15:01", "02:00:00:00:15:02"];
    const nics = [
      { network: "default/priv-net-all", mac: macs[0]! },
      { network: "default/priv-net-cp", mac: macs[1]! },
    ];
    await fixture.vm("test-vm", nics, {}, space);
    const [first = "", second = ""] = await addressesOf("test-vm");
    expect(first).toMatch(/^172\.19\.150\.([5-9]|1[0-4])$/);
    expect(second).toMatch(/^172\.19\.100\.1[0-4]$/);
    const pools = [
      ["priv-net-all", first, macs[0], 10],
      ["priv-net-cp", second, macs[1], 5],
    ] as const;
    for (const [name, address, mac, size] of pools) {
      const { status } = await fixture.poolIs(name, "recording it", (pool) => pool.status?.ipv4?.used === 1, space);
      expect(status!.ipv4).toMatchObject({ allocated: { [address]: mac }, used: 1, available: size - 1 });
    }
    await fixture.remove(kinds.virtualMachines, "test-vm", "Background", space);
    await fixture.goes(kinds.networkConfigs, "test-vm", space);
    await fixture.booksAre();
    for (const [name] of pools) await fixture.poolIs(name, "empty", (pool) => pool.status?.ipv4?.used === 0, space);
    await fixture.remove(kinds.managedPools, "priv-net-cp", "Background", space);
    await fixture.goes(kinds.managedPools, "priv-net-cp", space);
  });

  it("a guest cluster: three VMs at once have three addresses of the pool, and keep them when they start anew", async () => {
    await network("provider-net", {
      serverIP: "192.168.48.2",
      cidr: "192.168.48.0/24",
      start: "192.168.48.81",
      end: "192.168.48.90",
      leaseTime: 600,
    });
    const names = ["guest-1", "guest-2", "guest-3"];
    const macOf = (index: number) => `02:00:00:00:48:0${index}`;
    await Promise.all(
      names.map((name, index) => fixture.vm(name, [{ network: "provider-net", mac: macOf(index) }], {}, space)),
    );
    const given = await Promise.all(names.map(async (name) => (await addressesOf(name))[0]!));
    expect(new Set(given).size).toBe(3);
    for (const address of given) expect(address).toMatch(/^192\.168\.48\.(8[1-9]|90)$/);
    await fixture.booksAre(...given.map((address, index) => `${address} ${names[index]} ${macOf(index)}`));
    const second = fixture.lead();
    await second.quiet();
    expect(second.writes).toEqual([]);
    expect(await Promise.all(names.map(async (name) => (await addressesOf(name))[0]!))).toEqual(given);
    // Deleted in the foreground, one after the other: the real garbage collection waits for nothing of ours.
    for (const name of names) await fixture.remove(kinds.virtualMachines, name, "Foreground", space);
    for (const name of names) await fixture.goes(kinds.virtualMachines, name, space);
    await fixture.booksAre();
  });
});
