// What the lab calls a duplicate: a judge that sees none would let every story pass.
import { expect, test } from "vitest";

import { duplicates, statusesOf } from "./addresses.ts";

test("an address that two have in one network is told with both; in two networks it is none", () => {
  const holder = (network: string, address: string, who: string) => ({ network, address, who });
  expect(
    duplicates([
      holder("net1", "10.0.0.1", "node1 a net1"),
      holder("net1", "10.0.0.2", "node1 b net1"),
      holder("net2", "10.0.0.1", "node1 b net2"),
      holder("net1", "10.0.0.1", "node2 c net1"),
      holder("net1", "10.0.0.1", "node3 d net1"),
    ]),
  ).toEqual(["10.0.0.1 of net1: node1 a net1 and node2 c net1", "10.0.0.1 of net1: node1 a net1 and node3 d net1"]);
  expect(duplicates([])).toEqual([]);
});

test("a pod that was told nothing has no statuses", () => {
  expect(statusesOf({ metadata: { name: "new" }, spec: {}, status: { phase: "Pending" } })).toEqual([]);
});
