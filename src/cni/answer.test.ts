// From a configuration to an answer, with a real pool of src/ipam in between.
import { describe, expect, it } from "vitest";

import { decide } from "../ipam/decide.ts";
import { Pool } from "../ipam/pool.ts";
import { parseAddress } from "../net/address.ts";
import { answerOf } from "./answer.ts";
import { parseIpamConfig } from "./config/ipam-config.ts";
import { parseNetwork } from "./config/network.ts";
import { poolDefinitionOf, wantOf } from "./config/pool-definition.ts";
import { type AttachmentInvocation, ownerOf, parseInvocation } from "./invocation.ts";
import { formatResult } from "./result.ts";
import { staticRequests } from "./static-request.ts";

const invocation = parseInvocation({
  CNI_COMMAND: "ADD",
  CNI_CONTAINERID: "c1",
  CNI_NETNS: "/run/netns/c1",
  CNI_IFNAME: "net1",
  CNI_ARGS: "K8S_POD_NAMESPACE=shop;K8S_POD_NAME=web-0;K8S_POD_UID=u1",
}) as AttachmentInvocation;

/** JSON in, JSON out, on empty pools. */
function add(ipam: Readonly<Record<string, unknown>>, cniVersion: string, ips: readonly string[] = []): unknown {
  const network = parseNetwork(
    JSON.stringify({ cniVersion, name: "blue", capabilities: { ips: true }, ipam: { type: "holdfast", ...ipam } }),
  );
  const { config } = parseIpamConfig(network);
  const { requests } = staticRequests(config, { args: { ips, gateways: [] } });
  const allocated = config.ranges.map((range, index) => {
    const pool = new Pool(poolDefinitionOf(config, range), () => 0);
    const decision = decide(pool, { owner: ownerOf(invocation), want: wantOf(range) }, () => 0);
    if (decision.kind === "refusal") throw new Error(decision.message);
    return [index, decision.address] as const;
  });
  const result = answerOf(config, new Map(allocated), requests);
  return JSON.parse(JSON.stringify(formatResult(result, network.cniVersion)));
}

describe("ADD, without its ledger", () => {
  it("skips gateway and excludes, and gives one address of each range, in order", () => {
    const ipam = {
      range: "10.0.0.0/24",
      gateway: "10.0.0.1",
      exclude: ["10.0.0.2/31"],
      ipRanges: [{ range: "fd00::/64", pick_addresses: ["fd00::9"] }],
      routes: [{ dst: "0.0.0.0/0" }],
      dns: { domain: "example.org" },
    };
    expect(add(ipam, "1.0.0")).toEqual({
      cniVersion: "1.0.0",
      ips: [{ address: "10.0.0.4/24", gateway: "10.0.0.1" }, { address: "fd00::9/64" }],
      routes: [{ dst: "0.0.0.0/0" }],
      dns: { domain: "example.org" },
    });
    expect(add(ipam, "0.2.0")).toEqual({
      cniVersion: "0.2.0",
      ip4: { ip: "10.0.0.4/24", gateway: "10.0.0.1", routes: [{ dst: "0.0.0.0/0" }] },
      ip6: { ip: "fd00::9/64" },
      dns: { domain: "example.org" },
    });
  });

  it("hands the gateway out only where asked to", () => {
    const ipam = { range: "10.0.0.0/24", gateway: "10.0.0.1" };
    expect(add(ipam, "1.0.0")).toMatchObject({ ips: [{ address: "10.0.0.2/24" }] });
    expect(add({ ...ipam, strict: false }, "1.0.0")).toMatchObject({ ips: [{ address: "10.0.0.1/24" }] });
  });

  it("lets a static address stand for its range, and puts one of no range last", () => {
    const ipRanges = [{ range: "10.0.0.0/24" }, { range: "fd00::/64" }];
    const ipam = { ipRanges, gateway: "10.0.0.1", addresses: [{ address: "10.7.0.5/16" }] };
    expect(add(ipam, "1.1.0", ["10.0.0.50"])).toMatchObject({
      ips: [{ address: "10.0.0.50/24", gateway: "10.0.0.1" }, { address: "fd00::1/64" }, { address: "10.7.0.5/16" }],
    });
  });

  it("is never half an answer", () => {
    const ipam = { type: "holdfast", ipRanges: [{ range: "10.0.0.0/24" }, { range: "fd00::/64" }] };
    const { config } = parseIpamConfig(parseNetwork(JSON.stringify({ ipam })));
    expect(() => answerOf(config, new Map([[0, parseAddress("10.0.0.1")]]))).toThrow("range 1, fd00::/64");
  });
});

describe("a default route and DNS", () => {
  const gateway = "10.0.0.1";
  const beside = {
    name: "blue",
    type: "ovs",
    topology: "layer2",
    subnets: "10.0.0.0/24",
    allowPersistentIPs: true,
  };

  it.each<[string, Readonly<Record<string, unknown>>, Readonly<Record<string, unknown>>]>([
    ["a range of whereabouts", { name: "blue" }, { type: "whereabouts", range: "10.0.0.0/24", gateway }],
    ["the same, lenient", { name: "blue" }, { type: "whereabouts", range: "10.0.0.0/24", gateway, strict: false }],
    ["subnets of OVN", beside, { type: "holdfast", gateway }],
  ])("come with no result where none is configured, a gateway or not: %s", (_, plugin, ipam) => {
    for (const cniVersion of ["0.2.0", "0.4.0", "1.0.0", "1.1.0"]) {
      const network = parseNetwork(JSON.stringify({ cniVersion, ...plugin, ipam }));
      const { config } = parseIpamConfig(network);
      const answer = answerOf(config, new Map([[0, parseAddress("10.0.0.9")]]));
      const result = JSON.parse(JSON.stringify(formatResult(answer, network.cniVersion))) as Record<string, unknown>;
      expect(JSON.stringify(result)).toContain(gateway);
      expect(JSON.stringify(result)).not.toContain("dst");
      expect(result["routes"] ?? []).toEqual([]);
      expect(result["dns"] ?? {}).toEqual({});
    }
  });

  it.each([
    ["a range of whereabouts", { name: "blue" }, { range: "10.0.0.0/24" }],
    ["subnets of OVN", beside, {}],
  ])("come as they are configured: %s", (_, plugin, ipam) => {
    const wanted = { routes: [{ dst: "0.0.0.0/0", gw: gateway }], dns: { nameservers: ["10.0.0.2"] } };
    const text = JSON.stringify({ cniVersion: "1.0.0", ...plugin, ipam: { type: "holdfast", ...ipam, ...wanted } });
    const { config } = parseIpamConfig(parseNetwork(text));
    const answer = answerOf(config, new Map([[0, parseAddress("10.0.0.9")]]));
    expect(formatResult(answer, "1.0.0")).toMatchObject(wanted);
  });
});
