// Networks of OVN that our own plugin attaches pods to: each key of OVN-Kubernetes' definitions, and what is refused.
import { describe, expect, it } from "vitest";

import { CniError } from "../error.ts";
import { readDefinitions } from "./definitions.ts";
import { parseIpamConfig } from "./ipam-config.ts";
import { parseNetwork } from "./network.ts";

type Json = Readonly<Record<string, unknown>>;

const blue = {
  cniVersion: "1.0.0",
  name: "tenantblue",
  type: "ovn-k8s-cni-overlay",
  topology: "layer2",
  subnets: "10.100.200.0/24",
  netAttachDefName: "ns1/blue",
};
const main = { cniVersion: "1.1.0", name: "ovn-kubernetes", type: "holdfast-ovn", subnets: "10.244.0.0/16/24" };

const read = (plugin: Json) => parseIpamConfig(parseNetwork(JSON.stringify(plugin)));

function problems(plugin: Json): string[] {
  try {
    read(plugin);
  } catch (error) {
    if (error instanceof CniError) return error.problems.map(({ message }) => message);
    throw error;
  }
  return [];
}

describe("a definition of OVN-Kubernetes, unedited", () => {
  it.each<[string, Json, object]>([
    ["layer2", {}, { topology: "layer2", definition: "ns1/blue", isPrimary: false, mtu: undefined }],
    ["under our own type", { type: "holdfast-ovn" }, { topology: "layer2", definition: "ns1/blue" }],
    ["with an MTU", { mtu: 1300 }, { mtu: 1300 }],
    ["whose MTU is the default", { mtu: 0 }, { mtu: undefined }],
    ["secondary, in so many words", { role: "secondary" }, { isPrimary: false }],
    ["primary", { role: "primary" }, { isPrimary: true }],
    ["localnet: the physical network has its name", { topology: "localnet" }, { physicalNetwork: "tenantblue" }],
    [
      "localnet, as it is called on the nodes",
      { topology: "localnet", physicalNetworkName: "physnet", vlanID: 10 },
      { topology: "localnet", physicalNetwork: "physnet", vlan: 10 },
    ],
    ["localnet without a tag", { topology: "localnet", vlanID: 0 }, { vlan: undefined }],
    ["keys in another case", { Topology: "layer2", netattachdefname: "ns1/blue" }, { definition: "ns1/blue" }],
    ["a device of SR-IOV", { deviceID: "0000:01:00.1" }, { device: "0000:01:00.1" }],
    ["its program's own settings", { logFile: "/x.log", logLevel: "5", "logfile-maxsize": 100 }, {}],
    ["an empty ipam, as the nodes' own configuration has it", { ipam: {} }, { topology: "layer2" }],
    ["layer3", { topology: "layer3", subnets: "10.128.0.0/16/24" }, { topology: "layer3" }],
  ])("%s", (_, more, expected) => {
    expect(read({ ...blue, ...more }).config.ovn).toMatchObject({ ...expected, faults: [] });
  });

  it.each<[string, Json, string[]]>([
    ["its subnets are the ranges", {}, ["10.100.200.0/24"]],
    ["none without subnets: pods have a port and no address", { subnets: undefined }, []],
    ["none of layer3: nodes have parts of them", { topology: "layer3", subnets: "10.128.0.0/16/24" }, []],
  ])("%s", (_, more, expected) => {
    const { config } = read({ ...blue, ...more });
    expect(config.ranges.map(({ prefix }) => `${prefix}`)).toEqual(expected);
    expect(config.ranges.some(({ isOfNodes, sliceLength }) => isOfNodes === true || sliceLength !== undefined)).toBe(
      false,
    );
  });

  it("without subnets is given none by a flat file", () => {
    const network = parseNetwork(JSON.stringify({ ...blue, subnets: undefined }));
    const flat = { path: "/flat", text: JSON.stringify({ range: "10.9.0.0/24" }) };
    expect(parseIpamConfig(network, flat).config.ranges).toEqual([]);
  });

  it("has a domain of its name, and settings of ours in ipam", () => {
    const { config } = read({ ...blue, ipam: { type: "holdfast", cooldown: 5 } });
    expect(config).toMatchObject({ networkName: "tenantblue", cooldownMs: 5000 });
  });

  it("a key that is another topology's is told, and refused with strict", () => {
    expect(read({ ...blue, vlanID: 10 }).warnings.map(({ key }) => key)).toEqual(["vlanID"]);
    expect(read({ ...blue, vlanID: 10 }).config.ovn?.vlan).toBeUndefined();
    expect(problems({ ...blue, vlanID: 10, ipam: { type: "holdfast", strict: true } }).join()).toContain(
      "vlanID is 10",
    );
  });
});

