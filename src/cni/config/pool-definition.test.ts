// The gateway: which addresses are told of it, and whether pods can get it.
import { describe, expect, it } from "vitest";

import { parseIpamConfig } from "./ipam-config.ts";
import { parseNetwork } from "./network.ts";
import { gatewayOf, poolDefinitionOf } from "./pool-definition.ts";

type Ipam = Readonly<Record<string, unknown>>;

function parse(ipam: Ipam) {
  return parseIpamConfig(parseNetwork(JSON.stringify({ cniVersion: "1.0.0", ipam: { type: "holdfast", ...ipam } })));
}

describe("the gateway", () => {
  const dual = { ipRanges: [{ range: "10.0.0.0/24" }, { range: "fd00::/64" }, { range: "10.1.0.0/24" }] };
  const gateways = (ipam: Ipam) => {
    const { config } = parse(ipam);
    return config.ranges.map((range) => gatewayOf(config, range)?.toString());
  };

  it("is told to addresses that can reach it, never to those of the other family", () => {
    expect(gateways({ ...dual, gateway: "10.1.0.1" })).toEqual([undefined, undefined, "10.1.0.1"]);
    expect(gateways({ ...dual, gateway: "fe80::1" })).toEqual([undefined, "fe80::1", undefined]);
    expect(gateways({ ...dual, gateway: "010.9.9.9" })).toEqual(["10.9.9.9", undefined, "10.9.9.9"]);
    expect(gateways(dual)).toEqual([undefined, undefined, undefined]);
  });

  it.each([
    [{}, "10.0.0.1"],
    [{ exclude_gateway: false }, undefined],
    [{ strict: false }, undefined],
    [{ strict: false, exclude_gateway: true }, "10.0.0.1"],
    [{ gateway: "10.9.0.1" }, undefined],
  ])("is kept from pods: %j -> %s", (more, expected) => {
    const { config } = parse({ range: "10.0.0.0/24", gateway: "10.0.0.1", ...more });
    expect(poolDefinitionOf(config, config.ranges[0]!).gateway?.toString()).toBe(expected);
  });
});
