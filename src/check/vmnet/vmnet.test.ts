// What an operator is shown of networks with managed DHCP: the table of leases, who has what, and what does not fit.
import { describe, expect, it } from "vitest";

import type { StoredManagedPool } from "../../cluster/resources.ts";
import { parseAddress } from "../../net/address.ts";
import { agentOfAnnotation } from "../../vmnet/agents/names.ts";
import type { AgentDeployment, AgentPod } from "../../vmnet/agents/objects.ts";
import { readNetworkConfig } from "../../vmnet/rules/read-network-config.ts";
import { readPool } from "../../vmnet/rules/read-pool.ts";
import { examineVmNetworks } from "./examine.ts";
import type { VmHold, VmNetworksCheck, VmPool } from "./snapshot.ts";
import { leaseLines, leaseRows } from "./table.ts";
import { whoReserves } from "./who.ts";

const nowMs = Date.parse("2026-11-18T04:00:00Z");
const mac = (last: number) => `02:00:00:00:00:0${last}`;

function poolOf(name: string, ipv4Config: object, more: object = {}): VmPool {
  const object = {
    metadata: { namespace: "shop", name, creationTimestamp: `2026-11-0${name.length}T00:00:00Z` },
    spec: { networkName: "shop/net", ipv4Config, ...more },
  } as StoredManagedPool;
  return { object, key: `shop/${name}`, reading: readPool(object) };
}

const blue = poolOf("blue", {
  cidr: "10.0.0.0/24",
  serverIP: "10.0.0.2",
  router: "10.0.0.1",
  pool: { start: "10.0.0.10", end: "10.0.0.99", exclude: ["10.0.0.50-10.0.0.59"] },
  reservations: [
    { ipAddress: "10.0.0.20", macAddress: mac(9), description: "the printer" },
    { ipAddress: "10.0.0.21", description: "VIP of the shop" },
  ],
});

function holdOf(
  address: string,
  more: Partial<Pick<VmHold, "cooling" | "quarantine">> & { vm?: string; nic?: string; pool?: string } = {},
): VmHold {
  const { vm = "web", nic = mac(1), pool = "shop/blue", ...rest } = more;
  return {
    hold: {
      domain: "vm-network:shop/net",
      address: parseAddress(address),
      owner: { kind: "nic", uid: `uid-${vm}`, namespace: "shop", name: vm, nic },
      version: "1",
      note: { pool, mac: nic },
    },
    network: "shop/net",
    object: `Hold kube-system/${address}`,
    quarantine: "",
    ...rest,
  };
}

function configOf(vm: string, ...nics: readonly string[]) {
  const networkConfigs = nics.map((macAddress) => ({ networkName: "shop/net", macAddress }));
  return readNetworkConfig({
    metadata: { namespace: "shop", name: vm, uid: `uid-${vm}` },
    spec: { vmName: vm, networkConfigs },
  });
}

const annotations = { [agentOfAnnotation]: "shop/blue" };
const deployment = {
  metadata: { name: "shop-blue-agent", annotations },
  spec: { replicas: 1 },
} as unknown as AgentDeployment;
const agent: AgentPod = {
  metadata: {
    name: "shop-blue-agent-1",
    namespace: "kube-system",
    annotations,
    ownerReferences: [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: "rs", uid: "1", controller: true }],
  },
  status: { conditions: [{ type: "Ready", status: "True" }] },
};

function snapshot(more: Partial<VmNetworksCheck> = {}): VmNetworksCheck {
  return {
    systemNamespace: "kube-system",
    nowMs,
    pools: [blue],
    configs: [configOf("web", mac(1))],
    holds: [holdOf("10.0.0.10")],
    unreadable: [],
    definitions: new Map([["shop/net", '{"type":"bridge"}']]),
    deployments: [deployment],
    pods: [agent],
    ...more,
  };
}

