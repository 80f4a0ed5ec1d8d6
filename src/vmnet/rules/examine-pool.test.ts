// A pool beside the rest of the cluster: V2, V3, V14, V19 of Harvester's webhook, and what it never checked.
import { describe, expect, test } from "vitest";

import type { Owner } from "../../ipam/owner.ts";
import { parseAddress } from "../../net/address.ts";
import { parseCidr } from "../../net/prefix.ts";
import { type ClusterRange, namedRanges } from "./cluster-ranges.ts";
import {
  examineChange,
  examineNetworkRemoval,
  examinePool,
  examineRemoval,
  givingPlan,
  type HeldAddress,
  type PoolFacts,
} from "./examine-pool.ts";
import type { Issue } from "./issue.ts";
import { type Named, planned } from "./testing/pool.ts";

const words = (issues: readonly Issue[]) =>
  issues.map(({ weight, field, message }) => `${weight} ${field}: ${message}`).join("\n");
const trusted = new Set(["kube-system", "default"]);
const bridge = { config: '{"type":"bridge"}' };
const mac = "02:00:00:00:00:01";

const held = (address: string, more: Partial<HeldAddress> & { vm?: string } = {}): HeldAddress => {
  const owner: Owner = { kind: "nic", uid: "u", namespace: "tenant-a", name: more.vm ?? "vm-a", nic: mac };
  return { address: parseAddress(address), owner, pool: "tenant-a/pool-48", mac, ...more };
};

const subnet = { cidr: "10.1.0.0/24", serverIP: "10.1.0.2", pool: { start: "10.1.0.10", end: "10.1.0.99" } };

