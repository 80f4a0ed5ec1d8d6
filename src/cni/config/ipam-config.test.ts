// The IPAM configuration as a story: what is read, what is refused, and what passes with a warning as in whereabouts.
import { describe, expect, it } from "vitest";

import { usableOf } from "../../ipam/definition.ts";
import { formatInterval } from "../../net/interval.ts";
import { CniError } from "../error.ts";
import { type FlatFile, type IpamConfig, parseIpamConfig } from "./ipam-config.ts";
import { parseNetwork } from "./network.ts";
import { poolDefinitionOf, wantOf } from "./pool-definition.ts";

type Ipam = Readonly<Record<string, unknown>>;

function parse(ipam: Ipam, flat?: Ipam, cniVersion = "1.0.0") {
  const network = parseNetwork(JSON.stringify({ cniVersion, name: "blue", ipam: { type: "holdfast", ...ipam } }));
  const file: FlatFile | undefined = flat && { path: "/flat", text: JSON.stringify(flat) };
  return parseIpamConfig(network, file);
}

function problems(ipam: Ipam, flat?: Ipam, cniVersion?: string): string[] {
  try {
    parse(ipam, flat, cniVersion);
  } catch (error) {
    if (error instanceof CniError) return error.problems.map((problem) => problem.message);
    throw error;
  }
  return [];
}

/** `10.0.0.0/24 10.0.0.1-10.0.0.254` for each range. */
function pools(config: IpamConfig): string[] {
  return config.ranges.map((range) => {
    const definition = poolDefinitionOf(config, range);
    return `${definition.prefix} ${formatInterval(usableOf(definition))}`;
  });
}

describe("ranges", () => {
  it.each([
    [{ range: "10.0.0.7/24" }, ["10.0.0.0/24 10.0.0.1-10.0.0.254"]],
    [{ range: "010.000.0.7/24" }, ["10.0.0.0/24 10.0.0.1-10.0.0.254"]],
    [{ range: "10.0.0.5-10.0.0.9/24" }, ["10.0.0.0/24 10.0.0.5-10.0.0.9"]],
    [{ range: "10.0.0.0/24", range_start: "010.0.0.5", range_end: "10.0.0.9" }, ["10.0.0.0/24 10.0.0.5-10.0.0.9"]],
    [{ range: "10.0.0.0/31" }, ["10.0.0.0/31 10.0.0.0-10.0.0.1"]],
    [{ range: "10.0.0.0/24", enable_l3: true }, ["10.0.0.0/24 10.0.0.0-10.0.0.255"]],
    [{ range: "fd00::/64" }, ["fd00::/64 fd00::1-fd00::ffff:ffff:ffff:fffe"]],
    [
      { range: "10.0.0.0/30", ipRanges: [{ range: "fd00::/126" }, { range: "10.1.0.0/30", range_end: "10.1.0.1" }] },
      ["10.0.0.0/30 10.0.0.1-10.0.0.2", "fd00::/126 fd00::1-fd00::2", "10.1.0.0/30 10.1.0.1"],
    ],
    [
      { enable_l3: true, ipRanges: [{ range: "10.0.0.0/30" }, { range: "10.0.1.0/30", enable_l3: false }] },
      ["10.0.0.0/30 10.0.0.0-10.0.0.3", "10.0.1.0/30 10.0.1.1-10.0.1.2"],
    ],
    [{ range: "::ffff:10.0.0.0/126", gateway: null }, ["10.0.0.0/30 10.0.0.1-10.0.0.2"]],
    [{ Range: "10.0.0.0/30" }, ["10.0.0.0/30 10.0.0.1-10.0.0.2"]],
  ])("%j", (ipam, expected) => {
    expect(pools(parse(ipam).config)).toEqual(expected);
  });

  it("keeps excludes of every notation", () => {
    const { config } = parse({
      range: "10.0.0.0/24",
      exclude: ["::ffff:10.0.0.4", "10.0.0.9/30", "10.0.0.20-10.0.0.22"],
    });
    const excludes = poolDefinitionOf(config, config.ranges[0]!).excludes!;
    expect(excludes.map(formatInterval)).toEqual(["10.0.0.4", "10.0.0.8-10.0.0.11", "10.0.0.20-10.0.0.22"]);
  });

  it("shares out picked addresses, and lets a range's own list stand", () => {
    const { config } = parse({
      pick_addresses: ["10.0.0.9", "fd00::5", "10.0.0.3"],
      ipRanges: [
        { range: "10.0.0.0/24" },
        { range: "fd00::/64", pick_addresses: ["fd00::8"] },
        { range: "10.9.0.0/24" },
      ],
    });
    expect(config.ranges.map((range) => range.picks.map(String))).toEqual([["10.0.0.9", "10.0.0.3"], ["fd00::8"], []]);
    expect(config.ranges.map((range) => wantOf(range).kind)).toEqual(["oneOf", "oneOf", "any"]);
  });
});

