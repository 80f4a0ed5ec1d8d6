import { expect, it } from "vitest";

import { parsePrefix } from "../../net/prefix.ts";
import { featuresOf } from "../../ovn/zone/features.ts";
import { parseNetwork } from "./cluster-network.ts";
import type { NodeFacts } from "./node-facts.ts";
import { zoneOfNodes, type ZoneSurroundings } from "./zone-of-nodes.ts";

const surroundings: ZoneSurroundings = {
  network: parseNetwork({ subnets: ["10.244.0.0/16"], joinSubnets: ["100.64.0.0/16"], mtu: 1400, masks: false }),
  dnsServers: [],
  features: featuresOf({ major: 25, minor: 3 }),
};

function node(digit: number, more: Partial<NodeFacts> = {}): NodeFacts {
  return {
    name: `n${digit}`,
    createdMs: digit,
    id: digit + 1,
    chassis: `c${digit}`,
    subnets: [parsePrefix(`10.244.${digit}.0/24`)],
    gateway: undefined,
    managementMac: undefined,
    ...more,
  };
}

it("has nodes by name, with the addresses that follow from their numbers", () => {
  const { zone, left } = zoneOfNodes([node(2), node(1)], surroundings);
  expect(
    zone.nodes.map(({ name, joinAddresses, managementMac }) => `${name} ${joinAddresses.join()} ${managementMac}`),
  ).toEqual(["n1 100.64.0.2 0a:58:0a:f4:01:02", "n2 100.64.0.3 0a:58:0a:f4:02:02"]);
  expect(left.size).toBe(0);
});

it.each([
  ["no subnet", { subnets: [] }, "no subnet"],
  ["a subnet of elsewhere", { subnets: [parsePrefix("10.9.0.0/24")] }, "not of the cluster's"],
  ["no number", { id: undefined }, "no number"],
  ["the cluster router's number", { id: 1 }, "no number"],
  ["no chassis", { chassis: undefined }, "which chassis"],
  ["another's subnet", { subnets: [parsePrefix("10.244.1.128/25")] }, "of node n1"],
  ["another's number", { id: 2 }, "is node n1's"],
  ["another's chassis", { chassis: "c1" }, "is node n1"],
])("leaves out a node with %s, and says why", (_, change, words) => {
  const { zone, left } = zoneOfNodes([node(2, change), node(1)], surroundings);
  expect(zone.nodes.map(({ name }) => name)).toEqual(["n1"]);
  expect(left.get("n2")).toContain(words);
});

it("interconnected: one node is the zone's own", () => {
  const { zone } = zoneOfNodes([node(1), node(2)], { ...surroundings, localNode: "n2" });
  expect(zone.nodes.map(({ isLocal }) => isLocal)).toEqual([false, true]);
});