describe("its place in the cluster", () => {
  const examined = (more: Partial<PoolFacts> = {}) =>
    words(examinePool({ plan: planned(subnet), definition: bridge, others: [], clusterRanges: [], trusted, ...more }));
  const ranges = (text: string, what: string): ClusterRange[] => [{ prefix: parseCidr(text).prefix, what }];

  test("nothing is wrong", () => {
    expect(examined()).toBe("");
    expect(examined({ definition: "unknown" })).toBe("");
    expect(examined({ clusterRanges: [...ranges("10.96.0.0/12", "x"), ...ranges("fd00::/48", "x")] })).toBe("");
  });

  test("V2: its network is not there", () => {
    expect(examined({ definition: "missing" })).toContain(
      "no NetworkAttachmentDefinition tenant-a/net-48; make it first",
    );
  });

  test("V3: the cluster's own ranges; a pool that is there goes on", () => {
    const clusterRanges = ranges("10.0.0.0/12", "the cluster's service range (ServiceCIDR kubernetes)");
    expect(examined({ clusterRanges })).toBe(
      "tolerated spec.ipv4Config.cidr: 10.1.0.0/24 overlaps the cluster's service range (ServiceCIDR kubernetes), 10.0.0.0/12: VMs could not reach one of the two; write another subnet.",
    );
    expect(examined({ clusterRanges: namedRanges(["10.1.0.0/16"]) })).toContain("(--cluster-cidrs), 10.1.0.0/16");
    expect(() => namedRanges(["zz"])).toThrow("has no prefix length");
    expect(examined({ clusterRanges: ranges("10.1.0.128/25", "the pod range of node n1") })).toContain(
      "pod range of node n1",
    );
  });

  test("a network that gives addresses by itself", () => {
    expect(examined({ definition: { config: '{"type":"bridge","ipam":{"type":"dhcp"}}' } })).toMatch(
      /^error .*Remove ipam/,
    );
  });

  test.each([
    ["its own", "tenant-a", true],
    ["an administrator's", "default", true],
    ["another tenant's", "tenant-b", false],
  ])("a pool in %s namespace", (_, namespace, isAllowed) => {
    expect(examined({ plan: planned(subnet, { namespace }) }) === "").toBe(isAllowed);
  });

  const younger = { name: "pool-b", createdAt: "2026-02-01T00:00:00Z" };
  test.each([
    ["the next subnet", { cidr: "10.1.1.0/24" }, ""],
    [
      "the same subnet, another range",
      { cidr: "10.1.0.0/24", serverIP: "10.1.0.3", pool: { start: "10.1.0.100", end: "10.1.0.120" } },
      "",
    ],
    ["the same range", { ...subnet, serverIP: "10.1.0.3" }, "10.1.0.10-10.1.0.99 is ippl tenant-a/pool-48's too"],
    [
      "one address in common",
      { cidr: "10.1.0.0/24", serverIP: "10.1.0.3", pool: { start: "10.1.0.99", end: "10.1.0.120" } },
      "10.1.0.99 is ippl tenant-a/pool-48's too",
    ],
    [
      "the common one excluded",
      {
        cidr: "10.1.0.0/24",
        serverIP: "10.1.0.3",
        pool: { start: "10.1.0.99", end: "10.1.0.120", exclude: ["10.1.0.99"] },
      },
      "",
    ],
    [
      "a part of the subnet",
      { cidr: "10.1.0.0/25", serverIP: "10.1.0.3", pool: { start: "10.1.0.100", end: "10.1.0.120" } },
      "10.1.0.0/25 overlaps 10.1.0.0/24",
    ],
    [
      "the same server",
      { cidr: "10.1.0.0/24", serverIP: "10.1.0.2", pool: { start: "10.1.0.100", end: "10.1.0.120" } },
      "10.1.0.2 is the server of ippl tenant-a/pool-48 too",
    ],
    [
      "a server in the other's range",
      { cidr: "10.1.0.0/24", serverIP: "10.1.0.50", pool: { start: "10.1.0.100", end: "10.1.0.120" } },
      "10.1.0.50 is an address for VMs in ippl tenant-a/pool-48",
    ],
    [
      "the other's server in its range",
      { cidr: "10.1.0.0/24", serverIP: "10.1.0.3", pool: { start: "10.1.0.1", end: "10.1.0.5" } },
      "10.1.0.2 is the server of ippl tenant-a/pool-48; exclude it",
    ],
  ])("two pools of one network: %s", (_, config, expected) => {
    const [first, second] = [planned(subnet), planned(config, younger)];
    const later = examined({ plan: second, others: [first, second] });
    if (expected === "") expect(later).toBe("");
    else expect(later).toContain(expected);
    expect(examined({ plan: first, others: [first, second] }), "the older one goes on").toBe("");
  });

  test("an older pool of a namespace that may not name the network is in nobody's way", () => {
    const strangers = planned(subnet, { namespace: "tenant-b", name: "squat", createdAt: "2025-01-01T00:00:00Z" });
    expect(examined({ others: [strangers] })).toBe("");
    expect(examined({ others: [strangers], trusted: new Set(["tenant-b"]) })).toContain("ippl tenant-b/squat");
  });

  test.each([
    [
      "its router in the other's range",
      { serverIP: "10.1.0.3", router: "10.1.0.50" },
      "router: 10.1.0.50 is an address",
    ],
    [
      "a device in the other's range",
      { serverIP: "10.1.0.3", reservations: [{ ipAddress: "10.1.0.50" }] },
      "reservations: 10.1.0.50 is an address for VMs in ippl tenant-a/pool-48",
    ],
    [
      "the other's router in its range",
      { serverIP: "10.1.0.3", pool: { start: "10.1.0.1", end: "10.1.0.1" } },
      "router of",
    ],
    [
      "the other's device in its range",
      { serverIP: "10.1.0.3", pool: { start: "10.1.0.200", end: "10.1.0.210" } },
      "pool: 10.1.0.200 is a reservation of ippl tenant-a/pool-48; exclude it",
    ],
    ["its server is the other's router", { serverIP: "10.1.0.1" }, "serverIP: 10.1.0.1 is the router of"],
    [
      "the other's server is its router",
      { serverIP: "10.1.0.3", router: "10.1.0.2" },
      "router: 10.1.0.2 is the server of",
    ],
    [
      "one address for two devices",
      { serverIP: "10.1.0.3", reservations: [{ ipAddress: "10.1.0.200", macAddress: mac }] },
      "reservations: 10.1.0.200 is a reservation of ippl tenant-a/pool-48, for nobody",
    ],
    [
      "the same router, and the same device",
      { serverIP: "10.1.0.3", router: "10.1.0.1", reservations: [{ ipAddress: "10.1.0.200" }] },
      "",
    ],
  ])("what one pool keeps, no other gives: %s", (_, config, expected) => {
    const first = planned({ ...subnet, router: "10.1.0.1", reservations: [{ ipAddress: "10.1.0.200" }] });
    const range = { start: "10.1.0.150", end: "10.1.0.160" };
    const second = planned({ cidr: "10.1.0.0/24", pool: range, ...config }, younger);
    const said = examined({ plan: second, others: [first, second] });
    if (expected === "") expect(said).toBe("");
    else expect(said).toMatch(new RegExp(`^error .*${expected}`));
  });

  const outside = { start: "fd00:48::1:0", end: "fd00:48::1:ff" };
  test.each([
    ["another subnet", { cidr: "fd00:49::/64" }, ""],
    ["apart in the same one", { cidr: "fd00:48::/64", pool: outside }, ""],
    ["the same range", { cidr: "fd00:48::/64", pool: { start: "fd00:48::20" } }, "pool: fd00:48::20"],
    ["a larger subnet around it", { cidr: "fd00:48::/56", pool: outside }, "cidr: fd00:48::/56 overlaps fd00:48::/64"],
    ["a smaller one within", { cidr: "fd00:48::/80", pool: outside }, "cidr: fd00:48::/80 overlaps"],
    [
      "its server in the other's range",
      { cidr: "fd00:48::/64", pool: outside, serverIP: "fd00:48::20" },
      "serverIP: fd00",
    ],
    ["its router in the other's range", { cidr: "fd00:48::/64", pool: outside, router: "fd00:48::20" }, "router: fd00"],
    [
      "the other's server in its range",
      { cidr: "fd00:48::/64", pool: { start: "fd00:48::2", end: "fd00:48::2" } },
      "pool: fd00:48::2 is the server of ippl tenant-a/pool-48",
    ],
    [
      "the other's router in its range",
      { cidr: "fd00:48::/64", pool: { start: "fd00:48::3", end: "fd00:48::3" } },
      "pool: fd00:48::3 is the router of ippl tenant-a/pool-48",
    ],
    [
      "the same server",
      { cidr: "fd00:48::/64", pool: outside, serverIP: "fd00:48::2" },
      "serverIP: fd00:48::2 is the server",
    ],
  ])("IPv6 of two pools of one network: %s", (_, ipv6, expected) => {
    const range = { start: "fd00:48::10", end: "fd00:48::ff" };
    const ipv6Config = { cidr: "fd00:48::/64", pool: range, serverIP: "fd00:48::2", router: "fd00:48::3" };
    const first = planned(subnet, { ipv6Config });
    const second = planned({ cidr: "10.1.1.0/24" }, { ...younger, ipv6Config: ipv6 });
    const said = examined({ plan: second, others: [first, second] });
    const given = givingPlan(second, [first, second]);
    expect(given.ipv4, "IPv4 goes on").toBe(second.ipv4);
    expect(given.ipv6 === undefined).toBe(expected !== "");
    if (expected === "") return expect(said).toBe("");
    expect(said).toMatch(new RegExp(`^tolerated spec.ipv6Config.${expected}.* Until then the pool has no IPv6\\.$`));
    expect(givingPlan(first, [first, second]), "the older one goes on").toBe(first);
  });

  test("link-local servers are one network's, whatever the subnets are", () => {
    const ipv6 = (cidr: string) => ({ ipv6Config: { cidr, serverIP: "fe80::1" } });
    const [first, second] = [
      planned(subnet, ipv6("fd00:48::/64")),
      planned({ cidr: "10.1.1.0/24" }, { ...younger, ...ipv6("fd00:49::/64") }),
    ];
    expect(examined({ plan: second, others: [first, second] })).toContain(
      "fe80::1 is the server of ippl tenant-a/pool-48 too",
    );
  });

  test("of two that came in the same second the first by name counts; a new one never does", () => {
    const [a, b] = [planned(subnet, { name: "a" }), planned(subnet, { name: "b" })];
    expect(examined({ plan: a, others: [b] })).toBe("");
    expect(examined({ plan: b, others: [a] })).toContain("ippl tenant-a/a");
    expect(examined({ plan: { ...a, createdAt: "" }, others: [b] })).toContain("ippl tenant-a/b");
  });
});

