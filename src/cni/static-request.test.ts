// Static addresses: from five sources into one list, one address for each range, and no contradiction obeyed.
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { CniError } from "./error.ts";
import { parseIpamConfig } from "./ipam-config.ts";
import { parseNetwork } from "./network.ts";
import { formatCidr } from "./route.ts";
import { type StaticRequest, staticRequests } from "./static-request.ts";
import type { StaticInputs } from "./static-source.ts";

interface Story {
  readonly ipam?: Readonly<Record<string, unknown>>;
  readonly ip?: readonly string[];
  readonly gateway?: readonly string[];
  readonly runtime?: unknown;
  readonly args?: unknown;
  readonly selection?: readonly string[];
  readonly version?: string;
}

function ask(story: Story): readonly StaticRequest[] {
  return answer(story).requests;
}

function answer(story: Story) {
  const ipam = { type: "holdfast", ipRanges: [{ range: "10.0.0.0/24" }, { range: "fd00::/64" }], ...story.ipam };
  const { config } = parseIpamConfig(parseNetwork(JSON.stringify({ cniVersion: story.version ?? "1.0.0", ipam })));
  const inputs: StaticInputs = {
    args: { ips: story.ip ?? [], gateways: story.gateway ?? [] },
    runtimeConfig: { ips: story.runtime },
    configArgs: { cni: { ips: story.args } },
    ...(story.selection && { selection: story.selection }),
  };
  return staticRequests(config, inputs);
}

/** `10.0.0.5/24 range 0 pool via 10.0.0.1 (source, source)` */
function tell({ cidr, range, inPool, gateway, sources }: StaticRequest): string {
  const place = range === undefined ? "no range" : `range ${range} ${inPool ? "in" : "beside"} the pool`;
  return `${formatCidr(cidr)} ${place}${gateway ? ` via ${gateway}` : ""} (${sources.join(", ")})`;
}

function refusals(story: Story): string[] {
  try {
    ask(story);
  } catch (error) {
    if (error instanceof CniError) return error.problems.map((problem) => problem.message);
    throw error;
  }
  return [];
}

describe("one list", () => {
  it.each<[string, Story, string[]]>([
    ["nothing asked", {}, []],
    ["CNI_ARGS", { ip: ["10.0.0.5/24"] }, ["10.0.0.5/24 range 0 in the pool (CNI_ARGS IP)"]],
    ["the range's length", { runtime: ["10.0.0.5"] }, ["10.0.0.5/24 range 0 in the pool (runtimeConfig.ips)"]],
    ["another length", { args: ["10.0.0.5/16"] }, ["10.0.0.5/16 range 0 in the pool (args.cni.ips)"]],
    ["in no range", { selection: ["10.7.0.5/24"] }, ["10.7.0.5/24 no range (network selection)"]],
    [
      "outside start and end",
      { ipam: { range: "10.0.0.100-10.0.0.200/24", ipRanges: [] }, ip: ["10.0.0.5"] },
      ["10.0.0.5/24 range 0 beside the pool (CNI_ARGS IP)"],
    ],
    [
      "both families, each its range",
      { runtime: ["fd00::5", "10.0.0.5"] },
      ["fd00::5/64 range 1 in the pool (runtimeConfig.ips)", "10.0.0.5/24 range 0 in the pool (runtimeConfig.ips)"],
    ],
    [
      "the same from several sources",
      {
        ip: ["10.0.0.5"],
        runtime: ["10.0.0.5/24"],
        ipam: { addresses: [{ address: "10.0.0.5/24", gateway: "10.0.0.1" }] },
      },
      ["10.0.0.5/24 range 0 in the pool via 10.0.0.1 (ipam.addresses, runtimeConfig.ips, CNI_ARGS IP)"],
    ],
    [
      "GATEWAY goes where it is reachable",
      { ip: ["10.0.0.5/24", "fd00::5/64"], gateway: ["fd00::1"] },
      ["10.0.0.5/24 range 0 in the pool (CNI_ARGS IP)", "fd00::5/64 range 1 in the pool via fd00::1 (CNI_ARGS IP)"],
    ],
    [
      "two ranges of one network, each its own",
      {
        ipam: { ipRanges: [{ range: "10.0.0.1-10.0.0.99/24" }, { range: "10.0.0.100-10.0.0.200/24" }] },
        ip: ["10.0.0.150", "10.0.0.5"],
      },
      ["10.0.0.150/24 range 1 in the pool (CNI_ARGS IP)", "10.0.0.5/24 range 0 in the pool (CNI_ARGS IP)"],
    ],
    [
      "the same network twice",
      { ipam: { ipRanges: [{ range: "10.0.0.0/24" }, { range: "10.0.0.0/24" }] }, ip: ["10.0.0.5", "10.0.0.6"] },
      ["10.0.0.5/24 range 0 in the pool (CNI_ARGS IP)", "10.0.0.6/24 range 1 in the pool (CNI_ARGS IP)"],
    ],
    [
      "the narrowest of nested ranges",
      { ipam: { ipRanges: [{ range: "10.0.0.0/16" }, { range: "10.0.0.0/24" }] }, ip: ["10.0.0.5"] },
      ["10.0.0.5/24 range 1 in the pool (CNI_ARGS IP)"],
    ],
  ])("%s", (_what, story, expected) => {
    expect(ask(story).map(tell)).toEqual(expected);
  });
});

