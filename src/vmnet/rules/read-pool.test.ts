// What a pool means, and every mistake in it: V1 and V4 to V17 of Harvester's webhook, and what it never checked.
import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { compare, next, parseAddress, type V4Address } from "../../net/address.ts";
import { formatInterval } from "../../net/interval.ts";
import { describeIssue, describePool, refusalsOf } from "./issue.ts";
import { placementOf, reservationFor, withheldMarks } from "./pool-plan.ts";
import { readPool } from "./read-pool.ts";
import { type Named, poolObject } from "./testing/pool.ts";

const words = (spec: object, more: Named = {}) => {
  const { plan, issues } = readPool(poolObject(spec, more));
  return {
    isServed: plan !== undefined,
    isAccepted: refusalsOf(issues).length === 0,
    said: issues.map((each) => `${each.weight} ${each.field}: ${each.message}`).join("\n"),
  };
};

const planOf = (spec: object, more: Named = {}) => {
  const { plan, issues } = readPool(poolObject(spec, more));
  if (plan === undefined) throw new Error(issues.map((each) => describeIssue("pool", each)).join(" "));
  return plan;
};

describe("a pool that is right", () => {
  test("Harvester's own: range, excludes, router, server", () => {
    const { ipv4, network, domain, key } = planOf({
      serverIP: "192.168.48.77",
      cidr: "192.168.48.0/24",
      pool: { start: "192.168.48.81", end: "192.168.48.90", exclude: ["192.168.48.81", "192.168.48.90"] },
      router: "192.168.48.1",
    });
    expect(formatInterval(ipv4.range)).toBe("192.168.48.81-192.168.48.90");
    expect(ipv4.capacity).toBe(8n);
    expect(`${ipv4.server} ${ipv4.router}`).toBe("192.168.48.77 192.168.48.1");
    expect({ network: network.key, domain, key }).toEqual({
      network: "tenant-a/net-48",
      domain: "vm-network:tenant-a/net-48",
      key: "tenant-a/pool-48",
    });
    expect(Object.fromEntries(withheldMarks(ipv4, 10).marks)).toEqual({
      "192.168.48.81": "EXCLUDED",
      "192.168.48.90": "EXCLUDED",
    });
    expect(ipv4.definition).toMatchObject({ cooldownMs: 86_400_000 });
  });

  test("the design document's: start and end beside an empty pool", () => {
    const { ipv4 } = planOf({
      serverIP: "172.19.150.2",
      cidr: "172.19.150.0/28",
      pool: null,
      start: "172.19.150.5",
      end: "172.19.150.14",
      leaseTime: 600,
    });
    expect(formatInterval(ipv4.range)).toBe("172.19.150.5-172.19.150.14");
    expect(ipv4.capacity).toBe(10n);
    expect(ipv4.leaseSeconds).toBe(600);
  });

  test("the same ends in both places are one", () => {
    const ends = { start: "10.1.0.5", end: "10.1.0.9" };
    expect(planOf({ cidr: "10.1.0.0/24", pool: ends, ...ends }).ipv4.capacity).toBe(5n);
  });

  test("server and router inside the range are reserved, and no VM's", () => {
    const { ipv4 } = planOf({ cidr: "10.1.0.0/24", serverIP: "10.1.0.2", router: "10.1.0.1" });
    expect(ipv4.capacity).toBe(252n);
    expect(Object.fromEntries(withheldMarks(ipv4, 10).marks)).toEqual({
      "10.1.0.2": "RESERVED",
      "10.1.0.1": "RESERVED",
    });
    expect(placementOf(ipv4, parseAddress("10.1.0.2"))).toEqual({ place: "reserved", reason: "server" });
    expect(placementOf(ipv4, parseAddress("10.1.0.3"))).toEqual({ place: "usable" });
    expect(placementOf(ipv4, parseAddress("10.1.1.3"))).toEqual({ place: "outside-subnet" });
  });

  test("excludes are addresses, CIDRs and FIRST-LAST, cut to the subnet", () => {
    const exclude = ["10.1.0.10", "10.1.0.64/26", "10.1.0.200-10.1.1.20"];
    const { ipv4 } = planOf({ cidr: "10.1.0.0/24", serverIP: "10.1.0.1", pool: { exclude } });
    expect([...ipv4.excluded].map(formatInterval)).toEqual([
      "10.1.0.10",
      "10.1.0.64-10.1.0.127",
      "10.1.0.200-10.1.0.255",
    ]);
    expect(ipv4.capacity).toBe(254n - 1n - 1n - 64n - 55n);
  });

  test("reservations: a device by its MAC, and a VIP of nobody", () => {
    const reservations = [
      { ipAddress: "10.1.0.10", macAddress: "02-00-00-00-00-AA", hostname: "printer" },
      { ipAddress: "10.1.0.11", description: "VIP of the load balancer" },
    ];
    const { ipv4 } = planOf({ cidr: "10.1.0.0/24", reservations });
    const [device] = ipv4.reservations;
    expect(device?.mac).toBe("02:00:00:00:00:aa");
    expect(reservationFor(ipv4, device!.mac!)?.hostname).toBe("printer");
    expect(placementOf(ipv4, parseAddress("10.1.0.10"))).toMatchObject({ place: "reserved", mac: device!.mac });
    expect(placementOf(ipv4, parseAddress("10.1.0.11"))).toEqual({
      place: "reserved",
      reason: "reserved (VIP of the load balancer)",
    });
    expect(ipv4.capacity).toBe(251n);
  });

  test("what guests are told", () => {
    const { ipv4 } = planOf({
      cidr: "10.1.0.0/24",
      router: "10.1.0.1",
      dns: ["10.1.0.53", "1.1.1.1", "8.8.8.8", "9.9.9.9"],
      ntp: ["10.1.0.123"],
      domainName: "vms.example",
      domainSearch: ["vms.example", "example"],
      mtu: 1450,
      routes: [{ destination: "10.9.0.0/16", gateway: "10.1.0.9" }],
      nextServer: "10.1.0.69",
      bootFileName: "pxelinux.0",
      options: [
        { code: 150, value: "10.1.0.69 10.1.0.70" },
        { code: 43, value: "01:04:ff" },
        { code: 224, type: "uint16", value: "513" },
      ],
    });
    expect(ipv4.dhcp).toMatchObject({
      name: "tenant-a/pool-48",
      leaseSeconds: 86_400,
      domainName: "vms.example",
      mtu: 1450,
      bootFileName: "pxelinux.0",
    });
    expect(ipv4.dhcp.dnsServers?.join(" ")).toBe("10.1.0.53 1.1.1.1 8.8.8.8 9.9.9.9");
    expect(ipv4.dhcp.custom?.map((each) => each.code)).toEqual([150, 43, 224]);
  });

  test("what is not set is absent, never empty", () => {
    const { dhcp } = planOf({ cidr: "10.1.0.0/24" }).ipv4;
    expect(Object.keys(dhcp).sort()).toEqual(["leaseSeconds", "name", "serverIdentifier", "subnet"]);
  });

  test("IPv6 beside it: DHCPv6 and router advertisements", () => {
    const { ipv6 } = planOf(
      { cidr: "10.1.0.0/24" },
      {
        ipv6Config: {
          cidr: "fd00:48::/64",
          router: "fe80::1",
          dns: ["fd00:48::53"],
          pool: { exclude: ["fd00:48::/120"] },
        },
      },
    );
    expect(ipv6?.advertise).toBe(true);
    expect(`${ipv6?.router}`).toBe("fe80::1");
    // Not the last one either: it is anycast, and no address of src/ipam.
    expect(ipv6?.capacity).toBe(2n ** 64n - 257n);
  });

  test("a /8 costs what a /28 does: counted without looking at each address", () => {
    const { ipv4 } = planOf({ cidr: "10.0.0.0/8", pool: { exclude: ["10.0.0.0/16"] } });
    expect(ipv4.capacity).toBe(2n ** 24n - 2n ** 16n - 1n - 1n); // the broadcast address, and the server
    expect([...ipv4.usable].length).toBe(2 - 1);
    expect(withheldMarks(ipv4, 100)).toMatchObject({ isCut: true });
    expect(withheldMarks(ipv4, 100).marks.size).toBe(100);
  });
});