describe("a change", () => {
  const changed = (
    config: object,
    holds: readonly HeldAddress[] = [held("10.1.0.20"), held("10.1.0.90", { vm: "vm-b", mac: "02:00:00:00:00:02" })],
  ) => words(examineChange({ before: planned(subnet), after: planned({ ...subnet, ...config }), holds }));

  test("growth: a wider range, a larger subnet", () => {
    expect(changed({ pool: { start: "10.1.0.5", end: "10.1.0.200" } })).toBe("");
    expect(changed({ cidr: "10.1.0.0/23", pool: { start: "10.1.0.5", end: "10.1.1.200" } })).toBe("");
  });

  test("shrinking: as far as no VM is left outside", () => {
    expect(changed({ pool: { start: "10.1.0.20", end: "10.1.0.90" } })).toBe("");
    expect(changed({ pool: { start: "10.1.0.21", end: "10.1.0.90" } })).toContain(
      "10.1.0.20 of VM tenant-a/vm-a (02:00:00:00:00:01) would be outside 10.1.0.21-10.1.0.90; keep the range around them",
    );
  });

  test("of many it names some", () => {
    const holds = Array.from({ length: 9 }, (_, at) => held(`10.1.0.${20 + at}`));
    expect(changed({ pool: { start: "10.1.0.50", end: "10.1.0.90" } }, holds)).toContain("and 4 more");
  });

  test("V14: server and router do not become an address that a VM has", () => {
    expect(changed({ serverIP: "10.1.0.20" })).toContain("serverIP: 10.1.0.20 is already occupied: VM tenant-a/vm-a");
    expect(changed({ router: "10.1.0.90" })).toContain("router: 10.1.0.90 is already occupied: VM tenant-a/vm-b");
    expect(changed({ serverIP: "10.1.0.3", router: "10.1.0.1" })).toBe("");
  });

  test("nor does a reservation, but for the NIC that has it", () => {
    expect(changed({ reservations: [{ ipAddress: "10.1.0.20" }] })).toContain("10.1.0.20 is already occupied");
    expect(changed({ reservations: [{ ipAddress: "10.1.0.20", macAddress: "02:00:00:00:00:99" }] })).toContain(
      "already occupied",
    );
    expect(changed({ reservations: [{ ipAddress: "10.1.0.20", macAddress: mac.toUpperCase() }] })).toBe("");
  });

  test("nor does a reservation give a second address to a NIC that has one", () => {
    const reservations = [{ ipAddress: "10.1.0.30", macAddress: mac }];
    expect(changed({ reservations })).toContain(`${mac} has 10.1.0.20 already, as VM tenant-a/vm-a`);
  });

  test("the same for IPv6", () => {
    const v6 = (more: object) => ({ ipv6Config: { cidr: "fd00:48::/64", ...more } });
    const holds = [held("fd00:48::20")];
    const before = planned(subnet, v6({}));
    const said = (after: Named) => words(examineChange({ before, after: planned(subnet, after), holds }));
    expect(said(v6({ dns: ["fd00:48::53"] }))).toBe("");
    expect(said(v6({ pool: { start: "fd00:48::21" } }))).toContain("fd00:48::20 of VM tenant-a/vm-a");
    expect(said(v6({ router: "fd00:48::20" }))).toContain("fd00:48::20 is already occupied");
    expect(said({}), "IPv6 is left out").toContain("spec.ipv6Config.pool: fd00:48::20 of VM");
  });

  test("a late exclude takes nothing from who has the address", () => {
    expect(changed({ pool: { ...subnet.pool, exclude: ["10.1.0.20"] } })).toMatch(
      /^advice .*10.1.0.20 of VM tenant-a\/vm-a.*keeps it/,
    );
  });

  test("the network stays", () => {
    const after = planned(subnet, { networkName: "tenant-a/other" });
    expect(words(examineChange({ before: planned(subnet), after, holds: [] }))).toContain(
      "cannot become tenant-a/other",
    );
  });

  test("a pool that is made anew under live VMs: its server is none of theirs", () => {
    const after = planned({ cidr: "10.1.0.0/24", serverIP: "10.1.0.20" });
    const holds = [held("10.1.0.20", { pool: "tenant-a/gone" })];
    expect(words(examineChange({ after, holds }))).toContain("10.1.0.20 is already occupied");
  });
});

