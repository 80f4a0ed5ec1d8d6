// What may be a pool, with the sentence that says why not; and the parts that follow from others.
import { describe, expect, it } from "vitest";

import { poolDefinition } from "../../../test/dhcp/fixture.ts";
import { hex, ip, toHex } from "../../../test/dhcp/packet.ts";
import { parsePrefix } from "../../net/prefix.ts";
import { DhcpError } from "../error.ts";
import type { OptionValue } from "../options/value.ts";
import { leaseOptions } from "./lease-times.ts";
import { compilePool, isInSubnet, type PoolDefinition } from "./pool.ts";
import { Quarantine } from "./quarantine.ts";

const compile = (changes: Partial<PoolDefinition>) => compilePool({ ...poolDefinition, ...changes });
const custom = (code: number, value: OptionValue = { kind: "bytes", value: hex("01") }) => ({
  custom: [{ code, value }],
});

describe("what is no pool", () => {
  it.each<readonly [string, Partial<PoolDefinition>, RegExp]>([
    ["IPv6", { subnet: parsePrefix("fd00::/64") }, /IPv6/],
    ["a route to IPv6", { routes: [{ destination: parsePrefix("fd00::/64"), router: ip("192.168.48.1") }] }, /IPv6/],
    ["no lease", { leaseSeconds: 0 }, /8 to 4294967295/],
    ["a lease of a week and a half a second", { leaseSeconds: 604_800.5 }, /lease/],
    ["a lease beyond the end", { leaseSeconds: 2 ** 32 }, /lease/],
    ["a quarantine without a number", { quarantineSeconds: Number.NaN }, /quarantine/],
    ["an MTU of 67", { mtu: 67 }, /MTU/],
    ["a domain with an empty label", { domainSearch: ["a..b"] }, /option 119|Option 119/],
    ["a domain name with umlauts", { domainName: "bär" }, /Option 15 \(domain name\)/],
    ["vendor information of no bytes", { vendorInformation: hex("") }, /Option 43/],
    ["an option twice", custom(6), /option 6 is given twice/],
    ["a mask of its own", custom(1), /option 1 is made from the subnet/],
    ["an option of 1,025 bytes", custom(224, { kind: "bytes", value: new Uint8Array(1025) }), /1024 at most/],
    ...[0, 255, 256, -1, 1.5, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 61, 82].map(
      (code) => [`option ${code}`, custom(code), /cannot be configured/] as const,
    ),
  ])("%s", (_, changes, why) => {
    expect(() => compile(changes)).toThrow(DhcpError);
    expect(() => compile(changes)).toThrow(why);
    expect(() => compile(changes)).toThrow(/^Pool default\/net-48: /);
  });
});

describe("what follows from what", () => {
  const dataOf = (changes: Partial<PoolDefinition>, code: number) => {
    const data = compile(changes).parameters.get(code)?.data;
    return data === undefined ? undefined : toHex(data);
  };
  const routes = [{ destination: parsePrefix("10.0.0.0/8"), router: ip("192.168.48.6") }];
  const everywhere = { destination: parsePrefix("0.0.0.0/0"), router: ip("192.168.48.7") };

  it.each<readonly [string, Partial<PoolDefinition>, number, string | undefined]>([
    [
      "a default route joins the others: clients of option 121 ignore option 3",
      { routes },
      121,
      "080ac0a8300600c0a83001",
    ],
    ["not where there is one", { routes: [everywhere] }, 121, "00c0a83007"],
    ["nor without a router", { routes, routers: [] }, 121, "080ac0a83006"],
    ["no routes, no option 121", {}, 121, undefined],
    ["the broadcast address", { subnet: parsePrefix("10.0.0.0/30") }, 28, "0a000003"],
    ["none on a link of two", { subnet: parsePrefix("10.0.0.0/31") }, 28, undefined],
    ["none on a link of one", { subnet: parsePrefix("10.0.0.0/32") }, 28, undefined],
  ])("%s", (_, changes, code, data) => {
    expect(dataOf(changes, code)).toBe(data);
  });

  it("a file name that its field has no room for goes to everybody as an option", () => {
    const always = (length: number) => {
      const { file, parameters } = compile({ bootFileName: "x".repeat(length) });
      return [file?.length, parameters.always.map(({ code }) => code)];
    };
    expect([always(127), always(128)]).toEqual([
      [127, []],
      [undefined, [67]],
    ]);
  });

  it.each([
    ["192.168.48.0/24", "192.168.48.255", "192.168.49.0"],
    ["0.0.0.0/0", "255.255.255.255", undefined],
    ["10.0.0.1/32", "10.0.0.1", "10.0.0.2"],
    ["255.255.255.254/31", "255.255.255.254", "255.255.255.253"],
  ])("%s has %s, and not %s", (subnet, inside, outside) => {
    const pool = compile({ subnet: parsePrefix(subnet) });
    expect(isInSubnet(pool, ip(inside).value)).toBe(true);
    if (outside !== undefined) expect(isInSubnet(pool, ip(outside).value)).toBe(false);
  });
});

describe("T1 and T2 (RFC 2131 section 4.4.5)", () => {
  it.each([
    [8, [8, 4, 7]],
    [600, [600, 300, 525]],
    [3601, [3601, 1800, 3150]],
    [0xffff_fffe, [0xffff_fffe, 0x7fff_ffff, 0xdfff_fffe]],
    [0xffff_ffff, [0xffff_ffff]],
  ])("of %i s", (leaseSeconds, seconds) => {
    const options = leaseOptions(leaseSeconds);
    expect(options.map(({ data }) => Number.parseInt(toHex(data), 16))).toEqual(seconds);
    expect(options.map(({ code }) => code)).toEqual([51, 58, 59].slice(0, seconds.length));
  });
});

it("a quarantine does not grow without end: the oldest goes first", () => {
  const quarantine = new Quarantine();
  for (let address = 0; address < 5000; address++) quarantine.add(address, 1000);
  expect([0, 903, 904, 4999].map((address) => quarantine.has(address, 0))).toEqual([false, false, true, true]);
});
