import { describe, expect, it } from "vitest";

import type { Pod } from "../../cluster/resources.ts";
import type { Owner } from "../../ipam/owner.ts";
import type { AnyObject } from "../../kube/meta.ts";
import { type Address, parseAddress } from "../../net/address.ts";
import { type Network, readNetwork } from "../plan/network.ts";
import { compare } from "./compare.ts";
import { type ForeignAllocation, liveAddresses } from "./foreign.ts";
import { readHostLocal } from "./host-local.ts";
import { readSpiderpool } from "./spiderpool.ts";
import { holdKey, planTakeover } from "./takeover.ts";

const pod = (key: string, uid: string, status: unknown, phase = "Running"): Pod => {
  const [namespace = "", name = ""] = key.split("/");
  const annotations = {
    "k8s.v1.cni.cncf.io/network-status": typeof status === "string" ? status : JSON.stringify(status),
  };
  return { metadata: { namespace, name, uid, annotations }, status: { phase } };
};

function network(key: string, ipam: object): Network {
  const [namespace = "", name = ""] = key.split("/");
  const config = JSON.stringify({ cniVersion: "1.0.0", name, type: "bridge", ipam: { type: "holdfast", ...ipam } });
  const reading = readNetwork({ metadata: { namespace, name }, spec: { config } });
  if (typeof reading !== "object") throw new Error("not ours");
  return reading;
}

const line = ({ address, owner }: { address: Address; owner: Owner }) =>
  `${address} ${owner.namespace}/${owner.name} ${owner.uid} ${owner.kind === "pod" ? owner.interface : ""}`;

const live = liveAddresses([
  pod("blue/web", "u1", [
    { name: "cbr0", interface: "eth0", ips: ["10.244.0.9"], default: true },
    { name: "blue/lan", interface: "net1", ips: ["10.1.0.5", "fd00::5"] },
  ]),
  pod("blue/short", "u2", [{ name: "lan", interface: "net1", ips: ["10.1.0.6"] }]),
  pod("blue/ended", "u3", [{ name: "blue/lan", interface: "net1", ips: ["10.1.0.7"] }], "Succeeded"),
  pod("blue/broken", "u4", "{"),
]);

it("the status of running pods says who has what; a name without a namespace is of the pod's own", () => {
  expect(live.map((each) => `${line(each)} ${each.definition}`)).toEqual([
    "10.244.0.9 blue/web u1 eth0 blue/cbr0",
    "10.1.0.5 blue/web u1 net1 blue/lan",
    "fd00::5 blue/web u1 net1 blue/lan",
    "10.1.0.6 blue/short u2 net1 blue/lan",
  ]);
});

it("host-local: one file per address, old and new form, and what is beside them", () => {
  const { allocations, notes } = readHostLocal(
    "/n",
    [
      { name: "10.1.0.5", text: "4f5c\r\nnet1" },
      { name: "fd00::5", text: "4f5c\r\nnet1" },
      { name: "10.1.0.99", text: "dead" },
      { name: "fd00__63", text: "beef\nnet2\n" },
      { name: "lock", text: "" },
      { name: "last_reserved_ip.0", text: "10.1.0.99" },
      { name: "10.1.0.300", text: "x" },
    ],
    live,
  );
  expect(allocations.map((each) => `${line(each)} ${each.owner.containerId}`)).toEqual([
    "10.1.0.5 blue/web u1 net1 4f5c",
    "fd00::5 blue/web u1 net1 4f5c",
    "10.1.0.99 /dead  eth0 dead",
    "fd00::63 /beef  net2 beef",
  ]);
  expect(notes).toEqual([
    expect.stringContaining("recorded for container dead"),
    expect.stringContaining("recorded for container beef"),
    expect.stringContaining("/n/10.1.0.300 is no record"),
  ]);
});