describe("contradictions and mistakes", () => {
  it.each<[string, Story, string[]]>([
    [
      "two for one range",
      { ip: ["10.0.0.5"], runtime: ["10.0.0.6"] },
      ["runtimeConfig.ips asks for 10.0.0.6 in the same range"],
    ],
    ["two of one source", { ip: ["10.0.0.5", "10.0.0.6"] }, ["CNI_ARGS IP asks for 10.0.0.5 in the same range"]],
    ["two lengths", { ip: ["10.0.0.5/16"], runtime: ["10.0.0.5/24"] }, ["asks for it with /24"]],
    [
      "two gateways",
      { ipam: { addresses: [{ address: "10.0.0.5/24", gateway: "10.0.0.1" }] }, gateway: ["10.0.0.2"] },
      ["ipam.addresses gives 10.0.0.5 the gateway 10.0.0.1"],
    ],
    [
      "two gateways of one source",
      {
        ipam: {
          addresses: [
            { address: "10.0.0.5/24", gateway: "10.0.0.1" },
            { address: "10.0.0.5/24", gateway: "10.0.0.2" },
          ],
        },
      },
      ["ipam.addresses gives it the gateway 10.0.0.1"],
    ],
    ["no network", { ip: ["10.7.0.5"] }, ["no range contains it"]],
    ["no address", { ip: ["x", "10.0.0.300"] }, ['CNI_ARGS IP[0] is "x"', 'CNI_ARGS IP[1] is "10.0.0.300"']],
    ["no list", { runtime: "10.0.0.5" }, ["runtimeConfig.ips is"]],
    ["a bad gateway", { ip: ["10.0.0.5"], gateway: ["x"] }, ["CNI_ARGS GATEWAY is"]],
    ["a gateway for nobody", { ip: ["10.0.0.5"], gateway: ["10.9.0.1"] }, ["in the network of no static address"]],
    [
      "no room in the result",
      { ip: ["10.7.0.5/24"], version: "0.2.0" },
      ["a result of CNI 0.2.0 has one IPv4 address"],
    ],
  ])("%s", (_what, story, expected) => {
    const found = refusals(story);
    expect(found).toHaveLength(expected.length);
    for (const [index, part] of expected.entries()) expect(found[index]).toContain(part);
  });

  it("ignores a gateway for nobody when not strict, as whereabouts does", () => {
    const story = { ipam: { strict: false }, ip: ["10.0.0.5"], gateway: ["10.9.0.1"] };
    expect(ask(story).map(tell)).toEqual(["10.0.0.5/24 range 0 in the pool (CNI_ARGS IP)"]);
    expect(answer(story).warnings.map((warning) => warning.key)).toEqual(["CNI_ARGS GATEWAY"]);
  });

  it("stops at a number that no interface needs", () => {
    const many = (count: number) => Array.from({ length: count }, (_, index) => `10.7.${index >> 8}.${index & 255}/16`);
    expect(ask({ ip: many(256) })).toHaveLength(256);
    expect(refusals({ ip: many(257) })).toEqual([expect.stringContaining("ask for 256 at most")]);
  });
});

describe("always", () => {
  it("stands for a range at most once, whatever is asked, and for every address that was asked", () => {
    const address = fc
      .record({ third: fc.integer({ min: 0, max: 3 }), last: fc.integer({ min: 1, max: 6 }) })
      .map(({ third, last }) => `10.0.${third}.${last}/24`);
    const list = fc.array(address, { maxLength: 3 });
    fc.assert(
      fc.property(list, list, list, (ip, runtime, args) => {
        const ipam = { ipRanges: [{ range: "10.0.0.0/24" }, { range: "10.0.1.0/24" }] };
        const asked = [...new Set([...args, ...runtime, ...ip])];
        // The oracle: a conflict is two different addresses in one of the two networks.
        const inNetwork = (third: number) => asked.filter((text) => text.startsWith(`10.0.${third}.`)).length;
        const conflict = inNetwork(0) > 1 || inNetwork(1) > 1;
        const story = { ipam, ip, runtime, args };
        expect(refusals(story).length > 0).toBe(conflict);
        if (conflict) return;
        const requests = ask(story);
        expect(requests.map(({ cidr }) => formatCidr(cidr))).toEqual(asked);
        for (const { cidr, range } of requests) {
          const third = Number(`${cidr.address}`.split(".")[2]);
          expect(range).toBe(third < 2 ? third : undefined);
        }
      }),
    );
  });
});
