// Networks as OVN-Kubernetes writes them, with an ipam of ours: where their addresses come from, and what is refused.
import { describe, expect, it } from "vitest";

import { formatInterval } from "../../net/interval.ts";
import { CniError } from "../error.ts";
import { type FlatFile, parseIpamConfig } from "./ipam-config.ts";
import { parseNetwork } from "./network.ts";

type Json = Readonly<Record<string, unknown>>;

const blue = { cniVersion: "1.0.0", name: "blue", type: "ovs", topology: "layer2" };

function parse({ ipam, ...plugin }: Json, flat?: Json) {
  const text = JSON.stringify({ ...blue, ...plugin, ipam: { type: "holdfast", ...(ipam as Json | undefined) } });
  const file: FlatFile | undefined = flat && { path: "/flat", text: JSON.stringify(flat) };
  return parseIpamConfig(parseNetwork(text), file).config;
}

function problems(plugin: Json): string[] {
  try {
    parse(plugin);
  } catch (error) {
    if (error instanceof CniError) return error.problems.map((problem) => problem.message);
    throw error;
  }
  return [];
}

/** `10.0.0.0/24 without 10.0.0.0-10.0.0.7`, for each range. */
function ranges(plugin: Json, flat?: Json): string[] {
  return parse(plugin, flat).ranges.map(
    ({ prefix, excludes }) => `${prefix} without ${excludes.map(formatInterval).join(" ")}`,
  );
}

describe("ranges", () => {
  it.each<[string, Json, string[]]>([
    ["one subnet", { subnets: "10.0.0.0/24" }, ["10.0.0.0/24 without "]],
    ["host bits are dropped", { subnets: "10.0.0.7/24" }, ["10.0.0.0/24 without "]],
    ["two families", { subnets: "10.0.0.0/24, fd00::/64" }, ["10.0.0.0/24 without ", "fd00::/64 without "]],
    ["keys in another case", { Subnets: "10.0.0.0/24" }, ["10.0.0.0/24 without "]],
    [
      "each exclude goes to the subnet that it is in",
      { subnets: "10.0.0.0/24,fd00::/64", excludeSubnets: "10.0.0.0/29,fd00::/125" },
      ["10.0.0.0/24 without 10.0.0.0-10.0.0.7", "fd00::/64 without fd00::-fd00::7"],
    ],
    [
      "OVN's router and the node's port have the first two addresses of a primary network",
      { subnets: "10.0.0.0/24,fd00::/64", role: "primary" },
      ["10.0.0.0/24 without 10.0.0.1-10.0.0.2", "fd00::/64 without fd00::1-fd00::2"],
    ],
    ["localnet", { topology: "localnet", subnets: "10.0.0.0/24" }, ["10.0.0.0/24 without "]],
    ["a range of ipam, as ever", { topology: "layer3", ipam: { range: "10.9.0.0/24" } }, ["10.9.0.0/24 without "]],
    [
      "no OVN: subnets are another plugin's own key",
      { topology: undefined, type: "x", subnets: "10.0.0.0/24", ipam: { range: "10.9.0.0/24" } },
      ["10.9.0.0/24 without "],
    ],
  ])("%s", (_, plugin, expected) => {
    expect(ranges(plugin)).toEqual(expected);
  });

  it("a flat file adds no range and no name to those of the network", () => {
    const flat = { range: "10.9.0.0/24", exclude: ["10.9.0.1"], network_name: "flat", cooldown: 5 };
    const plugin = { subnets: "10.0.0.0/24" };
    expect(ranges(plugin, flat)).toEqual(["10.0.0.0/24 without "]);
    expect(parse(plugin, flat)).toMatchObject({ networkName: "blue", cooldownMs: 5000 });
  });

  it("slices are cut from subnets too", () => {
    const ipam = { node_slice_size: "/28", floating_slice_size: "/26" };
    expect(parse({ subnets: "10.0.0.0/24", ipam }).ranges[0]).toMatchObject({ sliceLength: 28, floatingLength: 26 });
  });
});