describe("the table of leases", () => {
  it("has what is held, rests, is quarantined, reserved or excluded, by address", () => {
    const cooling = { untilMs: nowMs + 3_600_000, lastOwner: "" as never };
    const holds = [
      holdOf("10.0.0.12", { vm: "db", nic: mac(2), quarantine: "2026-11-18T05:00:00.000Z decline" }),
      holdOf("10.0.0.13", { vm: "old", nic: mac(3), quarantine: "2026-11-18T03:00:00.000Z probe" }),
      holdOf("10.0.0.11", { vm: "gone", nic: mac(4), cooling }),
      holdOf("10.0.0.10"),
    ];
    expect(leaseLines(leaseRows(snapshot({ holds })))).toEqual([
      "ADDRESS              MAC                VM         NETWORK   POOL       STATE",
      "10.0.0.1             -                  -          shop/net  shop/blue  reserved (router)",
      "10.0.0.2             -                  -          shop/net  shop/blue  reserved (server)",
      "10.0.0.10            02:00:00:00:00:01  shop/web   shop/net  shop/blue  bound",
      "10.0.0.11            02:00:00:00:00:04  shop/gone  shop/net  shop/blue  resting until 2026-11-18T05:00:00.000Z",
      "10.0.0.12            02:00:00:00:00:02  shop/db    shop/net  shop/blue  quarantined until 2026-11-18T05:00:00.000Z (its client found it in use)",
      "10.0.0.13            02:00:00:00:00:03  shop/old   shop/net  shop/blue  bound",
      "10.0.0.20            02:00:00:00:00:09  -          shop/net  shop/blue  reserved (the printer)",
      "10.0.0.21            -                  -          shop/net  shop/blue  reserved (VIP of the shop)",
      "10.0.0.50-10.0.0.59  -                  -          shop/net  shop/blue  excluded",
    ]);
  });

  it("of one pool has no other's", () => {
    const red = poolOf("red", { cidr: "10.1.0.0/24", serverIP: "10.1.0.2" });
    const holds = [holdOf("10.0.0.10"), holdOf("10.1.0.10", { pool: "shop/red" })];
    const of = (pool?: string) =>
      leaseRows(snapshot({ pools: [blue, red], holds }), pool).map(({ address }) => address);
    expect(of("shop/red")).toEqual(["10.1.0.2", "10.1.0.10"]);
    expect(of("red")).toEqual(of("shop/red"));
    expect(of()).toContain("10.0.0.10");
    expect(of("shop/none")).toEqual([]);
  });

  it("leaves out what a pool says that cannot be read", () => {
    expect(leaseRows(snapshot({ pools: [poolOf("odd", { cidr: "nonsense" })], holds: [] }))).toEqual([]);
  });
});

describe("who", () => {
  it.each([
    [{ address: parseAddress("10.0.0.2") }, "nobody, it is reserved (server)"],
    [{ address: parseAddress("10.0.0.20") }, "02:00:00:00:00:09, for which it is reserved"],
    [{ mac: mac(9) }, "02:00:00:00:00:09, for which it is reserved"],
  ])("%o", (asked, owner) => {
    expect(whoReserves(snapshot(), asked)).toMatchObject([{ owner, object: "ippl shop/blue" }]);
  });

  it("says nothing of what a hold says", () => {
    expect(whoReserves(snapshot(), { address: parseAddress("10.0.0.10") })).toEqual([]);
  });
});

