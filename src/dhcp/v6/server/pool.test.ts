// What may be a pool or a binding of IPv6, with the sentence that says why not; and who the server says that it is.
import { describe, expect, it } from "vitest";

import { hex, toHex } from "../../../../test/dhcp/packet.ts";
import { poolDefinition } from "../../../../test/dhcp/v6/fixture.ts";
import { ip6, ip6Hex } from "../../../../test/dhcp/v6/packet.ts";
import { parseMac } from "../../../net/mac.ts";
import { parsePrefix } from "../../../net/prefix.ts";
import { DhcpError } from "../../error.ts";
import { keyOf } from "../bytes.ts";
import { BindingTableV6 } from "./binding-table.ts";
import { compileBindingV6 } from "./binding.ts";
import { checkPoolV6, type PoolDefinitionV6 } from "./pool-definition.ts";
import { compilePoolV6 } from "./pool.ts";

const compile = (changes: Partial<PoolDefinitionV6>) => compilePoolV6({ ...poolDefinition, ...changes });
const custom = (code: number, data = hex("01")) => ({ custom: [{ code, data }] });

describe("what is no pool", () => {
  it.each<readonly [string, Partial<PoolDefinitionV6>, RegExp]>([
    ["IPv4", { subnet: parsePrefix("10.0.0.0/8") }, /IPv4/],
    ["no lease", { leaseSeconds: 0 }, /8 to 4294967295/],
    ["a lease beyond the end", { leaseSeconds: 2 ** 32 }, /lease/],
    ["half a second", { leaseSeconds: 60.5 }, /lease/],
    ["an MTU of IPv4", { mtu: 1279 }, /1280 to 65535/],
    ["a preference of 256", { preference: 256 }, /0 to 255/],
    ["a minute less a second between attempts", { retrySecondsMax: 59 }, /60 to 86400/],
    ["a quarantine without a number", { quarantineSeconds: Number.NaN }, /quarantine/],
    ["a server at ::", { serverAddress: ip6("::") }, /link-local/],
    ["a server at a group", { serverAddress: ip6("ff02::1") }, /link-local/],
    ["a router of the subnet", { router: ip6("fd00:48::1") }, /fe80/],
    ["a domain with an empty label", { domainSearch: ["a..b"] }, /search domain/],
    ["33 DNS servers", { dnsServers: Array.from({ length: 33 }, () => ip6("fd00:48::53")) }, /512 at most/],
    ["an option twice", custom(23), /option 23 is given twice/],
    ["an option of 513 bytes", custom(224, new Uint8Array(513)), /512 at most/],
    ...[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 18, 19, 20, 25, 26, 79, -1, 65_536, 1.5].map(
      (code) => [`option ${code}`, custom(code), /cannot be configured/] as const,
    ),
  ])("%s", (_, changes, why) => {
    expect(() => compile(changes)).toThrow(DhcpError);
    expect(() => compile(changes)).toThrow(why);
    expect(() => compile(changes)).toThrow(/^Pool default\/net-48: /);
    expect(() => checkPoolV6({ ...poolDefinition, ...changes }), "the check alone says the same").toThrow(why);
  });

  it("an empty list is no option, and no option is empty", () => {
    const { parameters } = compile({ dnsServers: [], domainSearch: [], ...custom(224, hex("")) });
    expect([23, 24, 224].map((code) => parameters.get(code))).toEqual([undefined, undefined, undefined]);
  });
});

describe("who the server is", () => {
  const identityOf = (changes: Partial<PoolDefinitionV6>) => toHex(compile(changes).identity.data);

  it("a DUID that never changes: clients remember it over restarts and versions", () => {
    expect(identityOf({})).toBe("00042099e214cd1f8fbb947148c5f32e1726");
  });

  it("another one for another pool or subnet, and for nothing else", () => {
    const others = [{ name: "default/net-49" }, { subnet: parsePrefix("fd00:49::/64") }].map(identityOf);
    expect(new Set([identityOf({}), ...others]).size).toBe(3);
    expect(identityOf({ leaseSeconds: 60, dnsServers: [], serverAddress: ip6("fe80::77") })).toBe(identityOf({}));
  });

  it("a link-local address by default, and one to advertise from where the server's is not link-local", () => {
    const { serverAddress: _, ...rest } = poolDefinition;
    const { serverAddress, linkLocal } = compilePoolV6(rest);
    expect(toHex(serverAddress)).toMatch(/^fe80000000000000[0-9a-f]{16}$/);
    expect(serverAddress[8]! & 0x02).toBe(0);
    expect(linkLocal).toEqual(serverAddress);
    const global = compile({ serverAddress: ip6("fd00:48::2") });
    expect(toHex(global.serverAddress)).toBe(ip6Hex("fd00:48::2"));
    expect(global.linkLocal).toEqual(serverAddress);
  });
});

it.each<readonly [number, readonly number[]]>([
  [8, [4, 6]],
  [600, [300, 480]],
  [0xffff_fffe, [0x7fff_ffff, 3_435_973_835]],
  [0xffff_ffff, [0xffff_ffff, 0xffff_ffff]],
])("T1 and T2 of %i s", (leaseSeconds, seconds) => {
  const text = toHex(compile({ leaseSeconds }).times);
  expect([text.slice(0, 8), text.slice(8)].map((part) => Number.parseInt(part, 16))).toEqual(seconds);
});

it.each(["::", "ff02::1", "fe80::1"])("a binding of %s is none", (address) => {
  const act = () => compileBindingV6({ address: ip6(address), pool: "p", mac: parseMac("02:00:00:00:00:11") });
  expect(act).toThrow(DhcpError);
  expect(act).toThrow(/^The binding of /);
});

it("each address and each MAC is in at most one binding, the newest", () => {
  const table = new BindingTableV6();
  const mac = (last: number) => parseMac(`02:00:00:00:00:0${last}`);
  const bind = (address: string, last: number) =>
    table.set(compileBindingV6({ address: ip6(address), pool: "p", mac: mac(last) }));
  const all = () => [...table.values()].map((each) => `${each.address} ${each.mac.slice(-1)}`);
  bind("fd00::1", 1);
  bind("fd00::2", 2);
  expect(all()).toEqual(["fd00::1 1", "fd00::2 2"]);
  bind("fd00::2", 1);
  expect(all()).toEqual(["fd00::2 1"]);
  expect(table.find(0x0200_0000_0002)).toBeUndefined();
  expect(table.ofAddress(keyOf(hex(ip6Hex("fd00::2"))))?.mac).toBe(mac(1));
  table.delete(keyOf(hex(ip6Hex("fd00::2"))));
  table.delete(keyOf(hex(ip6Hex("fd00::7"))));
  expect([table.size, table.find(0x0200_0000_0001)]).toEqual([0, undefined]);
});