describe("the domain", () => {
  it.each<[string, Json, string | RegExp]>([
    ["is the network's own", { subnets: "10.0.0.0/24" }, "blue"],
    ["unless another is given", { subnets: "10.0.0.0/24", ipam: { network_name: "green" } }, "green"],
    [
      "a name that no object can have is made fit",
      { name: "Blue_L2", subnets: "10.0.0.0/24" },
      /^blue-l2-x[0-9a-f]{16}$/,
    ],
    ["a long one is cut", { name: "b".repeat(250), subnets: "10.0.0.0/24" }, /^b{191}-x[0-9a-f]{16}$/],
    ["and has no default where ipam has the range", { ipam: { range: "10.0.0.0/24" } }, ""],
  ])("%s", (_, plugin, expected) => {
    const { networkName } = parse(plugin);
    if (typeof expected === "string") expect(networkName).toBe(expected);
    else expect(networkName).toMatch(expected);
  });

  it("two names that look alike when made fit stay apart", () => {
    const of = (name: string) => parse({ name, subnets: "10.0.0.0/24" }).networkName;
    expect(new Set([of("blue_a"), of("blue-a"), of("Blue-a"), of("blue_A")]).size).toBe(4);
  });
});

describe("refused", () => {
  it.each<[string, Json, string]>([
    [
      "layer3",
      { topology: "layer3", subnets: "10.0.0.0/16/24" },
      'topology is "layer3": the addresses of layer3 belong to nodes',
    ],
    [
      "another plugin's subnets",
      { topology: undefined, subnets: "10.0.0.0/24" },
      "there is nothing to take an address from",
    ],
    ["another", { topology: "layer4", subnets: "10.0.0.0/24" }, 'topology is "layer4": write layer2 or localnet'],
    ["two sources", { subnets: "10.0.0.0/24", ipam: { range: "10.0.0.0/24" } }, "remove one of the two"],
    [
      "two sources",
      { subnets: "10.0.0.0/24", ipam: { ipRanges: [{ range: "10.1.0.0/24" }] } },
      "remove one of the two",
    ],
    ["two sources", { subnets: "10.0.0.0/24", ipam: { exclude: ["10.0.0.1"] } }, "write excludeSubnets"],
    ["a list", { subnets: ["10.0.0.0/24"] }, "it is a list; write a string, several with commas"],
    ["no CIDR", { subnets: "10.0.0.0" }, 'subnets is "10.0.0.0"'],
    ["no CIDR", { subnets: "10.0.0.0/24", excludeSubnets: "x" }, 'excludeSubnets is "x"'],
    ["outside", { subnets: "10.0.0.0/24", excludeSubnets: "10.0.1.0/29" }, "it is in none of subnets"],
    ["nameless", { name: "", subnets: "10.0.0.0/24" }, "subnets are unique in the network of this name"],
    ["nothing at all", {}, "there is nothing to take an address from"],
    ["layer3 that keeps", { topology: "layer3", subnets: "10.0.0.0/16", allowPersistentIPs: true }, "belong to nodes"],
    ["nothing to keep", { allowPersistentIPs: true }, "allowPersistentIPs needs addresses to keep"],
    [
      "nothing to keep, asked for in ipam",
      { ipam: { allowPersistentIPs: true } },
      "allowPersistentIPs needs addresses",
    ],
    [
      "neither yes nor no",
      { subnets: "10.0.0.0/24", allowPersistentIPs: "true" },
      "write true or false, without quotes",
    ],
    [
      "nothing to call it",
      { name: "", subnets: "10.0.0.0/24", allowPersistentIPs: true },
      "a claim refers to the network",
    ],
  ])("%s: %j", (_, plugin, expected) => {
    expect(problems(plugin).join("\n")).toContain(expected);
    const lenient = { ...plugin, ipam: { ...(plugin["ipam"] as Json | undefined), strict: false } };
    const passes = ["write excludeSubnets", "it is in none of subnets", "there is nothing to take"];
    if (!passes.includes(expected) && !expected.startsWith("there is")) {
      expect(problems(lenient).join("\n")).toContain(expected);
    }
  });

  it("once, though two rules say so", () => {
    expect(problems({ topology: "layer3", subnets: "10.0.0.0/16", allowPersistentIPs: true })).toHaveLength(1);
    expect(problems({ name: "", subnets: "10.0.0.0/24", allowPersistentIPs: true })).toHaveLength(1);
  });
});