/** Not served at all, whoever wrote it: its meaning is not clear. */
const errors: readonly (readonly [rule: string, spec: object, said: RegExp])[] = [
  ["V1 cidr missing", { cidr: undefined }, /cidr: it is missing/],
  ["V1 cidr without a length", { cidr: "10.1.0.0" }, /cidr: "10.1.0.0" has no prefix length/],
  ["V1 cidr of IPv6", { cidr: "fd00::/64" }, /write an IPv4 subnet/],
  ["V1 start", { pool: { start: "zz" } }, /pool.start: "zz" is not an IP address/],
  ["V1 end", { pool: { end: "10.1.0.300" } }, /pool.end: "10.1.0.300" is not/],
  ["V1 serverIP: never replaced", { serverIP: "zz" }, /serverIP: "zz" is not an IP address/],
  ["V1 serverIP of IPv6", { serverIP: "fd00::1" }, /write an IPv4 address/],
  ["V1 router", { router: "zz" }, /router: "zz" is not an IP address/],
  ["V1 a number for a text", { router: 7 }, /router: it is 7; write a text/],
  ["V4 start outside", { pool: { start: "10.2.0.1" } }, /start: 10.2.0.1 is not within the subnet 10.1.0.0\/24/],
  ["V5 start is the network", { pool: { start: "10.1.0.0" } }, /start: 10.1.0.0 is the network address/],
  ["V6 start is the broadcast", { pool: { start: "10.1.0.255" } }, /start: 10.1.0.255 is the broadcast address/],
  ["V7 end outside", { pool: { end: "10.2.0.1" } }, /end: 10.2.0.1 is not within the subnet/],
  ["V8 end is the network", { pool: { end: "10.1.0.0" } }, /end: 10.1.0.0 is the network address/],
  ["V9 end is the broadcast", { pool: { end: "10.1.0.255" } }, /end: 10.1.0.255 is the broadcast address/],
  ["V10 server outside", { serverIP: "10.2.0.1" }, /serverIP: 10.2.0.1 is not within the subnet/],
  ["V11 server is the network", { serverIP: "10.1.0.0" }, /serverIP: 10.1.0.0 is the network address/],
  ["V12 server is the broadcast", { serverIP: "10.1.0.255" }, /serverIP: 10.1.0.255 is the broadcast address/],
  ["V13 server is the router", { serverIP: "10.1.0.1", router: "10.1.0.1" }, /10.1.0.1 is the router too/],
  ["V15 router outside", { router: "10.2.0.1" }, /router: 10.2.0.1 is not within the subnet/],
  ["V16 router is the network", { router: "10.1.0.0" }, /router: 10.1.0.0 is the network address/],
  ["V17 router is the broadcast", { router: "10.1.0.255" }, /router: 10.1.0.255 is the broadcast address/],
  [
    "M1 no room for a server",
    { cidr: "10.1.0.0/30", router: "10.1.0.1", pool: { exclude: ["10.1.0.2"] } },
    /no address of 10.1.0.0\/30 is left for the server/,
  ],
  ["M1 a /31", { cidr: "10.1.0.0/31" }, /no room for a server and a VM; write a \/30 or larger/],
  ["M1 a /32", { cidr: "10.1.0.1/32" }, /no room for a server and a VM/],
  [
    "M3 backwards",
    { pool: { start: "10.1.0.9", end: "10.1.0.5" } },
    /starts at 10.1.0.9 and ends at 10.1.0.5, below it; swap/,
  ],
  ["M4 exclude", { pool: { exclude: ["zz"] } }, /exclude\[0\]: "zz" cannot be read/],
  ["exclude backwards", { pool: { exclude: ["10.1.0.9-10.1.0.5"] } }, /exclude\[0\]/],
  ["exclude is no text", { pool: { exclude: [7] } }, /exclude\[0\]: it is 7/],
  [
    "start in two places",
    { start: "10.1.0.5", pool: { start: "10.1.0.6" } },
    /start: it is "10.1.0.5", and spec.ipv4Config.pool.start is "10.1.0.6"; leave one/,
  ],
  ["end in two places", { end: "10.1.0.5", pool: { end: "10.1.0.6" } }, /leave one of the two out/],
  ["start beside the pool is wrong: never the whole subnet", { start: "zz" }, /spec.ipv4Config.start: "zz"/],
  [
    "a reservation without an address",
    { reservations: [{ macAddress: "02:00:00:00:00:01" }] },
    /reservations\[0\].ipAddress: it is missing/,
  ],
  [
    "a reservation outside",
    { reservations: [{ ipAddress: "10.2.0.9" }] },
    /reservations\[0\].ipAddress: 10.2.0.9 is not within/,
  ],
  [
    "a reservation of the server",
    { serverIP: "10.1.0.9", reservations: [{ ipAddress: "10.1.0.9" }] },
    /10.1.0.9 is the server's/,
  ],
  ["loopback", { cidr: "127.0.0.0/24" }, /no host can have an address of 127.0.0.0\/24/],
  ["multicast", { cidr: "239.0.0.0/24" }, /no host can have/],
];

