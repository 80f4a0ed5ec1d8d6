import { describe, expect, test } from "vitest";

import { V4Address } from "../../net/address.ts";
import { compileManagedPool } from "./pool.ts";

const required = { cidr: "10.1.0.0/24", serverIP: "10.1.0.2" };

function compiled(config: object, spec: object = {}) {
  const object = {
    apiVersion: "network.harvesterhci.io/v1alpha1",
    kind: "IPPool",
    metadata: { namespace: "default", name: "net-1" },
    spec: { networkName: "default/net-1", ipv4Config: { ...required, ...config }, ...spec },
  };
  return compileManagedPool(object);
}

const texts = (values: readonly { toString(): string }[] | undefined) => values?.map(String);

describe("a managed pool", () => {
  test("with nothing but the necessary has no options and a lease of a day", () => {
    const { definition, findings, reservations } = compiled({});
    expect(findings).toEqual([]);
    expect(reservations).toEqual([]);
    expect(definition).toMatchObject({ name: "default/net-1", leaseSeconds: 86_400 });
    expect([definition?.routers, definition?.dnsServers, definition?.domainName]).toEqual([[], [], undefined]);
  });

  test("with everything is all of it", () => {
    const { definition, findings } = compiled({
      cidr: "10.1.0.7/24",
      router: "10.1.0.1",
      dns: ["10.1.0.3", "10.1.0.4"],
      domainName: "vm.example",
      domainSearch: ["a.example", "b.example"],
      ntp: ["10.1.0.5"],
      leaseTime: 600,
      mtu: 1400,
      routes: [{ destination: "10.9.0.0/16", gateway: "10.1.0.9" }],
      nextServer: "10.1.0.6",
      tftpServerName: "tftp",
      bootFileName: "pxe.0",
      options: [
        { code: 224, type: "hex", value: "0a:0b" },
        { code: 66 + 84, value: "10.1.0.6,10.1.0.7" },
        { code: 2, value: "3600" },
      ],
      // The design document's place of the range, which does not matter here.
      pool: null,
      start: "10.1.0.10",
      end: "10.1.0.20",
    });
    expect(findings).toEqual([]);
    expect(String(definition?.subnet)).toBe("10.1.0.0/24");
    expect(texts(definition?.dnsServers)).toEqual(["10.1.0.3", "10.1.0.4"]);
    expect(texts(definition?.ntpServers)).toEqual(["10.1.0.5"]);
    expect(definition?.custom?.map(({ code, value }) => [code, value.kind])).toEqual([
      [224, "bytes"],
      [150, "addresses"],
      [2, "uint32"],
    ]);
    expect(definition).toMatchObject({ leaseSeconds: 600, mtu: 1400, domainName: "vm.example", bootFileName: "pxe.0" });
  });

  test("with empty texts has none", () => {
    const { definition, findings } = compiled({ router: "", domainName: "", domainSearch: [""], dns: [] });
    expect(findings).toEqual([]);
    expect(definition).not.toHaveProperty("domainName");
    expect([definition?.routers, definition?.domainSearch]).toEqual([[], []]);
  });

  test.each([
    ["no subnet", { cidr: "10.1.0.0" }, /has no prefix length/],
    ["a subnet of IPv6", { cidr: "fd00::/64" }, /is not of its subnet/],
    ["no server", { serverIP: undefined }, /no spec.ipv4Config.serverIP/],
    ["a server elsewhere", { serverIP: "10.2.0.2" }, /10.2.0.2 is not of its subnet 10.1.0.0\/24/],
    ["a server of words", { serverIP: "zz" }, /not an IP address/],
    ["a list where a text belongs", { cidr: ["10.1.0.0/24"] }, /cidr/],
  ])("that has %s is not served", (_, config, why) => {
    const { definition, findings } = compiled(config);
    expect(definition).toBeUndefined();
    expect(findings.join(" ")).toMatch(why);
  });

  test.each([
    ["a DNS server of words", { dns: ["zz", "10.1.0.3"] }, "dnsServers", 1],
    ["an NTP server by name", { ntp: ["pool.ntp.org", "10.1.0.3"] }, "ntpServers", 1],
    ["a router of IPv6", { router: "fd00::1" }, "routers", 0],
    ["a bad route", { routes: [{ destination: "zz", gateway: "10.1.0.1" }] }, "routes", 0],
    ["a custom option of an unknown type", { options: [{ code: 224, type: "float", value: "1" }] }, "custom", 0],
    ["a custom option of the protocol", { options: [{ code: 53, type: "uint8", value: "1" }] }, "custom", 0],
    ["an option twice", { router: "10.1.0.1", options: [{ code: 3, value: "10.1.0.9" }] }, "custom", 0],
    ["a search domain that is none", { domainSearch: ["a..b"] }, "domainSearch", undefined],
  ] as const)("that has %s is served without it, and says so", (_, config, field, left) => {
    const { definition, findings } = compiled(config);
    expect(definition).toBeDefined();
    expect(findings).toHaveLength(1);
    expect(definition?.[field]?.length).toBe(left);
  });

  test("with a lease time that cannot be has the usual one", () => {
    const { definition, findings } = compiled({ leaseTime: -5 });
    expect(definition?.leaseSeconds).toBe(86_400);
    expect(findings).toEqual([expect.stringContaining("-5")]);
  });

  test("that is paused is not served, and that is no finding", () => {
    expect(compiled({}, { paused: true })).toMatchObject({ definition: undefined, findings: [] });
  });

  test("takes addresses of NTP servers that are known by name", () => {
    const object = {
      apiVersion: "network.harvesterhci.io/v1alpha1",
      kind: "IPPool",
      metadata: { namespace: "default", name: "net-1" },
      spec: { networkName: "default/net-1", ipv4Config: { ...required, ntp: ["time.example"] } },
    };
    const { definition, findings } = compileManagedPool(object, () => [new V4Address(0x0a010009)]);
    expect([texts(definition?.ntpServers), findings]).toEqual([["10.1.0.9"], []]);
  });

  test("gives its reservations with a MAC, in any form; a bad one costs no other", () => {
    const { reservations, findings } = compiled({
      reservations: [
        { ipAddress: "10.1.0.8" },
        { ipAddress: "10.1.0.9", macAddress: "02-AA-00-00-00-01", hostname: "printer" },
        { ipAddress: "10.1.0.10", macAddress: "zz" },
        { ipAddress: "10.1.0.11", macAddress: "02aa.0000.0002", hostname: "not a host name" },
      ],
    });
    expect(reservations.map(({ address, mac, hostName }) => [String(address), mac, hostName])).toEqual([
      ["10.1.0.9", "02:aa:00:00:00:01", "printer"],
      ["10.1.0.11", "02:aa:00:00:00:02", undefined],
    ]);
    expect(findings).toEqual([expect.stringContaining('"zz" is not a MAC address')]);
  });
});