describe("what is bad in every mode", () => {
  it.each([
    [{ range: "10.0.0.0" }, "ipam.range"],
    [{ range: "10.0.0.0/33" }, "ipam.range"],
    [{ range: "10.0.1.5-10.0.0.9/24" }, "ipam.range"],
    [{ range: "10.0.0.5-x/24" }, "ipam.range"],
    [{ ipRanges: [{}] }, "ipam.ipRanges[0].range"],
    [{ ipRanges: [{ range: "10.0.0.0/24", range_start: "010.0.0.5" }] }, "ipam.ipRanges[0].range_start"],
    [{ range: "10.0.0.0/24", exclude: ["10.0.0.1", "x"] }, "ipam.exclude[1]"],
    [{ range: "10.0.0.0/24", exclude: ["010.0.0.1"] }, "ipam.exclude[0]"],
    [{ range: "10.0.0.0/24", gateway: "10.0.0" }, "ipam.gateway"],
    [{ range: "10.0.0.0/24", routes: [{ dst: "x" }] }, "ipam.routes[0].dst"],
    [{ range: "10.0.0.0/24", routes: [{ dst: "0.0.0.0/0", gw: "x" }] }, "ipam.routes[0].gw"],
    [{ addresses: [{ address: "10.0.0.1" }] }, "ipam.addresses[0].address"],
    [{ addresses: [{}] }, "ipam.addresses[0].address"],
    [{ range: 5 }, "ipam.range"],
    [{ range: "10.0.0.0/24", exclude: "10.0.0.1" }, "ipam.exclude"],
    [{ range: "10.0.0.0/24", enable_l3: "yes" }, "ipam.enable_l3"],
    [{ range: "10.0.0.0/24", sleep_for_race: 1.5 }, "ipam.sleep_for_race"],
    [{ range: "10.0.0.0/24", node_slice_size: "big" }, "ipam.node_slice_size"],
    [{ range: "10.0.0.0/24", node_slice_size: "/16" }, "ipam.node_slice_size"],
    [{ range: "10.0.0.0/24", node_slice_size: "33" }, "ipam.node_slice_size"],
    [{ range: "10.0.0.0/24", fast_ipam: true }, "ipam.fast_ipam"],
    [{ range: "10.0.0.0/24", fast_ipam: false, node_slice_size: "/26" }, "ipam.fast_ipam"],
    [{ range: "fd00::/16", node_slice_size: "/64" }, "ipam.node_slice_size"],
    [
      { range: "10.0.0.0/16", ipRanges: [{ range: "fd00::/64" }], node_slice_size: "/24" },
      "ipam.ipRanges[0].node_slice_size",
    ],
    [{ range: "10.0.0.0/16", floating_slice_size: "/24" }, "ipam.floating_slice_size"],
    [{ range: "10.0.0.0/16", node_slice_size: "/24", floating_slice_size: "/25" }, "ipam.floating_slice_size"],
    [{ range: "10.0.0.0/16", node_slice_size: "/24", floating_slice_size: "/16" }, "ipam.floating_slice_size"],
    [{ range: "10.0.0.0/24", pool_naming: "mine" }, "ipam.pool_naming"],
    [{ range: "10.0.0.0/24", pool_naming: "network" }, "ipam.pool_naming"],
    ...["10.113.0.0-24", "fd00-1---64", "0---126", "blue-10.113.0.0-24", "10.113.0.0-24-a"].map(
      (network_name) => [{ range: "10.0.0.0/24", pool_naming: "network", network_name }, "ipam.pool_naming"] as const,
    ),
    [{ range: "10.0.0.0/24", pool_namespace: "other" }, "ipam.pool_namespace"],
  ] as const)("%j: %s", (ipam, key) => {
    for (const strict of [true, false]) {
      const found = problems({ ...ipam, strict });
      expect(found).toHaveLength(1);
      expect(found[0]).toMatch(new RegExp(`^${key.replaceAll(/[.[\]]/g, "\\$&")} is .+: .+\\.$`));
    }
  });

  it("refuses a second address of a family that the version has no room for", () => {
    const addresses = [{ address: "10.0.0.1/24" }, { address: "fd00::1/64" }, { address: "10.0.0.2/24" }];
    expect(problems({ addresses, strict: false }, undefined, "0.2.0")).toEqual([
      expect.stringContaining('ipam.addresses[2].address is "10.0.0.2"'),
    ]);
    expect(problems({ addresses }, undefined, "0.3.0")).toEqual([]);
  });
});