/** Refused in a new object; in one that is there, read as the sentence says. */
const tolerated: readonly (readonly [rule: string, spec: object, said: RegExp])[] = [
  ["exclude outside the CIDR", { pool: { exclude: ["10.2.0.1"] } }, /exclude\[0\]: "10.2.0.1" is outside the subnet/],
  [
    "serverIP in exclude",
    { serverIP: "10.1.0.9", pool: { exclude: ["10.1.0.9"] } },
    /10.1.0.9 is in pool.exclude too; take it out/,
  ],
  ["a negative lease time", { leaseTime: -5 }, /-5 is no lease time, and 86400 is taken/],
  ["a lease time of 0", { leaseTime: 0 }, /0 is no lease time, and 86400 is taken/],
  ["a lease time of 2 seconds", { leaseTime: 2 }, /2 is no lease time, and 8 is taken/],
  ["a lease time of ten years", { leaseTime: 315_360_000 }, /and 31536000 is taken/],
  ["dns", { dns: ["a", "10.1.0.53"] }, /dns\[0\]: "a" is not an IP address/],
  ["dns of IPv6", { dns: ["fd00::53"] }, /dns\[0\]: fd00::53 is an IPv6 address/],
  ["ntp by name", { ntp: ["pool.ntp.org"] }, /ntp\[0\]: "pool.ntp.org" is not an IP address/],
  ["domainSearch", { domainSearch: ["a..b"] }, /domainSearch\[0\]: "a..b" is no domain/],
  ["domainName", { domainName: "bücher.example" }, /domainName: "bücher.example" cannot be sent/],
  ["mtu", { mtu: 20 }, /mtu: 20 is no MTU/],
  ["a route", { routes: [{ destination: "10.9.0.0", gateway: "10.1.0.9" }] }, /routes\[0\].destination/],
  [
    "an option of the protocol's length",
    { options: [{ code: 26, value: "70000" }] },
    /options\[0\]: option 26: "70000" is no uint16/,
  ],
  [
    "an option twice",
    {
      options: [
        { code: 150, value: "10.1.0.1" },
        { code: 150, value: "10.1.0.2" },
      ],
    },
    /option 150 is given twice/,
  ],
  ["an option without a value", { options: [{ code: 252, value: "" }] }, /its value is empty/],
  [
    "a reserved host name",
    { reservations: [{ ipAddress: "10.1.0.9", hostname: "two words" }] },
    /hostname: "two words" cannot be sent/,
  ],
  [
    "a reserved MAC",
    { reservations: [{ ipAddress: "10.1.0.9", macAddress: "zz" }] },
    /reservations\[0\].macAddress: "zz" is not a MAC/,
  ],
  [
    "a MAC reserved twice",
    {
      reservations: [
        { ipAddress: "10.1.0.8", macAddress: "02:00:00:00:00:01" },
        { ipAddress: "10.1.0.9", macAddress: "02:00:00:00:00:01" },
      ],
    },
    /has a reservation in spec.ipv4Config.reservations\[0\] already/,
  ],
  [
    "an address reserved twice",
    { reservations: [{ ipAddress: "10.1.0.8" }, { ipAddress: "10.1.0.8" }] },
    /10.1.0.8 is reserved in/,
  ],
];

