// A NIC's request beside the rest of the cluster.
import { describe, expect, test } from "vitest";

import type { Owner } from "../../ipam/owner.ts";
import { parseAddress } from "../../net/address.ts";
import { parseMac } from "../../net/mac.ts";
import { examineNic, type NicFacts, type RivalNic } from "./examine-nic.ts";
import type { HeldAddress } from "./examine-pool.ts";
import { configOf, planned } from "./testing/pool.ts";

const mac = "02:00:00:00:00:01";
const subnet = {
  cidr: "10.1.0.0/24",
  serverIP: "10.1.0.2",
  pool: { start: "10.1.0.10", end: "10.1.0.99", exclude: ["10.1.0.50"] },
  reservations: [{ ipAddress: "10.1.0.61" }, { ipAddress: "10.1.0.62", macAddress: "02:00:00:00:00:62" }],
};
const reserved = { ...subnet, reservations: [{ ipAddress: "10.1.0.60", macAddress: mac }] };

const dual = planned(subnet, { ipv6Config: { cidr: "fd00:1::/64", pool: { start: "fd00:1::10", end: "fd00:1::99" } } });

interface Story {
  readonly ipAddress?: string;
  readonly ipv6Address?: string;
  readonly networkName?: string;
  readonly namespace?: string;
  readonly facts?: Partial<NicFacts>;
}

function examined({ networkName = "tenant-a/net-48", namespace = "tenant-a", facts = {}, ...asked }: Story): string {
  const config = configOf([{ networkName, macAddress: mac, ...asked }], { namespace });
  const issues = examineNic({
    config,
    nic: config.nics[0]!.plan!,
    field: "nic",
    definition: { config: "{}" },
    pools: [planned(subnet)],
    rivals: [],
    holders: [],
    trusted: new Set(["kube-system", "default"]),
    ...facts,
  });
  return issues.map(({ weight, field, message }) => `${weight} ${field}: ${message}`).join("\n");
}

const rival = (more: Partial<RivalNic> = {}): RivalNic => ({
  config: "tenant-a/vm-z",
  createdAt: "2025-12-01T00:00:00Z",
  mac: parseMac("02:00:00:00:00:99"),
  ...more,
});

const holder = (owner: Partial<Owner & { nic: string }>): HeldAddress => ({
  address: parseAddress("10.1.0.20"),
  owner: { kind: "nic", uid: "u", namespace: "tenant-a", name: "vm-a", nic: mac, ...owner } as Owner,
  pool: "tenant-a/pool-48",
  mac,
});

describe("its network", () => {
  test.each([
    ["its own namespace's", "tenant-a/net-48", ""],
    ["one that administrators share", "default/net-48", ""],
    ["the system's", "kube-system/net-48", ""],
    ["another tenant's", "tenant-b/net-48", "error nic.networkName: tenant-b/net-48 is a network of another namespace"],
  ])("%s", (_, networkName, said) => {
    if (said === "") expect(examined({ networkName })).toBe("");
    else expect(examined({ networkName })).toContain(said);
  });

  test("is not there, or has no pool", () => {
    expect(examined({ facts: { definition: "missing" } })).toMatch(/^error nic.networkName: there is no NetworkAttach/);
    expect(examined({ facts: { pools: [] } })).toMatch(/^advice nic.networkName: no ippl is on tenant-a\/net-48/);
  });
});

