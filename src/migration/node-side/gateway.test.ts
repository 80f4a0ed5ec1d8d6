import { expect, it } from "vitest";

import { readNodeFacts } from "../topology/node-facts.ts";
import { gatewayOf, type MachineFacts } from "./gateway.ts";

/** As Linux prints them: two default routes of other links, one of ours in each family. */
const routes4 = `Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
eth1\t00000000\t0101A8C0\t0003\t0\t0\t100\t00000000\t0\t0\t0
br-ex\t00000000\tFE001EAC\t0003\t0\t0\t48\t00000000\t0\t0\t0
br-ex\t00001EAC\t00000000\t0001\t0\t0\t48\t00FFFFFF\t0\t0\t0
`;
const zeros = "0".repeat(32);
const routes6 = `fd000030000000000000000000000000 40 ${zeros} 00 ${zeros} 00000100 00000001 00000000 00000001    br-ex
${zeros} 00 ${zeros} 00 fd0000300000000000000000000000ff 00000400 00000001 00000000 00000003    br-ex
${zeros} 00 ${zeros} 00 ${zeros} ffffffff 00000001 00000000 00200200       lo
`;
const mac = "02:00:00:00:01:01";
const facts: MachineFacts = {
  node: "n1",
  link: "br-ex",
  addresses: [
    { address: "172.30.0.1", cidr: "172.30.0.1/24", mac },
    { address: "fd00:30::1", cidr: "fd00:30::1/64", mac },
    { address: "fe80::1", cidr: "fe80::1/64", mac },
  ],
  routes4,
  routes6,
  mappings: new Map([
    ["lan", "br-lan"],
    ["outside", "br-ex"],
  ]),
};

it("is what the topology reads", () => {
  const found = gatewayOf(facts) as { text: string };
  const annotations = { "k8s.ovn.org/l3-gateway-config": found.text };
  expect(JSON.parse(JSON.stringify(readNodeFacts({ metadata: { name: "n1", annotations } }).gateway))).toEqual({
    mac,
    addresses: [
      { address: "172.30.0.1", prefix: "172.30.0.0/24" },
      { address: "fd00:30::1", prefix: "fd00:30::/64" },
    ],
    nextHops: ["172.30.0.254", "fd00:30::ff"],
    interfaceId: "br-ex_n1",
    physicalNetwork: "outside",
  });
});

it.each([
  ["no mapping names the bridge", { mappings: new Map([["lan", "br-lan"]]) }, "no bridge of ovn-bridge-mappings"],
  ["the bridge has no address", { addresses: [facts.addresses[2]!] }, "no address of its own"],
])("says why there is none: %s", (_, change, words) => {
  expect(gatewayOf({ ...facts, ...change })).toEqual({ why: expect.stringContaining(words) });
});
