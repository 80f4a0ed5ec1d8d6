// Homes: by the subnets that nodes have now, not by where an address came from.
import { expect, it } from "vitest";

import { parseAddress } from "../../net/address.ts";
import { parsePrefix } from "../../net/prefix.ts";
import { ownerOf, readNodeSubnets, reservedOnNodes } from "./node-subnets.ts";

const nodes = (subnets: Record<string, string[]>) =>
  new Map(Object.entries(subnets).map(([node, all]) => [node, all.map((each) => parsePrefix(each))]));
const ips = (...texts: string[]) => texts.map((each) => parseAddress(each));
const vm = ips("10.244.0.4", "fd10:244:0:1::4");
const n2 = ["10.244.1.0/24", "fd10:244:0:2::/64"];

it.each([
  ['{"default":["10.244.0.0/24","fd10:244:0:1::/64"]}', ["10.244.0.0/24", "fd10:244:0:1::/64"]],
  ['{"default":"10.244.0.0/24"}', ["10.244.0.0/24"]],
  ['{"default":["10.244.0.0/24","nonsense"],"shop/blue":["10.9.0.0/24"]}', ["10.244.0.0/24"]],
  ['{"shop/blue":["10.9.0.0/24"]}', []],
  ["{", []],
  [undefined, []],
])("%s", (text, subnets) => {
  expect(readNodeSubnets(text).map(String)).toEqual(subnets);
});

it.each([
  ["one node has both", { n1: ["10.244.0.0/24", "fd10:244:0:1::/64"], n2 }, "n1"],
  ["nobody has them any more", { n2 }, undefined],
  ["each family is another node's", { n1: ["10.244.0.0/24"], n5: ["fd10:244:0:1::/64"], n2 }, undefined],
  ["two claim them", { n1: ["10.244.0.0/24", "fd10:244:0:1::/64"], n5: ["10.244.0.0/24"] }, undefined],
  ["only one family is anybody's", { n1: ["10.244.0.0/24"], n2 }, undefined],
])("%s", (_, subnets, owner) => {
  expect(ownerOf(vm, nodes(subnets))).toBe(owner);
});

it("an address stays reserved where its subnet is now, whoever that is", () => {
  const reserved = reservedOnNodes([...vm, ...ips("10.244.9.9")], nodes({ n5: ["10.244.0.0/24"], n2 }));
  expect([...reserved].map(([node, all]) => `${node}: ${all.join(" ")}`)).toEqual(["n5: 10.244.0.4", "n2: "]);
});
