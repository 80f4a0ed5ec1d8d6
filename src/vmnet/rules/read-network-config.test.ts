// What a network config asks for, NIC by NIC.
import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { issuesOf, readNetworkConfig } from "./read-network-config.ts";
import { configOf } from "./testing/pool.ts";

const good = { networkName: "tenant-a/net-48", macAddress: "02:00:00:00:00:01" };

const words = (...nics: readonly object[]) =>
  issuesOf(configOf(nics))
    .map(({ weight, field, message }) => `${weight} ${field}: ${message}`)
    .join("\n");

describe("a network config", () => {
  test("one request per NIC, in their order, MACs in lower case", () => {
    const { nics, issues, key, vmName } = configOf([
      { ...good, macAddress: "02:00:00:00:00:AB" },
      { networkName: "default/other", macAddress: "02-00-00-00-00-02", ipAddress: "10.1.0.7" },
    ]);
    expect(issues).toEqual([]);
    expect({ key, vmName }).toEqual({ key: "tenant-a/vm-a", vmName: "vm-a" });
    expect(nics.map(({ plan }) => `${plan?.network.domain} ${plan?.mac} ${plan?.wanted?.toString() ?? "any"}`)).toEqual(
      ["vm-network:tenant-a/net-48 02:00:00:00:00:ab any", "vm-network:default/other 02:00:00:00:00:02 10.1.0.7"],
    );
  });

  test("the former name of the list is read; of both, today's counts", () => {
    const former = configOf([], { networkConfigs: undefined, networkConfig: [good] });
    expect(former.nics.map(({ plan }) => plan?.mac)).toEqual([good.macAddress]);
    const other = { ...good, macAddress: "02:00:00:00:00:02" };
    const both = configOf([good], { networkConfig: [other] });
    expect(both.nics.map(({ plan }) => plan?.mac)).toEqual([good.macAddress]);
    expect(both.issues[0]).toMatchObject({ weight: "tolerated", field: "spec.networkConfig" });
  });

  test("many NICs, long names", () => {
    const long = `${"a".repeat(60)}/${"b".repeat(200)}`;
    const nics = Array.from({ length: 8 }, (_, at) => ({ networkName: long, macAddress: `02:00:00:00:00:0${at}` }));
    expect(issuesOf(configOf(nics))).toEqual([]);
  });

  test("one bad NIC stops no other", () => {
    const { nics } = configOf([
      { ...good, macAddress: "not-a-mac" },
      { ...good, macAddress: "02:00:00:00:00:02" },
    ]);
    expect(nics.map(({ plan }) => plan?.mac)).toEqual([undefined, "02:00:00:00:00:02"]);
    expect(nics[0]).toMatchObject({ index: 0, macAddress: "not-a-mac", networkName: "tenant-a/net-48" });
  });

  test.each([
    ["a MAC", { ...good, macAddress: "zz" }, /networkConfigs\[0\].macAddress: "zz" is not a MAC address/],
    ["no MAC", { networkName: "a/b" }, /macAddress: it is missing/],
    ["a group MAC", { ...good, macAddress: "01:00:5e:00:00:01" }, /no address of one NIC/],
    ["a MAC of zeros", { ...good, macAddress: "00:00:00:00:00:00" }, /no address of one NIC/],
    ["no network", { macAddress: good.macAddress }, /networkName: it is missing/],
    ["a network of three parts", { ...good, networkName: "a/b/c" }, /is no network/],
    ["an address", { ...good, ipAddress: "zz" }, /ipAddress: "zz" is not an IP address/],
  ])("%s", (_, nic, said) => {
    expect(words(nic)).toMatch(said);
    expect(words(nic)).toMatch(/^error/);
  });

  test("a network without a namespace is one of default", () => {
    const { nics } = configOf([{ ...good, networkName: "net-48" }]);
    expect(nics[0]?.plan?.network.key).toBe("default/net-48");
    expect(nics[0]?.issues[0]).toMatchObject({ weight: "tolerated" });
  });

  test("no NIC at all, no VM name", () => {
    expect(words()).toMatch(/^tolerated spec.networkConfigs: it has no NIC/);
    const nameless = configOf([good], { vmName: undefined });
    expect(nameless).toMatchObject({ vmName: "vm-a", issues: [{ weight: "tolerated", field: "spec.vmName" }] });
  });

  test("of two NICs with one MAC on one network the first counts; on two networks both do", () => {
    const { nics } = configOf([
      good,
      { ...good, macAddress: "02-00-00-00-00-01" },
      { ...good, networkName: "a/other" },
    ]);
    expect(nics.map(({ plan }) => plan !== undefined)).toEqual([true, false, true]);
    expect(nics[1]?.issues[0]?.message).toContain("is NIC 0's on tenant-a/net-48 already");
  });

  test("nor do two ask for one address", () => {
    const second = { ...good, macAddress: "02:00:00:00:00:02", ipAddress: "10.1.0.7" };
    expect(words({ ...good, ipAddress: "10.1.0.7" }, second)).toContain("10.1.0.7 is NIC 0's");
  });

  test("each family has its field, and no other's address in it", () => {
    const { nics } = configOf([{ ...good, ipAddress: "10.1.0.7", ipv6Address: "FD00:0::7" }]);
    expect(`${nics[0]?.plan?.wanted} ${nics[0]?.plan?.wantedIpv6}`).toBe("10.1.0.7 fd00::7");
    expect(words({ ...good, ipAddress: "fd00::7" })).toContain('"fd00::7" is an IPv6 address; write it as ipv6Address');
    expect(words({ ...good, ipv6Address: "10.1.0.7" })).toContain("is an IPv4 address; write it as ipAddress");
    const second = { ...good, macAddress: "02:00:00:00:00:02", ipv6Address: "fd00::7" };
    expect(words({ ...good, ipv6Address: "fd00::7" }, second)).toContain("fd00::7 is NIC 0's");
  });

  test("whatever stands there, it never throws, and every NIC is a request or says why not", () => {
    const nic = fc.dictionary(
      fc.constantFrom("networkName", "macAddress", "ipAddress", "ipv6Address"),
      fc.oneof(fc.jsonValue(), fc.ipV4(), fc.ipV6(), fc.constant("a/b"), fc.constant("02:00:00:00:00:01")),
    );
    const list = fc.oneof(fc.array(fc.oneof(nic, fc.jsonValue())), fc.jsonValue());
    const spec = fc.record({
      vmName: fc.jsonValue(),
      paused: fc.jsonValue(),
      networkConfigs: list,
      networkConfig: list,
    });
    fc.assert(
      fc.property(fc.oneof(spec, fc.jsonValue()), (value) => {
        for (const each of readNetworkConfig({ metadata: { namespace: "a", name: "b" }, spec: value }).nics) {
          expect(each.plan === undefined).toBe(each.issues.some(({ weight }) => weight === "error"));
        }
      }),
    );
  });
});