describe("where whereabouts looks away", () => {
  const whole = "10.0.0.0/24 10.0.0.1-10.0.0.254";
  it.each([
    [{ range: "10.0.0.0/24", range_start: "x" }, "ipam.range_start", [whole]],
    [{ range: "10.0.0.0/24", range_start: "10.0.1.5" }, "ipam.range_start", [whole]],
    [{ range: "10.0.0.0/24", range_end: "10.0.0.255" }, "ipam.range_end", [whole]],
    [{ range: "10.0.0.0/24", range_end: "fd00::1" }, "ipam.range_end", [whole]],
    [
      { range: "10.0.0.0/24", range_start: "10.0.0.9", range_end: "10.0.0.5" },
      "ipam.range_end",
      ["10.0.0.0/24 10.0.0.9-10.0.0.254"],
    ],
    [{ range: "10.0.0.9-10.0.0.5/24" }, "ipam.range_end", ["10.0.0.0/24 10.0.0.9-10.0.0.254"]],
    [{ range: "10.0.0.5-10.0.0.9/24", range_start: "10.0.0.6" }, "ipam.range_start", ["10.0.0.0/24 10.0.0.5-10.0.0.9"]],
    [{ range: "10.0.0.0/24", excludes: [] }, "ipam.excludes", [whole]],
    [{ range: "10.0.0.0/24", Range: "10.0.0.0/24" }, "ipam.Range", [whole]],
    [{ ipRanges: [{ range: "10.0.0.0/24" }], exclude: ["10.0.0.1"] }, "ipam.exclude", [whole]],
    [{ range: "10.0.0.0/24", gateway: "fd00::1" }, "ipam.gateway", [whole]],
    [
      { range: "10.0.0.0/24", addresses: [{ address: "10.0.0.5/24", gateway: "fd00::1" }] },
      "ipam.addresses[0].gateway",
      [whole],
    ],
    [{ range: "10.0.0.0/24", sleep_for_race: 11 }, "ipam.sleep_for_race", [whole]],
    [{ range: "10.0.0.0/24", datastore: "etcd" }, "ipam.datastore", [whole]],
    [{ range: "10.0.0.0/24", routes: [{ dst: "10.9.0.1/16" }] }, "ipam.routes[0].dst", [whole]],
  ] as const)("%j", (ipam, key, expected) => {
    for (const said of [ipam, { ...ipam, strict: false }]) {
      const { config, warnings } = parse(said);
      expect(warnings.map((warning) => warning.key)).toEqual([key]);
      expect(pools(config)).toEqual(expected);
    }
    const refused = problems({ ...ipam, strict: true });
    expect(refused).toHaveLength(1);
    expect(refused[0]!.startsWith(`${key} is `)).toBe(true);
  });

  it("under either name of the type", () => {
    const ipam = { range: "10.0.0.0/24", range_start: "10.0.9.9" };
    for (const type of ["holdfast", "whereabouts"]) expect(parse({ ...ipam, type }).warnings).toHaveLength(1);
  });

  it.each([
    [{ range: "10.0.0.0/24", pick_addresses: ["10.0.1.1"] }, "ipam.pick_addresses[0]", [whole]],
    [{ range: "10.0.0.0/24", network_name: "Blue_Net" }, "ipam.network_name", [whole]],
    [{ range: "10.0.0.0/24", network_name: "a".repeat(210) }, "ipam.network_name", [whole]],
    [{}, "ipam.range", []],
  ] as const)(
    "what is new here, or never worked there, is refused unless strict is false: %j",
    (ipam, key, expected) => {
      for (const said of [ipam, { ...ipam, strict: true }]) {
        expect(problems(said)).toHaveLength(1);
        expect(problems(said)[0]!.startsWith(`${key} is `)).toBe(true);
      }
      const { config, warnings } = parse({ ...ipam, strict: false });
      expect(warnings.map((warning) => warning.key)).toEqual([key]);
      expect(warnings[0]!.message).toContain("; with strict: false ");
      expect(pools(config)).toEqual(expected);
    },
  );

  it("names the key that was probably meant", () => {
    const { warnings } = parse({ range: "10.0.0.0/24", range_strat: "10.0.0.5" });
    expect(warnings[0]!.message).toContain("range_start was probably meant");
  });

  it("tells of a second range of a family that the version has no room for", () => {
    const ipam = { range: "10.0.0.0/24", ipRanges: [{ range: "fd00::/64" }, { range: "10.1.0.0/24" }] };
    expect(problems({ ...ipam, strict: true }, undefined, "0.2.0")).toEqual([
      expect.stringContaining('ipam.ipRanges[1].range is "10.1.0.0/24"'),
    ]);
    expect(parse(ipam, undefined, "0.2.0").warnings).toHaveLength(1);
  });
});

