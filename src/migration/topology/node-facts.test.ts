import { expect, it } from "vitest";

import { factsText, readNodeFacts } from "./node-facts.ts";

/** As OVN-Kubernetes 1.3 was seen to write them. */
const gateway = {
  mode: "shared",
  "bridge-id": "breth0",
  "interface-id": "breth0_n1",
  "mac-address": "02:00:00:00:01:01",
  "ip-addresses": ["172.30.0.1/24", "fd00:30::1/64"],
  "next-hops": ["172.30.0.254", "fd00:30::ff"],
  "node-port-enable": "true",
  "vlan-id": "0",
};
const annotations = {
  "k8s.ovn.org/node-id": "2",
  "k8s.ovn.org/node-chassis-id": "c-1",
  "k8s.ovn.org/node-subnets": '{"default":["10.244.0.0/24","fd10:244:0:1::/64"]}',
  "k8s.ovn.org/node-mgmt-port-mac-addresses": '{"default":"0a:58:0a:f4:00:02"}',
  "k8s.ovn.org/l3-gateway-config": JSON.stringify({ default: gateway }),
};
const node = (texts: Record<string, string>) => ({
  metadata: { name: "n1", creationTimestamp: "2026-11-19T20:00:00Z", annotations: texts },
});
const plain = (value: unknown) => JSON.parse(JSON.stringify(value)) as unknown;

it("reads what OVN-Kubernetes writes", () => {
  expect(plain(readNodeFacts(node(annotations)))).toEqual({
    name: "n1",
    createdMs: Date.parse("2026-11-19T20:00:00Z"),
    id: 2,
    chassis: "c-1",
    subnets: ["10.244.0.0/24", "fd10:244:0:1::/64"],
    gateway: {
      mac: "02:00:00:00:01:01",
      addresses: [
        { address: "172.30.0.1", prefix: "172.30.0.0/24" },
        { address: "fd00:30::1", prefix: "fd00:30::/64" },
      ],
      nextHops: ["172.30.0.254", "fd00:30::ff"],
      interfaceId: "breth0_n1",
      physicalNetwork: "physnet",
    },
    managementMac: "0a:58:0a:f4:00:02",
  });
});

it.each([
  ["a VLAN", { "vlan-id": "17" }, { vlan: 17 }],
  ["another physical network", { "physical-network": "lan" }, { physicalNetwork: "lan" }],
  [
    "single values, of a time before lists",
    { "ip-addresses": undefined, "ip-address": "10.0.0.1/8" },
    {
      addresses: [{ address: "10.0.0.1", prefix: "10.0.0.0/8" }],
    },
  ],
])("of a gateway: %s", (_, change, expected) => {
  const text = JSON.stringify({ default: { ...gateway, ...change } });
  expect(plain(readNodeFacts(node({ "k8s.ovn.org/l3-gateway-config": text })).gateway)).toMatchObject(expected);
});

it.each([
  ["nothing", {}],
  ["no JSON", { "k8s.ovn.org/l3-gateway-config": "{", "k8s.ovn.org/node-subnets": "[", "k8s.ovn.org/node-id": "x" }],
  ["a gateway that is off", { "k8s.ovn.org/l3-gateway-config": '{"default":{"mode":""}}', "k8s.ovn.org/node-id": "0" }],
  [
    "values that are none",
    {
      "k8s.ovn.org/l3-gateway-config": JSON.stringify({ default: { ...gateway, "mac-address": "x" } }),
      "k8s.ovn.org/node-mgmt-port-mac-addresses": '{"default":"x"}',
      "k8s.ovn.org/node-id": "40000",
      "k8s.ovn.org/node-chassis-id": "",
    },
  ],
])("of %s nothing is known", (_, texts) => {
  const { id, chassis, subnets, gateway: found, managementMac } = readNodeFacts(node(texts));
  expect([id, chassis, subnets, found, managementMac]).toEqual([undefined, undefined, [], undefined, undefined]);
});

it("the same text is the same facts: a heartbeat is no change", () => {
  const text = factsText(node(annotations));
  expect(factsText(node({ ...annotations, "kubevirt.io/heartbeat": "now" }))).toBe(text);
  for (const each of Object.keys(annotations)) expect(factsText(node({ ...annotations, [each]: "" }))).not.toBe(text);
});
