// The seed's example: a VM 10.244.0.8 of node1 and pod1 10.244.0.9 beside it; and what it does not speak of: a third
// node, the return, two VMs of a subnet that have met elsewhere, two families.
import { expect, it } from "vitest";

import { announcementsOf, type Neighbour } from "../../src/migration/neighbours/announcements.ts";
import { parseAddress } from "../../src/net/address.ts";
import { parseMac } from "../../src/net/mac.ts";
import { parsePrefix } from "../../src/net/prefix.ts";
import type { VmPlacement } from "../../src/ovn/vm/placement.ts";

const vmMac = "0a:58:0a:f4:00:01";
const proxy = "0a:58:a9:fe:01:01";

function vm(activeNode: string | undefined, more: Partial<VmPlacement> = {}): VmPlacement {
  const addresses = [{ address: parseAddress("10.244.0.8"), subnet: parsePrefix("10.244.0.0/24") }];
  const mac = parseMac(vmMac);
  return { namespace: "t", name: "vm1", mac, addresses, homeNode: "node1", activeNode, ports: [], ...more };
}

const neighbour = (node: string, mac: string, ...addresses: string[]): Neighbour => ({
  node,
  mac: parseMac(mac),
  addresses: addresses.map((each) => parseAddress(each)),
});
const pod1 = neighbour("node1", "0a:58:0a:f4:00:02", "10.244.0.9");
const stranger = neighbour("node2", "0a:58:0a:f4:01:05", "10.244.1.5");
/** It has moved to node2 before. */
const friend = neighbour("node2", "0a:58:0a:f4:00:07", "10.244.0.7");
/** The VM itself, as whoever lists neighbours may name it too. */
const itself = neighbour("node2", vmMac, "10.244.0.8");

function said(from: string | undefined, to: VmPlacement, ...neighbours: Neighbour[]): string[] {
  return announcementsOf({ from, to }, neighbours).map(
    (each) => `${each.node}: ${each.address} at ${each.mac} to ${each.to?.mac ?? "all"}`,
  );
}

it("away from home, as the seed has it: the VM is behind the proxy, and so is pod1 for the VM", () => {
  expect(said("node1", vm("node2"), pod1, stranger, itself)).toEqual([
    `node1: 10.244.0.8 at ${proxy} to all`,
    `node2: 10.244.0.9 at ${proxy} to ${vmMac}`,
  ]);
});

it("home again: the real MACs", () => {
  expect(said("node2", vm("node1"), pod1, stranger)).toEqual([
    `node1: 10.244.0.8 at ${vmMac} to all`,
    `node1: 10.244.0.9 at 0a:58:0a:f4:00:02 to ${vmMac}`,
  ]);
});

it("a neighbour that is on the same switch, far from home, is told and named by real MACs", () => {
  expect(said("node1", vm("node2"), pod1, friend)).toEqual([
    `node1: 10.244.0.8 at ${proxy} to all`,
    `node2: 10.244.0.8 at ${vmMac} to all`,
    `node2: 10.244.0.9 at ${proxy} to ${vmMac}`,
    `node2: 10.244.0.7 at 0a:58:0a:f4:00:07 to ${vmMac}`,
  ]);
});

it("on to a third node: the neighbour that stays on the second must forget the VM's own MAC", () => {
  expect(said("node2", vm("node3"), friend)).toEqual([
    `node1: 10.244.0.8 at ${proxy} to all`,
    `node2: 10.244.0.8 at ${proxy} to all`,
    `node3: 10.244.0.7 at ${proxy} to ${vmMac}`,
  ]);
});

it("the home node is gone: there is nobody to tell there", () => {
  expect(said("node2", vm("node3", { homeNode: undefined }))).toEqual([]);
});

it("each family by itself, and the VM is told at its address of that family", () => {
  const addresses = [
    { address: parseAddress("10.244.0.8"), subnet: parsePrefix("10.244.0.0/24") },
    { address: parseAddress("fd10:244:0:1::8"), subnet: parsePrefix("fd10:244:0:1::/64") },
  ];
  const both = neighbour("node1", "0a:58:0a:f4:00:02", "10.244.0.9", "fd10:244:0:1::9");
  const all = announcementsOf({ from: "node1", to: vm("node2", { addresses }) }, [both]);
  expect(all.map((each) => `${each.address} to ${each.to?.address ?? "all"}`)).toEqual([
    "10.244.0.8 to all",
    "10.244.0.9 to 10.244.0.8",
    "fd10:244:0:1::8 to all",
    "fd10:244:0:1::9 to fd10:244:0:1::8",
  ]);
});

it("a VM that starts elsewhere with its address: at home it is behind the proxy from now on", () => {
  expect(said(undefined, vm("node2"), pod1)).toEqual(said("node1", vm("node2"), pod1));
  expect(said(undefined, vm("node2"), pod1)).not.toEqual([]);
});

it.each([
  ["it starts at home", undefined, vm("node1")],
  ["it goes on where it is", "node2", vm("node2")],
  ["it is nowhere", "node2", vm(undefined)],
] as const)("%s: nothing is said", (_, from, to) => {
  expect(said(from, to, pod1)).toEqual([]);
});
