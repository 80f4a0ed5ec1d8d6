// Results in the form of each version, and back again.
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { parseAddress } from "../net/address.ts";
import { parseCidr } from "../net/prefix.ts";
import { parseNetwork } from "./config/network.ts";
import type { CniError } from "./error.ts";
import { parsePreviousResult, requirePreviousResult } from "./previous-result.ts";
import { type CniResult, formatResult } from "./result.ts";
import { atLeast, specVersions } from "./version.ts";

const dual: CniResult = {
  interfaces: [{ name: "net1", mac: "02:00:00:00:00:01", mtu: 1400, sandbox: "/run/netns/c1" }],
  ips: [
    { address: parseCidr("10.0.0.5/24"), gateway: parseAddress("10.0.0.1"), interface: 0 },
    { address: parseCidr("fd00::5/64") },
  ],
  routes: [
    { dst: parseCidr("0.0.0.0/0"), gw: parseAddress("10.0.0.1") },
    { dst: parseCidr("fd01::/64"), priority: 7 },
  ],
  dns: { nameservers: ["10.0.0.53"] },
};

const old = {
  ip4: { ip: "10.0.0.5/24", gateway: "10.0.0.1", routes: [{ dst: "0.0.0.0/0", gw: "10.0.0.1" }] },
  ip6: { ip: "fd00::5/64", routes: [{ dst: "fd01::/64", priority: 7 }] },
  dns: { nameservers: ["10.0.0.53"] },
};
const tail = {
  routes: [
    { dst: "0.0.0.0/0", gw: "10.0.0.1" },
    { dst: "fd01::/64", priority: 7 },
  ],
  dns: { nameservers: ["10.0.0.53"] },
};
const plainInterface = { name: "net1", mac: "02:00:00:00:00:01", sandbox: "/run/netns/c1" };
const middle = {
  interfaces: [plainInterface],
  ips: [
    { version: "4", interface: 0, address: "10.0.0.5/24", gateway: "10.0.0.1" },
    { version: "6", address: "fd00::5/64" },
  ],
  ...tail,
};
const modern = {
  ips: [{ interface: 0, address: "10.0.0.5/24", gateway: "10.0.0.1" }, { address: "fd00::5/64" }],
  ...tail,
};

describe("formatResult", () => {
  it.each([
    ["0.1.0", old],
    ["0.2.0", old],
    ["0.3.0", middle],
    ["0.3.1", middle],
    ["0.4.0", middle],
    ["1.0.0", { interfaces: [plainInterface], ...modern }],
    ["1.1.0", { interfaces: [{ ...plainInterface, mtu: 1400 }], ...modern }],
  ] as const)("%s", (version, expected) => {
    expect(JSON.parse(JSON.stringify(formatResult(dual, version)))).toEqual({ cniVersion: version, ...expected });
  });

  it("writes dns always, and lists only where there is something in them", () => {
    const empty = { interfaces: [], ips: [], routes: [], dns: {} };
    expect(formatResult(empty, "1.0.0")).toEqual({ cniVersion: "1.0.0", dns: {} });
    expect(formatResult(empty, "0.2.0")).toEqual({ cniVersion: "0.2.0", dns: {} });
  });
});

const v4 = fc.integer({ min: 1, max: 254 }).map((last) => parseCidr(`10.0.0.${last}/24`));
const v6 = fc.integer({ min: 1, max: 9 }).map((last) => parseCidr(`fd00::${last}/64`));
const gateway = fc.constantFrom("10.0.0.1", "10.0.0.2").map((text) => parseAddress(text));
const anyResult: fc.Arbitrary<CniResult> = fc.record({
  interfaces: fc.constant([]),
  ips: fc.array(
    fc.oneof(
      fc.record({ address: v4, gateway }),
      v4.map((address) => ({ address })),
      v6.map((address) => ({ address })),
    ),
    { maxLength: 4 },
  ),
  routes: fc.array(
    fc.constantFrom("0.0.0.0/0", "10.9.0.0/16", "::/0").map((dst) => ({ dst: parseCidr(dst) })),
    { maxLength: 3 },
  ),
  dns: fc.constantFrom({}, { search: ["a"] }),
});

describe("parsePreviousResult", () => {
  it("is the inverse of formatResult, as far as the version has room", () => {
    fc.assert(
      fc.property(anyResult, fc.constantFrom(...specVersions), (result, version) => {
        const back = parsePreviousResult(formatResult(result, version), "1.1.0");
        if (atLeast(version, "0.3.0")) {
          expect(back).toEqual(result);
          return;
        }
        const families = ([4, 6] as const).filter((family) =>
          result.ips.some((ip) => ip.address.address.family === family),
        );
        expect(back.ips).toEqual(
          families.map((family) => result.ips.find((ip) => ip.address.address.family === family)),
        );
        expect(back.routes).toEqual(
          families.flatMap((family) => result.routes.filter((route) => route.dst.address.family === family)),
        );
      }),
    );
  });

  it("keeps interfaces, and takes the configuration's version where the result has none", () => {
    expect(parsePreviousResult(formatResult(dual, "1.1.0"), "0.1.0")).toEqual(dual);
    expect(parsePreviousResult({ ip4: { ip: "10.0.0.5/24" } }, "0.2.0").ips).toHaveLength(1);
    expect(parsePreviousResult({ ip4: { ip: "10.0.0.5/24" } }, "1.0.0").ips).toHaveLength(0);
  });

  it("is required by CHECK", () => {
    const plugin = { cniVersion: "0.4.0", name: "blue", ipam: { type: "holdfast" } };
    const network = (prevResult?: unknown) => parseNetwork(JSON.stringify({ ...plugin, prevResult }));
    expect(requirePreviousResult(network({ ips: [{ address: "10.0.0.5/24" }] })).ips).toHaveLength(1);
    expect(() => requirePreviousResult(network())).toThrow("prevResult of the network blue is missing");
  });

  it("takes host bits in routes of others", () => {
    const result = parsePreviousResult({ cniVersion: "1.0.0", routes: [{ dst: "10.0.0.1/16" }] }, "1.0.0");
    expect(result.routes).toHaveLength(1);
  });

  it.each([
    [{ ips: [{ address: "x" }, { address: "10.0.0.5" }] }, ["prevResult.ips[0].address", "prevResult.ips[1].address"]],
    [{ ips: [{ address: "10.0.0.5/24", interface: 1 }], interfaces: [{ name: "a" }] }, ["prevResult.ips[0].interface"]],
    [{ ips: [{ address: "10.0.0.5/24", interface: 0 }] }, ["prevResult.ips[0].interface"]],
    [{ ips: [{ address: "10.0.0.5/24", gateway: "x" }] }, ["prevResult.ips[0].gateway"]],
    [{ ips: {}, routes: [1] }, ["prevResult.ips", "prevResult.routes"]],
    [{ routes: [{ dst: "x" }] }, ["prevResult.routes[0].dst"]],
    [{ cniVersion: "0.2.0", ip4: { ip: "fd00::5/64" }, ip6: 1 }, ["prevResult.ip4.ip", "prevResult.ip6"]],
  ])("refuses %j", (object, keys) => {
    let found: string[] = [];
    try {
      parsePreviousResult({ cniVersion: "1.0.0", ...object }, "1.0.0");
    } catch (error) {
      found = (error as CniError).problems.map((problem) => problem.key);
      expect((error as CniError).code).toBe(7);
    }
    expect(found).toEqual(keys);
  });
});
