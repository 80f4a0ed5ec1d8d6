import { expect, it } from "vitest";

import { type NetworkTexts, parseNetwork } from "./cluster-network.ts";

const usual: NetworkTexts = {
  subnets: ["10.244.0.0/16/24", "fd10:244::/48"],
  joinSubnets: ["100.64.0.0/16", "fd98::/64"],
  mtu: 1400,
  masks: true,
};

it("reads subnets with the length of a node's, or the usual one", () => {
  const { subnets } = parseNetwork(usual);
  expect(subnets.map(({ prefix, nodeLength }) => `${prefix} ${nodeLength}`)).toEqual([
    "10.244.0.0/16 24",
    "fd10:244::/48 64",
  ]);
});

it("leaves out what is between routers of a family that the cluster lacks", () => {
  expect(parseNetwork({ ...usual, subnets: ["10.244.0.0/16/23"] }).joinSubnets.map(String)).toEqual(["100.64.0.0/16"]);
});

it.each([
  ["no subnet", { subnets: [] }, "at least one"],
  ["a node's subnet as large as all", { subnets: ["10.244.0.0/16/16"] }, "write 17 to 29"],
  ["a node's subnet without room", { subnets: ["10.244.0.0/16/30"] }, "write 17 to 29"],
  ["host bits", { subnets: ["10.244.0.1/16/24"] }, "is no cluster subnet"],
  ["two of a family", { subnets: ["10.244.0.0/16", "10.245.0.0/16"] }, "one of each at the most"],
  ["no join subnet of a family", { joinSubnets: ["100.64.0.0/16"] }, "no IPv6 join subnet"],
  ["what overlaps", { joinSubnets: ["10.244.128.0/24", "fd98::/64"] }, "overlap"],
])("refuses %s", (_, change, words) => {
  expect(() => parseNetwork({ ...usual, ...change })).toThrow(words);
});
