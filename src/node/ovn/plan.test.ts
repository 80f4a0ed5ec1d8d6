// What an attachment is to be, by network and by pod.
import { describe, expect, it } from "vitest";

import { answerOf } from "../../cni/answer.ts";
import { parseIpamConfig } from "../../cni/config/ipam-config.ts";
import { parseNetwork } from "../../cni/config/network.ts";
import { parseAddress } from "../../net/address.ts";
import { formatInterval } from "../../net/interval.ts";
import { parseMac } from "../../net/mac.ts";
import { parsePrefix } from "../../net/prefix.ts";
import { notOfNode } from "./node-subnets.ts";
import { type AttachInput, interfaceMarks, linkLines, planAttach } from "./plan.ts";

const main = {
  cniVersion: "1.0.0",
  name: "ovn-kubernetes",
  type: "holdfast-ovn",
  subnets: "10.244.0.0/16/24,fd10:244::/48/64",
};
const blue = {
  cniVersion: "1.0.0",
  name: "tenant-blue",
  type: "ovn-k8s-cni-overlay",
  topology: "localnet",
  subnets: "10.100.200.0/24",
  vlanID: 10,
  mtu: 1300,
  netAttachDefName: "ns1/blue",
};
const pod = {
  namespace: "shop",
  name: "web-0",
  uid: "u1",
  annotations: {},
  isMirror: false,
  object: { apiVersion: "v1", kind: "Pod", metadata: {} },
};

function planOf(config: object, addresses: readonly string[], more: Partial<AttachInput> = {}) {
  const network = parseNetwork(JSON.stringify(config));
  const { config: parsed } = parseIpamConfig(network);
  const allocated = new Map(addresses.map((each, index) => [index, parseAddress(each)]));
  const args = { podName: "web-0", podNamespace: "shop", podUid: "u1", ips: [], gateways: [], warnings: [] };
  const input: AttachInput = {
    invocation: { command: "ADD", containerId: "c1", interfaceName: "eth0", netns: "/run/netns/x", args },
    ovn: network.ovn!,
    network: network.name,
    pod,
    node: "n1",
    chassis: "chassis-1",
    mac: undefined,
    result: answerOf(parsed, allocated),
    mtu: 1400,
    isUnaddressed: false,
    isVms: false,
    config: "{}",
    ...more,
  };
  return { plan: planAttach(input), ovn: network.ovn! };
}

const lines = (config: object, addresses: readonly string[], more?: Partial<AttachInput>) =>
  linkLines(planOf(config, addresses, more).plan, "/host")
    .trim()
    .split("\n");

describe("the default network", () => {
  const addresses = ["10.244.3.7", "fd10:244:0:3::7"];

  it("has its node's subnet on the link, and the router of it as the way out", () => {
    const { link } = planOf(main, addresses).plan.record;
    expect(lines(main, addresses)).toEqual([
      `link add name eth0 address 0a:58:0a:f4:03:07 mtu 1400 type veth peer name ${link} mtu 1400 netns /host`,
      "address add 10.244.3.7/24 broadcast + dev eth0",
      "address add fd10:244:0:3::7/64 nodad dev eth0",
      "link set dev eth0 up",
      "route add 0.0.0.0/0 via 10.244.3.1 dev eth0",
      "route add ::/0 via fd10:244:0:3::1 dev eth0",
    ]);
    expect(link).toMatch(/^hf[0-9a-f]{13}$/);
  });

  it("is a port of the node's switch, by the names of OVN-Kubernetes", () => {
    const { plan, ovn } = planOf(main, addresses);
    expect(plan.port).toEqual({
      name: "shop_web-0",
      podUid: "u1",
      switch: "n1",
      namespace: "shop",
      mac: "0a:58:0a:f4:03:07",
      addresses,
      chassis: "chassis-1",
    });
    expect(interfaceMarks(plan, ovn)).toEqual({
      "iface-id": "shop_web-0",
      "iface-id-ver": "u1",
      attached_mac: "0a:58:0a:f4:03:07",
      ip_addresses: "10.244.3.7,fd10:244:0:3::7",
      sandbox: "c1",
    });
  });

  it("a VM's interface has nothing but its MAC, its result everything, and its port is another's to write", () => {
    const vm = { isUnaddressed: true, isVms: true, mac: parseMac("02:00:00:00:00:01") };
    const { plan } = planOf(main, addresses, vm);
    expect(lines(main, addresses, vm)).toEqual([
      `link add name eth0 address 02:00:00:00:00:01 mtu 1400 type veth peer name ${plan.record.link} mtu 1400 netns /host`,
      "link set dev eth0 up",
    ]);
    expect(plan.port).toBeUndefined();
    expect(plan.result.ips.map(({ address }) => `${address.address}/${address.prefix.length}`)).toEqual([
      "10.244.3.7/24",
      "fd10:244:0:3::7/64",
    ]);
    expect(plan.result.ips.every(({ interface: index }) => index === 1)).toBe(true);
  });

  it("of IPv6 alone has a MAC by its hash, as OVN-Kubernetes makes it", () => {
    const six = { ...main, subnets: "fd10:244::/48/64" };
    // 0a:58 and the first four bytes of the SHA-256 of fe80::1, which was seen.
    expect(planOf(six, ["fe80::1"]).plan.mac).toBe("0a:58:6d:6d:c1:50");
  });
});