describe("its address", () => {
  test.each([
    ["free", "10.1.0.20", ""],
    ["reserved for another MAC", "10.1.0.62", "10.1.0.62 is reserved for 02:00:00:00:00:62 in ippl tenant-a/pool-48"],
    ["a VIP", "10.1.0.61", "10.1.0.61 is reserved in ippl tenant-a/pool-48"],
    ["the server's", "10.1.0.2", "10.1.0.2 is the server address of ippl tenant-a/pool-48"],
    ["excluded", "10.1.0.50", "10.1.0.50 is excluded in ippl tenant-a/pool-48"],
    ["outside the range", "10.1.0.100", "10.1.0.100 is not in the range 10.1.0.10-10.1.0.99 of ippl tenant-a/pool-48"],
    ["outside the subnet", "10.2.0.9", "10.2.0.9 is not in a subnet of its network, 10.1.0.0/24"],
  ])("%s", (_, ipAddress, said) => {
    if (said === "") expect(examined({ ipAddress })).toBe("");
    else expect(examined({ ipAddress })).toContain(said);
  });

  test("of IPv6: in the range, outside, and of a pool that has none", () => {
    const facts = { pools: [dual] };
    expect(examined({ ipv6Address: "fd00:1::10", facts })).toBe("");
    const outside = examined({ ipAddress: "10.1.0.20", ipv6Address: "fd00:1::100", facts });
    expect(outside).toContain("error nic.ipv6Address: fd00:1::100 is not in the range fd00:1::10-fd00:1::99 of ippl");
    expect(examined({ ipv6Address: "fd00:1::10" })).toContain("which has no IPv6");
  });

  test("of IPv6 that another has, or asked for before", () => {
    const asked = { ipAddress: "10.1.0.20", ipv6Address: "fd00:1::10" };
    const address = parseAddress("fd00:1::10");
    const held = { ...holder({ uid: "v", name: "vm-b" }), address };
    expect(examined({ ...asked, facts: { pools: [dual], holders: [held] } })).toContain(
      "error nic.ipv6Address: fd00:1::10 is already allocated",
    );
    const rivals = [rival({ wantedIpv6: address })];
    expect(examined({ ...asked, facts: { pools: [dual], rivals } })).toContain(
      "error nic.ipv6Address: fd00:1::10 is asked for by vmnetcfg tenant-a/vm-z already",
    );
  });

  test("the one that the pool keeps for this MAC, and no other", () => {
    const facts = { pools: [planned(reserved)] };
    expect(examined({ ipAddress: "10.1.0.60", facts })).toBe("");
    expect(examined({ ipAddress: "10.1.0.20", facts })).toContain(`${mac} has the reservation 10.1.0.60 in ippl`);
  });

  test("of a second pool", () => {
    const pools = [planned(subnet), planned({ cidr: "10.2.0.0/24" }, { name: "b" })];
    expect(examined({ ipAddress: "10.2.0.9", facts: { pools } })).toBe("");
  });

  test.each([
    ["its own", {}, true],
    ["of the object before it, by the same name", { uid: "other" }, true],
    ["another VM's", { uid: "other", name: "vm-b" }, false],
    ["another NIC's of this VM", { nic: "02:00:00:00:00:77" }, false],
  ])("held already: %s", (_, owner, isAllowed) => {
    const said = examined({ ipAddress: "10.1.0.20", facts: { holders: [holder(owner)] } });
    if (isAllowed) expect(said).toBe("");
    else expect(said).toMatch(/10.1.0.20 is already allocated: VM tenant-a\/vm-/);
  });

  test("of another namespace's VM it tells no name", () => {
    const owner = { uid: "other", namespace: "tenant-b", name: "secret" };
    const said = examined({ ipAddress: "10.1.0.20", facts: { holders: [holder(owner)] } });
    expect(said).toContain("10.1.0.20 is already allocated: a VM of another namespace has it");
    const rivals = [rival({ config: "tenant-b/secret", mac: parseMac(mac) })];
    expect(examined({ facts: { rivals } })).toContain("is a NIC of a vmnetcfg of another namespace");
  });

  test("asked for by an older network config; a younger one waits", () => {
    const wanted = parseAddress("10.1.0.20");
    const older = examined({ ipAddress: "10.1.0.20", facts: { rivals: [rival({ wanted })] } });
    expect(older).toContain("10.1.0.20 is asked for by vmnetcfg tenant-a/vm-z already");
    const rivals = [rival({ wanted, createdAt: "2026-09-01T00:00:00Z" })];
    expect(examined({ ipAddress: "10.1.0.20", facts: { rivals } })).toBe("");
  });
});

describe("its MAC", () => {
  test("is an older network config's", () => {
    const rivals = [rival({ mac: parseMac(mac) })];
    expect(examined({ facts: { rivals } })).toContain(
      "02:00:00:00:00:01 is a NIC of vmnetcfg tenant-a/vm-z on tenant-a/net-48 already",
    );
  });

  test("is nobody's, a younger one's, or its own", () => {
    const younger = rival({ mac: parseMac(mac), createdAt: "2026-09-01T00:00:00Z" });
    const own = rival({ mac: parseMac(mac), config: "tenant-a/vm-a" });
    expect(examined({ facts: { rivals: [rival(), younger, own] } })).toBe("");
  });
});