describe("mistakes", () => {
  test.each(errors)("%s: not served", (_, spec, said) => {
    const found = words({ cidr: "10.1.0.0/24", ...spec });
    expect(found).toMatchObject({ isServed: false, isAccepted: false });
    expect(found.said).toMatch(said);
  });

  test.each(tolerated)("%s: refused when new, read when it is there", (_, spec, said) => {
    const found = words({ cidr: "10.1.0.0/24", ...spec });
    expect(found).toMatchObject({ isServed: true, isAccepted: false });
    expect(found.said).toMatch(said);
  });

  test.each([
    ["host bits", { cidr: "10.1.0.7/24" }, /is read as 10.1.0.0\/24/],
    [
      "nothing left",
      { cidr: "10.1.0.0/30", serverIP: "10.1.0.1", pool: { exclude: ["10.1.0.2"] } },
      /no address is left for VMs/,
    ],
    [
      "a route over another link",
      { routes: [{ destination: "10.9.0.0/16", gateway: "10.2.0.9" }] },
      /10.2.0.9 is outside/,
    ],
  ])("%s: said, and accepted", (_, spec, said) => {
    const found = words({ cidr: "10.1.0.0/24", ...spec });
    expect(found).toMatchObject({ isServed: true, isAccepted: true });
    expect(found.said).toMatch(said);
  });

  test.each([
    ["none", undefined, false, /networkName: it is missing/],
    ["of three parts", "a/b/c", false, /"a\/b\/c" is no network/],
    ["no legal name", "a/B_c", false, /is no network/],
    ["without a namespace", "net-48", true, /is read as default\/net-48; write that/],
  ])("a network name: %s", (_, networkName, isServed, said) => {
    const found = words({ cidr: "10.1.0.0/24" }, { networkName });
    expect(found).toMatchObject({ isServed, isAccepted: false });
    expect(found.said).toMatch(said);
  });

  test("IPv6 that is wrong takes nothing from IPv4", () => {
    const { plan, issues } = readPool(poolObject({ cidr: "10.1.0.0/24" }, { ipv6Config: { cidr: "fe80::/64" } }));
    expect(plan?.ipv6).toBeUndefined();
    expect(plan?.ipv4.capacity).toBe(253n);
    expect(refusalsOf(issues)[0]?.message).toContain("Until then the pool has no IPv6.");
  });

  test("a mistake that was there before does not stand in the way of another change", () => {
    const before = readPool(poolObject({ cidr: "10.1.0.0/24", leaseTime: -5 })).issues;
    const after = readPool(poolObject({ cidr: "10.1.0.0/24", leaseTime: -5, dns: ["a"] })).issues;
    expect(refusalsOf(after, before).map(({ field }) => field)).toEqual(["spec.ipv4Config.dns[0]"]);
  });

  test("a sentence names the object as people find it", () => {
    const { issues } = readPool(poolObject({ cidr: "10.1.0.0" }));
    const subject = describePool({ namespace: "tenant-a", name: "pool-48" });
    expect(describeIssue(subject, issues[0]!)).toMatch(
      /^ippl tenant-a\/pool-48: spec.ipv4Config.cidr: "10.1.0.0" has no/,
    );
  });
});