describe("a secondary network", () => {
  it("has no way out, its own MTU, and a switch of its own", () => {
    const { plan, ovn } = planOf(blue, ["10.100.200.5"]);
    expect(lines(blue, ["10.100.200.5"])).toEqual([
      `link add name eth0 address 0a:58:0a:64:c8:05 mtu 1300 type veth peer name ${plan.record.link} mtu 1300 netns /host`,
      "address add 10.100.200.5/24 broadcast + dev eth0",
      "link set dev eth0 up",
    ]);
    expect(plan.port).toMatchObject({
      name: "ns1.blue_shop_web-0",
      switch: "tenant.blue_ovn_localnet_switch",
      network: {
        name: "tenant-blue",
        definition: "ns1/blue",
        localnet: { port: "tenant.blue_ovn_localnet_port", physical: "tenant-blue", vlan: 10 },
      },
    });
    expect(interfaceMarks(plan, ovn)).toMatchObject({
      "iface-id": "ns1.blue_shop_web-0",
      "k8s.ovn.org/nad": "ns1/blue",
    });
  });

  it("without subnets is a port with a MAC, the same at every try", () => {
    const bare = { ...blue, subnets: undefined };
    const [one, two] = [planOf(bare, []).plan, planOf(bare, []).plan];
    expect(one.mac).toBe(two.mac);
    expect(one.port?.addresses).toEqual([]);
    expect(lines(bare, [])).toHaveLength(2);
  });

  it("has the routes of its definition", () => {
    const routed = { ...blue, ipam: { type: "holdfast", gateway: "10.100.200.1", routes: [{ dst: "10.0.0.0/8" }] } };
    expect(lines(routed, ["10.100.200.5"]).at(-1)).toBe("route add 10.0.0.0/8 via 10.100.200.1 dev eth0");
  });
});

describe("what a node does not give of a range of nodes", () => {
  it.each([
    [
      "all but its subnet, and of that the network, the router, the node and the broadcast",
      "10.244.0.0/16",
      ["10.244.3.0/24", "fd10:244:0:3::/64"],
      ["10.244.0.0-10.244.2.255", "10.244.4.0-10.244.255.255", "10.244.3.0-10.244.3.2", "10.244.3.255"],
    ],
    [
      "IPv6 has no broadcast",
      "fd10:244::/48",
      ["fd10:244:0:3::/64"],
      [
        "fd10:244::-fd10:244:0:2:ffff:ffff:ffff:ffff",
        "fd10:244:0:4::-fd10:244:0:ffff:ffff:ffff:ffff:ffff",
        "fd10:244:0:3::-fd10:244:0:3::2",
      ],
    ],
    ["everything, while it has none", "10.244.0.0/16", [], ["10.244.0.0-10.244.255.255"]],
  ])("%s", (_, range, subnets, expected) => {
    const found = notOfNode(
      parsePrefix(range),
      subnets.map((each) => parsePrefix(each)),
    );
    expect(found.map(formatInterval)).toEqual(expected);
  });
});