describe("everything together", () => {
  it("reports all mistakes of one configuration at once", () => {
    const found = problems({
      range: "x",
      exclude: ["y"],
      gateway: "z",
      colour: 1,
      routes: [{ dst: "w" }],
      enable_l3: 1,
      strict: true,
    });
    expect(found.map((message) => message.split(" ")[0])).toEqual([
      "ipam.colour",
      "ipam.enable_l3",
      "ipam.exclude[0]",
      "ipam.range",
      "ipam.gateway",
      "ipam.routes[0].dst",
    ]);
  });

  it("lists no more mistakes than anyone reads, and counts the rest", () => {
    const ipam = Object.fromEntries(Array.from({ length: 130 }, (_, index) => [`key${index}`, 1]));
    expect(problems({ range: "10.0.0.0/24", ...ipam, strict: true })).toHaveLength(100);
    expect(() => parse({ range: "10.0.0.0/24", ...ipam, strict: true })).toThrow(
      /has 130 mistakes: .*\(30 more are not listed\.\)$/,
    );
    expect(parse({ range: "10.0.0.0/24", ...ipam }).warnings).toHaveLength(100);
  });

  it("stops at a number of ranges that no interface needs", () => {
    const ipRanges = Array.from({ length: 257 }, (_, index) => ({ range: `10.${index >> 8}.${index & 255}.0/24` }));
    expect(problems({ ipRanges })).toEqual([expect.stringContaining("ipam.ipRanges is 257")]);
    expect(parse({ ipRanges: ipRanges.slice(1) }).config.ranges).toHaveLength(256);
  });

  it("has the defaults", () => {
    const { config, warnings } = parse({ range: "10.0.0.0/24" });
    expect(warnings).toEqual([]);
    expect(config).toMatchObject({
      name: "blue",
      cniVersion: "1.0.0",
      strict: undefined,
      excludeGateway: true,
      networkName: "",
      overlappingRanges: true,
      poolNaming: "whereabouts",
      poolNamespace: "cluster",
      routes: [],
      dns: {},
      addresses: [],
    });
    expect(config.ranges[0]).not.toHaveProperty("sliceLength");
    expect(parse({ range: "10.0.0.0/24", strict: false }).config.excludeGateway).toBe(false);
  });

  it("cannot be changed afterwards", () => {
    const { config } = parse({ range: "10.0.0.0/24", dns: { search: ["a"] }, exclude: ["10.0.0.1"] });
    for (const part of [config, config.ranges, config.ranges[0], config.ranges[0]!.excludes[0], config.dns.search]) {
      expect(Object.isFrozen(part)).toBe(true);
    }
  });

  it("accepts what has no effect, and never repeats a password", () => {
    const { warnings, notices } = parse({
      range: "10.0.0.0/24",
      leader_lease_duration: 1500,
      etcd_password: "hunter2",
      etcd_host: "",
      log_level: "debug",
      kubernetes: { kubeconfig: "/etc/cni/net.d/whereabouts.d/whereabouts.kubeconfig" },
    });
    expect(warnings).toEqual([]);
    expect(notices.map(({ message }) => message)).toEqual([
      expect.stringMatching(/^ipam\.leader_lease_duration has no effect: /),
      expect.stringMatching(/^ipam\.etcd_password has no effect: /),
      expect.stringMatching(/^ipam\.log_level has no effect: /),
      expect.stringMatching(/^ipam\.kubernetes\.kubeconfig has no effect: /),
    ]);
    expect(JSON.stringify(notices)).not.toContain("hunter2");
    expect(problems({ range: "10.0.0.0/24", etcd_password: ["hunter2"] })[0]).not.toContain("hunter2");
  });

  it("leaves a gateway of the other family out", () => {
    const addresses = [{ address: "10.0.0.5/24", gateway: "fd00::1" }];
    expect(parse({ addresses, strict: false }).config.addresses[0]).not.toHaveProperty("gateway");
  });

  it("reads slices", () => {
    const lengths = (ipam: Readonly<Record<string, unknown>>) =>
      parse(ipam).config.ranges.map(({ sliceLength, floatingLength }) => [sliceLength, floatingLength]);
    expect(lengths({ range: "10.0.0.0/8", node_slice_size: "/22", fast_ipam: true })).toEqual([[22, undefined]]);
    expect(lengths({ range: "fd00::/64", node_slice_size: "80" })).toEqual([[80, undefined]]);
    const six = { range: "fd00::/64", node_slice_size: "/80", floating_slice_size: "/72" };
    const both = { range: "10.0.0.0/16", ipRanges: [six], node_slice_size: "/24", floating_slice_size: "/22" };
    expect(lengths(both)).toEqual([
      [24, 22],
      [80, 72],
    ]);
    expect(lengths({ range: "10.0.0.0/16", ipRanges: [{ range: "fd00::/64", node_slice_size: "/80" }] })).toEqual([
      [undefined, undefined],
      [80, undefined],
    ]);
  });
});

