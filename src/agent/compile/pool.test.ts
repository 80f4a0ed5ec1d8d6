import { describe, expect, test } from "vitest";

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
    expect([definition?.routers, definition?.dnsServers, definition?.domainName]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
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
    // An empty text is no text; an empty entry of a list is a mistake in the list, and told of.
    expect(findings).toEqual([expect.stringContaining('domainSearch[0]: "" is no domain')]);
    for (const option of ["domainName", "routers", "domainSearch", "dnsServers"]) {
      expect(definition).not.toHaveProperty(option);
    }
  });

  test.each([
    ["no subnet", { cidr: "10.1.0.0" }, /has no prefix length/],
    ["a subnet of IPv6", { cidr: "fd00::/64" }, /"fd00::\/64" is IPv6/],
    ["a server elsewhere", { serverIP: "10.2.0.2" }, /10.2.0.2 is not within the subnet 10.1.0.0\/24/],
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
    ["a router of IPv6", { router: "fd00::1" }, "routers", undefined],
    ["a bad route", { routes: [{ destination: "zz", gateway: "10.1.0.1" }] }, "routes", undefined],
    [
      "a custom option of an unknown type",
      { options: [{ code: 224, type: "float", value: "1" }] },
      "custom",
      undefined,
    ],
    ["a custom option of the protocol", { options: [{ code: 53, type: "uint8", value: "1" }] }, "custom", undefined],
    ["an option twice", { router: "10.1.0.1", options: [{ code: 3, value: "10.1.0.9" }] }, "custom", undefined],
    ["a search domain that is none", { domainSearch: ["a..b"] }, "domainSearch", undefined],
  ] as const)("that has %s is served without it, and says so", (_, config, field, left) => {
    const { definition, findings } = compiled(config);
    expect(definition).toBeDefined();
    expect(findings).toHaveLength(1);
    expect(definition?.[field]?.length).toBe(left);
  });

  test("without a server has the first host that is nothing else, as controller and webhook say", () => {
    const { definition, findings } = compiled({ serverIP: undefined, router: "10.1.0.1" });
    expect([String(definition?.serverIdentifier), findings]).toEqual(["10.1.0.2", []]);
  });

  test("with a lease time that cannot be has the usual one", () => {
    const { definition, findings } = compiled({ leaseTime: -5 });
    expect(definition?.leaseSeconds).toBe(86_400);
    expect(findings).toEqual([expect.stringContaining("-5")]);
  });

  test("that is paused is not served, and that is no finding", () => {
    expect(compiled({}, { paused: true })).toMatchObject({ definition: undefined, findings: [] });
  });

  test("with IPv6 has what DHCPv6 and advertisements say; a mistake there costs IPv4 nothing", () => {
    const ipv6Config = {
      cidr: "fd00:48::/64",
      leaseTime: 600,
      dns: ["fd00:48::53"],
      reservations: [{ ipAddress: "fd00:48::9", macAddress: "02:aa:00:00:00:01" }],
    };
    const { definitionV6, reservationsV6, findings } = compiled({}, { ipv6Config });
    expect(findings).toEqual([]);
    expect(definitionV6).toMatchObject({ name: "default/net-1", leaseSeconds: 600, advertise: true });
    expect([String(definitionV6?.subnet), texts(definitionV6?.dnsServers)]).toEqual(["fd00:48::/64", ["fd00:48::53"]]);
    expect(reservationsV6.map(({ address, mac }) => [String(address), mac])).toEqual([
      ["fd00:48::9", "02:aa:00:00:00:01"],
    ]);
    const bad = compiled({}, { ipv6Config: { cidr: "10.9.0.0/24" } });
    expect([bad.definition === undefined, bad.definitionV6, bad.findings.length]).toEqual([false, undefined, 1]);
    expect(compiled({}, { paused: true, ipv6Config })).toMatchObject({ definitionV6: undefined });
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
    expect(findings).toEqual([
      expect.stringContaining('reservations[2].macAddress: "zz" is not a MAC address'),
      expect.stringContaining('reservations[3].hostname: "not a host name" cannot be sent'),
    ]);
  });
});