it("Spiderpool: endpoints know the interface, pools know the rest, reserved addresses are to be excluded", () => {
  const object = (name: string, more: object, namespace?: string): AnyObject => ({
    metadata: { name, ...(namespace && { namespace }) },
    ...more,
  });
  const { allocations, notes } = readSpiderpool({
    pools: [
      object("v4", {
        status: {
          allocatedIPs: JSON.stringify({
            "10.1.0.5": { pod: "blue/web", podUid: "u1" },
            "10.1.0.8": { interface: "net3", pod: "blue/old", podUid: "u8" },
            nonsense: { pod: "blue/x", podUid: "" },
          }),
        },
      }),
      object("empty", { status: {} }),
      object("torn", { status: { allocatedIPs: "{" } }),
    ],
    endpoints: [
      object(
        "web",
        {
          status: {
            current: { uid: "u1", node: "n", ips: [{ interface: "net1", ipv4: "10.1.0.5/24", ipv6: "fd00::5/64" }] },
          },
        },
        "blue",
      ),
      object("young", {}, "blue"),
    ],
    reserved: [object("routers", { spec: { ips: ["10.1.0.1-10.1.0.3"] } })],
  });
  expect(allocations.map(line)).toEqual([
    "10.1.0.5 blue/web u1 net1",
    "fd00::5 blue/web u1 net1",
    "10.1.0.8 blue/old u8 net3",
  ]);
  expect(notes).toEqual([
    expect.stringContaining('"nonsense"'),
    expect.stringContaining("SpiderIPPool torn"),
    expect.stringContaining('10.1.0.1-10.1.0.3 from everybody: write it into the definition\'s "exclude"'),
  ]);
});

const allocation = (address: string, name: string, uid = ""): ForeignAllocation => ({
  address: parseAddress(address),
  owner: { kind: "pod", uid, namespace: "blue", name, interface: "net1" },
  source: "a file",
});

describe("taking over", () => {
  const lan = network("blue/lan", { range: "10.1.0.0/24", network_name: "lan" });
  const wide = network("red/wide", { range: "10.0.0.0/8" });

  it("what is free is taken, the same owner's is there already, another's is refused, and so is what is nowhere", () => {
    const held = new Map<string, Owner>([
      [holdKey("kube-system", "network:lan", "10.1.0.6"), allocation("10.1.0.6", "same").owner],
      [holdKey("kube-system", "network:lan", "10.1.0.7"), allocation("10.1.0.7", "other", "u").owner],
    ]);
    const plan = planTakeover(
      [
        allocation("10.1.0.5", "web"),
        allocation("10.1.0.5", "twin"),
        allocation("10.1.0.6", "same", "u6"),
        allocation("10.1.0.7", "mine", "v"),
        allocation("192.168.0.1", "far"),
      ],
      [lan],
      "kube-system",
      held,
    );
    expect(
      plan.take.map(({ allocation: { address, owner }, pool, domain }) => `${address} ${owner.name} ${pool} ${domain}`),
    ).toEqual(["10.1.0.5 web kube-system/lan-10.1.0.0-24 network:lan"]);
    expect(plan.already).toHaveLength(1);
    expect(plan.refused).toEqual([
      expect.stringContaining("10.1.0.5 is blue/twin's"),
      expect.stringContaining("10.1.0.7 is blue/mine's"),
      expect.stringContaining("192.168.0.1 (a file) is in no range"),
    ]);
  });

  it("ranges of two domains: somebody must choose", () => {
    expect(planTakeover([allocation("10.1.0.5", "web")], [lan, wide], "kube-system", new Map()).refused).toEqual([
      expect.stringContaining("different domains: choose with --definition"),
    ]);
  });
});

describe("comparing", () => {
  it("agrees where the address is recorded for the pod, with or without its UID; differs where it is not, or is another's", () => {
    const lan = network("blue/lan", { ipRanges: [{ range: "10.1.0.0/24" }, { range: "fd00::/64" }] });
    const report = compare(
      live,
      [allocation("10.1.0.5", "web"), allocation("fd00::5", "somebody"), allocation("10.1.0.1", "else")],
      [lan],
    );
    expect(report.agreed).toBe(1);
    expect(report.differing).toEqual([
      expect.stringMatching(
        /^blue\/short \(net1\) on blue\/lan has 10\.1\.0\.6, which is not recorded for it: it would be given 10\.1\.0\.2 /,
      ),
      expect.stringMatching(
        /^blue\/web \(net1\) on blue\/lan has fd00::5, which is not recorded for it: it would be given fd00::1 /,
      ),
    ]);
  });
});