describe("the default network", () => {
  it.each<[string, Json, [string, number][]]>([
    ["a part for each node, as cluster subnets are written", {}, [["10.244.0.0/16", 24]]],
    [
      "of both families",
      { subnets: "10.128.0.0/14/23,fd01::/48/64" },
      [
        ["10.128.0.0/14", 23],
        ["fd01::/48", 64],
      ],
    ],
    [
      "OVN-Kubernetes' lengths where none is written",
      { subnets: "10.244.0.0/16,fd01::/48" },
      [
        ["10.244.0.0/16", 24],
        ["fd01::/48", 64],
      ],
    ],
    ["one node", { subnets: "10.244.0.0/24" }, [["10.244.0.0/24", 24]]],
  ])("%s", (_, more, expected) => {
    const { config } = read({ ...main, ...more });
    expect(config.ovn?.topology).toBe("default");
    expect(config.networkName).toBe("ovn-kubernetes");
    expect(config.ranges.map(({ prefix, sliceLength }) => [`${prefix}`, sliceLength])).toEqual(expected);
    expect(config.ranges.every(({ isOfNodes }) => isOfNodes === true)).toBe(true);
  });

  it.each([
    ["longer than an address", "10.244.0.0/16/40", "cannot be cut into /40"],
    ["longer than its part", "10.244.0.0/25/24", "cannot be cut into /24"],
    ["no CIDR", "10.244.0.0", "subnets is"],
  ])("%s", (_, subnets, expected) => {
    expect(problems({ ...main, subnets }).join()).toContain(expected);
  });
});

describe("refused, as OVN-Kubernetes refuses it", () => {
  it.each<[string, Json, string]>([
    [
      "nothing says which definition it is",
      { netAttachDefName: undefined },
      "netAttachDefName is missing: write NAMES",
    ],
    ["the name of the default network", { name: "default" }, 'name is "default"'],
    ["a name that is kept for later", { name: "ovn-kubernetes" }, 'name is "ovn-kubernetes"'],
    ["no name", { name: "" }, 'name is ""'],
    ["an unknown topology", { topology: "layer4" }, 'topology is "layer4": write layer2, layer3 or localnet'],
    ["an unknown role", { role: "main" }, 'role is "main": write primary or secondary'],
    ["a primary localnet", { topology: "localnet", role: "primary" }, "a localnet network is secondary always"],
    ["a router of a localnet", { topology: "localnet", joinSubnet: "100.65.0.0/16" }, "joinSubnet is"],
    ["a primary network without addresses", { role: "primary", subnets: "" }, "subnets is"],
    ["layer3 that keeps addresses", { topology: "layer3", allowPersistentIPs: true }, "belong to nodes"],
    ["another's addresses", { ipam: { type: "host-local" } }, 'ipam.type is "host-local": the addresses come from'],
    ["ipam that is none", { ipam: "dhcp" }, "ipam is"],
    ["a range beside the subnets", { ipam: { type: "holdfast", range: "10.1.0.0/24" } }, "write subnets beside ipam"],
    ["excluded from nothing", { subnets: undefined, excludeSubnets: "10.0.0.0/29" }, "there are no subnets"],
    ["excluded from others", { excludeSubnets: "10.0.0.0/29" }, "it is in none of subnets"],
    ["of layer2 alone", { topology: "localnet", reservedSubnets: "10.100.200.8/29" }, "it is for layer2 networks"],
    ["of layer2 alone", { topology: "layer3", defaultGatewayIPs: "10.100.200.9" }, "it is for layer2 networks"],
    ["of layer2 alone", { topology: "localnet", infrastructureSubnets: "10.100.200.8/29" }, "for layer2 networks"],
    ["another way between nodes", { transport: "evpn" }, "transport is"],
    ["a tag that is none", { topology: "localnet", vlanID: 4095 }, "vlanID is 4095"],
    ["a tag in quotes", { topology: "localnet", vlanID: "10" }, "without quotes"],
    ["an MTU that carries nothing", { mtu: 68 }, "mtu is 68"],
    ["an MTU in quotes", { mtu: "1400" }, "without quotes"],
    ["a list of names", { netAttachDefName: ["ns1/blue"] }, "it is a list; write a string"],
  ])("%s: %j", (_, more, expected) => {
    expect(problems({ ...blue, ...more }).join("\n")).toContain(expected);
  });

  it("all of it at once, each key once", () => {
    const all = problems({ ...blue, topology: "localnet", role: "primary", vlanID: -1, joinSubnet: "x", mtu: 1 });
    expect(all).toHaveLength(4);
  });
});

describe("among the definitions of a cluster", () => {
  const define = (name: string, config: Json) => ({
    metadata: { namespace: "ns1", name },
    spec: { config: JSON.stringify(config) },
  });

  it("it is one of ours", () => {
    const { readable, unreadable } = readDefinitions([define("blue", blue)], "kube-system");
    expect(readable.map(({ key, config }) => [key, config.networkName])).toEqual([["ns1/blue", "tenantblue"]]);
    expect(unreadable).toEqual([]);
  });

  it("one that says it is another is not", () => {
    const { readable, unreadable } = readDefinitions([define("green", blue)], "kube-system");
    expect(readable).toEqual([]);
    expect(unreadable.map(({ why }) => why)).toEqual([
      'netAttachDefName is "ns1/blue": the definition is ns1/green, and its configuration has to say so; write ns1/green.',
    ]);
  });

  it("others' are passed over", () => {
    const all = readDefinitions([define("blue", { ...blue, type: "kube-ovn" })], "kube-system");
    expect(all).toEqual({ readable: [], unreadable: [] });
  });
});