describe("the flat file", () => {
  it("fills what is missing, deep, and nothing else", () => {
    const { config } = parse(
      { range: "10.0.0.0/24", gateway: "", dns: { domain: "" } },
      { range: "10.9.0.0/24", gateway: "10.0.0.1", dns: { domain: "example.org" }, sticky: "statefulset" },
    );
    expect(pools(config)).toEqual(["10.0.0.0/24 10.0.0.1-10.0.0.254"]);
    expect(config).toMatchObject({ dns: { domain: "example.org" }, sticky: "statefulset" });
    expect(`${config.gateway}`).toBe("10.0.0.1");
  });

  it("does not switch overlapping ranges off, and says so", () => {
    const { config, notices } = parse({ range: "10.0.0.0/24" }, { enable_overlapping_ranges: false });
    expect(config.overlappingRanges).toBe(true);
    expect(notices.map((notice) => notice.key)).toEqual(["/flat: enable_overlapping_ranges"]);
    const inline = parse(
      { range: "10.0.0.0/24", enable_overlapping_ranges: false },
      { enable_overlapping_ranges: true },
    );
    expect(inline.config.overlappingRanges).toBe(false);
  });

  it("names itself in its problems, and decides on strictness where the network does not", () => {
    expect(problems({ range: "10.0.0.0/24" }, { log_file: 1 })).toEqual([
      "/flat: log_file comes from the flat file, and cannot be used as it is: correct it there.",
    ]);
    expect(parse({ range: "10.0.0.0/24", nonsense: 1 }, { strict: false }).config.strict).toBe(false);
    expect(parse({ range: "10.0.0.0/24", nonsense: 1, Strict: false }).config.strict).toBe(false);
    expect(problems({ range: "10.0.0.0/24", nonsense: 1, strict: true }, { strict: false })).toHaveLength(1);
    const network = parseNetwork('{"ipam":{"type":"holdfast"}}');
    expect(() => parseIpamConfig(network, { path: "/flat", text: "{" })).toThrow("the flat file /flat is not JSON");
  });

  it.each([
    [{ range: "hunter2" }],
    [{ range: ["hunter2"] }],
    [{ range: "10.0.0.0/24", exclude: ["hunter2"] }],
    [{ range: "10.0.0.0/24", gateway: "hunter2" }],
    [{ range: "10.0.0.0/24", range_start: "hunter2" }],
    [{ range: "10.0.0.0/24", pool_naming: "hunter2" }],
    [{ range: "10.0.0.0/24", addresses: [{ address: "hunter2" }], routes: [{ dst: "hunter2" }] }],
    [{ range: "10.0.0.0/24", hunter2: "hunter2", kubernetes: { hunter2: "hunter2" } }],
    [{ ipRanges: [{ range: "hunter2", hunter2: 1 }] }],
    [{ auths: { "hunter2.example.org": { auth: "hunter2" } } }],
  ])("repeats nothing of its content: %j", (flat) => {
    for (const strict of [undefined, true, false]) {
      const said = (() => {
        try {
          const { warnings, notices } = parse({ ...(strict !== undefined && { strict }), gateway: "" }, flat);
          return JSON.stringify([warnings, notices]);
        } catch (error) {
          return `${(error as Error).message} ${JSON.stringify((error as CniError).problems)}`;
        }
      })();
      expect(said).not.toContain("hunter2");
    }
    const network = parseNetwork('{"ipam":{"type":"holdfast"}}');
    expect(() => parseIpamConfig(network, { path: "/flat", text: "hunter2: x" })).toThrow(/^(?!.*hunter2)/s);
  });
});