describe("whatever stands there", () => {
  const odd = fc.oneof(fc.constant(null), fc.jsonValue(), fc.ipV4(), fc.ipV4Extended(), fc.ipV6(), fc.string());
  const fields = [
    "cidr",
    "serverIP",
    "pool",
    "start",
    "end",
    "router",
    "dns",
    "ntp",
    "domainSearch",
    "leaseTime",
    "routes",
  ];
  const config = fc.dictionary(fc.constantFrom(...fields, "options", "reservations", "mtu", "domainName"), odd);

  test("it never throws, and is served or says why not", () => {
    const spec = fc.record({ networkName: odd, ipv4Config: fc.oneof(config, odd), ipv6Config: fc.oneof(config, odd) });
    fc.assert(
      fc.property(fc.oneof(spec, odd), (value) => {
        const { plan, issues } = readPool({ metadata: { namespace: "a", name: "b" }, spec: value });
        expect(plan === undefined).toBe(issues.some(({ weight }) => weight === "error"));
      }),
    );
  });

  test("usable addresses are those that a count one by one finds", () => {
    const octet = fc.integer({ min: 0, max: 63 });
    const block = fc.tuple(octet, octet).map(([a, b]) => `10.1.0.${Math.min(a, b)}-10.1.0.${Math.max(a, b)}`);
    fc.assert(
      fc.property(
        octet,
        octet,
        octet,
        octet,
        fc.array(block, { maxLength: 4 }),
        fc.array(octet, { maxLength: 4 }),
        (a, b, server, router, exclude, kept) => {
          const ends = { start: `10.1.0.${Math.min(a, b)}`, end: `10.1.0.${Math.max(a, b)}` };
          const reservations = kept.map((each) => ({ ipAddress: `10.1.0.${each}` }));
          const spec = {
            cidr: "10.1.0.0/26",
            serverIP: `10.1.0.${server}`,
            router: `10.1.0.${router}`,
            pool: { ...ends, exclude },
            reservations,
          };
          const { plan } = readPool(poolObject(spec));
          fc.pre(plan !== undefined);
          const { ipv4 } = plan;
          let count = 0n;
          for (
            let at = ipv4.prefix.first as V4Address;
            at.value <= (ipv4.prefix.last as V4Address).value;
            at = next(at) as V4Address
          ) {
            const last = at.value & 0xff;
            const isExcluded = exclude.some((text) => {
              const [low, high] = text.split("-").map((each) => Number(each.split(".")[3]));
              return last >= low! && last <= high!;
            });
            const isUsable =
              last >= Math.min(a, b) &&
              last <= Math.max(a, b) &&
              !isExcluded &&
              last !== server &&
              last !== router &&
              !kept.includes(last);
            expect(placementOf(ipv4, at).place === "usable").toBe(isUsable);
            expect(ipv4.usable.has(at)).toBe(isUsable);
            if (isUsable) count += 1n;
            if (compare(at, ipv4.prefix.last) === 0) break;
          }
          expect(ipv4.capacity).toBe(count);
        },
      ),
    );
  });
});