describe("V19: removal goes by what is in use, whatever the pool is called", () => {
  const plan = planned(subnet);
  const removed = (more: Partial<Parameters<typeof examineRemoval>[0]>) =>
    words(examineRemoval({ plan, others: [plan], holds: [], configs: [], ...more }));

  test("in use", () => {
    expect(removed({ holds: [held("10.1.0.20")] })).toContain("it's still used: 10.1.0.20 of VM tenant-a/vm-a");
    expect(removed({ holds: [held("10.1.0.20", { pool: "" })] }), "without a record, by the subnet").toContain(
      "10.1.0.20",
    );
    expect(removed({ configs: ["tenant-a/ex-2", "tenant-b/ex-3"] })).toContain(
      "it's still used by VirtualMachineNetworkConfig(s) tenant-a/ex-2, tenant-b/ex-3, which must be removed at first",
    );
  });

  test("not in use: another pool's hold, or another pool is there for who asks", () => {
    expect(removed({})).toBe("");
    expect(removed({ holds: [held("10.1.0.120", { pool: "tenant-a/other" })] })).toBe("");
    const other = planned({ cidr: "10.1.1.0/24" }, { name: "other" });
    expect(removed({ others: [plan, other], configs: ["tenant-a/ex-2"] })).toBe("");
  });

  test("a network stays while a VM has, or asks for, one of its addresses", () => {
    const facts = { pools: ["tenant-a/pool-48"], holds: [], configs: [] };
    expect(examineNetworkRemoval(facts)).toEqual([]);
    expect(words(examineNetworkRemoval({ ...facts, configs: ["b/vm"] }))).toContain(
      "VirtualMachineNetworkConfig(s) b/vm",
    );
    expect(words(examineNetworkRemoval({ ...facts, holds: [held("10.1.0.20")] }))).toContain("10.1.0.20 of VM");
  });
});