describe("check", () => {
  const said = (more: Partial<VmNetworksCheck> = {}) =>
    examineVmNetworks(snapshot(more)).map(({ severity, code, objects }) => `${severity} ${code} ${objects[0]}`);

  it("finds nothing where all fits, and nothing where there is no managed DHCP", () => {
    expect(said()).toEqual([]);
    expect(said({ pools: [], configs: [], holds: [], definitions: undefined, deployments: [], pods: [] })).toEqual([]);
  });

  const odd = poolOf("odd", { cidr: "nonsense" });
  const twin = poolOf("twin", {
    cidr: "10.0.0.0/24",
    serverIP: "10.0.0.3",
    pool: { start: "10.0.0.90", end: "10.0.0.120" },
  });
  const paused = poolOf("blue", { cidr: "10.0.0.0/24" }, { paused: true });
  const unready: AgentPod = { ...agent, status: { conditions: [{ type: "Ready", status: "False" }] } };
  const second = { ...deployment, metadata: { annotations: { [agentOfAnnotation]: "shop/twin" } } } as AgentDeployment;
  const its = (pod: AgentPod, pool: string) => ({
    ...pod,
    metadata: { ...pod.metadata, annotations: { [agentOfAnnotation]: pool } },
  });
  const kept = { ...holdOf("10.0.0.30", { vm: "later" }) };
  const dual = poolOf("blue", blue.object.spec.ipv4Config, { ipv6Config: { cidr: "fd00::/64" } });
  const ready = { type: "AgentReady", status: "True" as const, reason: "InProcess" };
  const local = { ...blue, object: { ...blue.object, status: { conditions: [ready] } } } as VmPool;
  const beside = poolOf("twin", { cidr: "10.0.1.0/24" }, { ipv6Config: { cidr: "fd00::/64" } });
  const dual6 = poolOf("whole", { cidr: "10.0.2.0/24" }, { ipv6Config: { cidr: "fd00::/56" } });
  const third = { ...deployment, metadata: { annotations: { [agentOfAnnotation]: "shop/whole" } } } as AgentDeployment;
  const cooling = { untilMs: nowMs, lastOwner: "" as never };

  it.each<[string, Partial<VmNetworksCheck>, readonly string[]]>([
    ["a pool without agents", { deployments: [], pods: [] }, ["error vm-pool-agents ippl shop/blue"]],
    ["a pool of `holdfast up`, which answers", { pools: [local], deployments: [], pods: [] }, []],
    ["a pool whose agents are not ready", { pods: [unready] }, ["error vm-pool-agents ippl shop/blue"]],
    [
      "fewer agents than there should be",
      { deployments: [{ ...deployment, spec: { ...deployment.spec, replicas: 2 } }] },
      ["warning vm-pool-agents ippl shop/blue"],
    ],
    ["a paused pool needs none", { pools: [paused], deployments: [], pods: [] }, []],
    ["a pool that cannot be read", { pools: [blue, odd] }, ["error vm-pool-faulty ippl shop/odd"]],
    [
      "two that overlap",
      { pools: [blue, twin], deployments: [deployment, second], pods: [agent, its(agent, "shop/twin")] },
      ["error vm-pools-overlap ippl shop/twin"],
    ],
    [
      "two whose IPv6 overlaps: IPv4 is served, and a NIC misses nothing",
      {
        pools: [blue, beside, dual6].toSorted((a, b) => (a.key < b.key ? -1 : 1)),
        deployments: [deployment, second, third],
        pods: [agent, its(agent, "shop/twin"), its(agent, "shop/whole")],
        holds: [holdOf("10.0.0.10"), holdOf("fd00::10")],
      },
      ["warning vm-pools-overlap ippl shop/whole"],
    ],
    ["a network that is gone", { definitions: new Map() }, ["error vm-network-missing ippl shop/blue"]],
    [
      "a network with an ipam of its own",
      { definitions: new Map([["shop/net", '{"type":"bridge","ipam":{"type":"host-local"}}']]) },
      ["error vm-network-gives-addresses ippl shop/blue"],
    ],
    ["a config without a hold", { holds: [] }, ["warning vm-config-without-hold vmnetcfg shop/web"]],
    [
      "a config without a hold of IPv6, which the pool has",
      { pools: [dual] },
      ["warning vm-config-without-hold vmnetcfg shop/web"],
    ],
    ["a config with holds of both families", { pools: [dual], holds: [holdOf("10.0.0.10"), holdOf("fd00::10")] }, []],
    [
      "a NIC that cannot be read",
      { configs: [configOf("web", mac(1), "zz")] },
      ["error vm-config-faulty vmnetcfg shop/web"],
    ],
    ["a hold without a config", { configs: [] }, ["warning vm-hold-without-config Hold kube-system/10.0.0.10"]],
    [
      "a hold whose config has no such NIC",
      { configs: [configOf("web", mac(1))], holds: [holdOf("10.0.0.10"), holdOf("10.0.0.11", { nic: mac(5) })] },
      ["warning vm-hold-without-config Hold kube-system/10.0.0.11"],
    ],
    [
      "a hold without a pool",
      { holds: [holdOf("10.0.0.10", { pool: "shop/gone" })] },
      ["warning vm-hold-without-pool Hold kube-system/10.0.0.10"],
    ],
    [
      "a hold that is kept for a VM to come",
      {
        holds: [
          holdOf("10.0.0.10"),
          { ...kept, hold: { ...kept.hold, note: { pool: "shop/blue", keeper: "vm/later" } } },
        ],
      },
      [],
    ],
    ["a hold that rests", { holds: [holdOf("10.0.0.10"), holdOf("10.0.0.31", { vm: "gone", cooling })] }, []],
    [
      "two addresses of one NIC",
      { holds: [holdOf("10.0.0.10"), holdOf("10.0.0.11")] },
      ["warning two-addresses Hold kube-system/10.0.0.10"],
    ],
    [
      "an unreadable hold",
      { unreadable: [{ object: "Hold kube-system/x", why: "It says nothing." }] },
      ["error unreadable Hold kube-system/x"],
    ],
  ])("%s", (_, more, expected) => {
    expect(said(more)).toEqual(expected);
    for (const { message, remedy } of examineVmNetworks(snapshot(more))) {
      expect(message).not.toBe("");
      expect(remedy).not.toBe("");
    }
  });
});
