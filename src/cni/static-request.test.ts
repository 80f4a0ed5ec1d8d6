// Static addresses: from five sources into one list, one address for each range, and no contradiction obeyed.
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { parseIpamConfig } from "./config/ipam-config.ts";
import { parseNetwork } from "./config/network.ts";
import { formatCidr } from "./config/route.ts";
import { CniError } from "./error.ts";
import { type StaticInputs, type StaticRequest, staticRequests } from "./static-request.ts";

interface Story {
  readonly ipam?: Readonly<Record<string, unknown>>;
  readonly ip?: readonly string[];
  readonly gateway?: readonly string[];
  readonly runtime?: unknown;
  readonly args?: unknown;
  readonly selection?: readonly string[];
  readonly claim?: readonly string[];
  readonly version?: string;
  readonly capabilities?: unknown;
}

function ask(story: Story): readonly StaticRequest[] {
  return answer(story).requests;
}

function answer(story: Story) {
  const ipam = { type: "holdfast", ipRanges: [{ range: "10.0.0.0/24" }, { range: "fd00::/64" }], ...story.ipam };
  const { config } = parseIpamConfig(
    parseNetwork(
      JSON.stringify({
        cniVersion: story.version ?? "1.0.0",
        name: "lan",
        capabilities: "capabilities" in story ? story.capabilities : { ips: true },
        ipam,
      }),
    ),
  );
  const inputs: StaticInputs = {
    args: { ips: story.ip ?? [], gateways: story.gateway ?? [] },
    runtimeConfig: { ips: story.runtime },
    configArgs: { cni: { ips: story.args } },
    ...(story.selection && { selection: story.selection }),
    ...(story.claim && { claim: story.claim }),
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

function codeOf(story: Story): number | undefined {
  try {
    ask(story);
  } catch (error) {
    if (error instanceof CniError) return error.code;
    throw error;
  }
  return undefined;
}

describe("one list", () => {
  it.each<[string, Story, string[]]>([
    ["nothing asked", {}, []],
    ["CNI_ARGS", { ip: ["10.0.0.5/24"] }, ["10.0.0.5/24 range 0 in the pool (CNI_ARGS IP)"]],
    ["the range's length", { runtime: ["10.0.0.5"] }, ["10.0.0.5/24 range 0 in the pool (runtimeConfig.ips)"]],
    ["another length", { args: ["10.0.0.5/16"] }, ["10.0.0.5/16 range 0 in the pool (args.cni.ips)"]],
    ["what the VM asks for", { claim: ["10.0.0.5"] }, ["10.0.0.5/24 range 0 in the pool (IPAMClaim)"]],
    [
      "the definition's own in no range",
      { ipam: { addresses: [{ address: "10.7.0.5/24" }] } },
      ["10.7.0.5/24 no range (ipam.addresses)"],
    ],
    [
      "the definition's own outside start and end",
      { ipam: { range: "10.0.0.100-10.0.0.200/24", ipRanges: [], addresses: [{ address: "10.0.0.5/24" }] } },
      ["10.0.0.5/24 range 0 beside the pool (ipam.addresses)"],
    ],
    [
      "the definition's own that it excludes",
      { ipam: { range: "10.0.0.0/24", ipRanges: [], exclude: ["10.0.0.5"], addresses: [{ address: "10.0.0.5/24" }] } },
      ["10.0.0.5/24 range 0 beside the pool (ipam.addresses)"],
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
    ["no address", { ip: ["x", "10.0.0.300"] }, ['CNI_ARGS IP[0] is "x"', 'CNI_ARGS IP[1] is "10.0.0.300"']],
    ["no list", { runtime: "10.0.0.5" }, ["runtimeConfig.ips is"]],
    ["a bad gateway", { ip: ["10.0.0.5"], gateway: ["x"] }, ["CNI_ARGS GATEWAY is"]],
    [
      "a gateway for nobody",
      { ipam: { strict: true }, ip: ["10.0.0.5"], gateway: ["10.9.0.1"] },
      ["in the network of no static address"],
    ],
    [
      "no room in the result",
      { ipam: { addresses: [{ address: "10.7.0.5/24" }] }, version: "0.2.0" },
      ["a result of CNI 0.2.0 has one IPv4 address"],
    ],
  ])("%s", (_what, story, expected) => {
    const found = refusals(story);
    expect(found).toHaveLength(expected.length);
    for (const [index, part] of expected.entries()) expect(found[index]).toContain(part);
  });

  it("ignores a gateway for nobody unless told to be strict, as whereabouts does", () => {
    const story = { ip: ["10.0.0.5"], gateway: ["10.9.0.1"] };
    expect(ask(story).map(tell)).toEqual(["10.0.0.5/24 range 0 in the pool (CNI_ARGS IP)"]);
    expect(answer(story).warnings.map((warning) => warning.key)).toEqual(["CNI_ARGS GATEWAY"]);
  });

  it("stops at a number that no interface needs, in one list and in all of them", () => {
    const ipRanges = Array.from({ length: 32 }, (_, index) => ({ range: `10.7.${index}.0/24` }));
    const some = (from: number, count: number) => Array.from({ length: count }, (_, index) => `10.7.${from + index}.7`);
    expect(ask({ ipam: { ipRanges }, ip: some(0, 16), runtime: some(0, 16) })).toHaveLength(16);
    expect(refusals({ ipam: { ipRanges }, ip: some(0, 17) })).toEqual([expect.stringContaining("ask for 16 at most")]);
    expect(refusals({ ipam: { ipRanges }, ip: some(0, 16), runtime: some(16, 1) })).toEqual([
      expect.stringContaining("ask for 16 at most"),
    ]);
  });
});

describe("what may not be asked for", () => {
  const ipam = {
    range: "10.0.0.0/24",
    ipRanges: [],
    range_start: "10.0.0.10",
    range_end: "10.0.0.200",
    gateway: "10.0.0.11",
    exclude: ["10.0.0.64/28"],
  };
  const sources = (text: string): [string, Story][] => [
    ["CNI_ARGS IP", { ip: [text] }],
    ["runtimeConfig.ips", { runtime: [text] }],
    ["args.cni.ips", { args: [text] }],
    ["network selection", { selection: [text] }],
    ["IPAMClaim", { claim: [text] }],
  ];

  it.each([
    ["of another network", "10.111.0.7/24", "is in no range of the network lan (10.0.0.0/24)"],
    ["of another network, without a length", "10.111.0.7", "is in no range of the network lan"],
    ["excluded", "10.0.0.65", "10.0.0.0/24 excludes it"],
    ["before the start", "10.0.0.9", "hands out from 10.0.0.10 to 10.0.0.200"],
    ["after the end", "10.0.0.201", "hands out from 10.0.0.10 to 10.0.0.200"],
    ["the network's own", "10.0.0.0", "hands out from"],
    ["the broadcast address", "10.0.0.255", "hands out from"],
    ["the gateway's", "10.0.0.11", "is the gateway of the network lan"],
  ])("%s: %s", (_what, text, reason) => {
    for (const [key, story] of sources(text)) {
      expect(refusals({ ...story, ipam })).toEqual([expect.stringContaining(reason)]);
      expect(refusals({ ...story, ipam })[0]).toContain(`${key}[0] is "${text}"`);
      expect(codeOf({ ...story, ipam })).toBe(101);
    }
  });

  it.each([[undefined], [{}], [{ ips: false }], [{ ips: "true" }], ["ips"], [{ mac: true }]])(
    "anything, where the definition does not consent: capabilities %j",
    (capabilities) => {
      for (const [key, story] of sources("10.0.0.50")) {
        const consents = key === "IPAMClaim"; // by allowPersistentIPs
        expect(refusals({ ...story, ipam, capabilities })).toHaveLength(consents ? 0 : 1);
        if (consents) continue;
        const [message] = refusals({ ...story, ipam, capabilities });
        expect(message).toContain(`${key}[0] is "10.0.0.50": the network lan does not let its pods choose addresses`);
        expect(message).toContain('"capabilities": {"ips": true}');
        expect(codeOf({ ...story, ipam, capabilities })).toBe(101);
      }
    },
  );

  it("the ipam's own key consents too", () => {
    for (const [, story] of sources("10.0.0.50")) {
      expect(ask({ ...story, ipam: { ...ipam, allow_requested_ips: true }, capabilities: {} })).toHaveLength(1);
    }
  });
});

describe("always", () => {
  it("stands for a range at most once, whatever is asked, and for every address that was asked", () => {
    const address = fc
      .record({ third: fc.integer({ min: 0, max: 1 }), last: fc.integer({ min: 1, max: 6 }) })
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
          expect(range).toBe(third);
        }
      }),
    );
  });
});
