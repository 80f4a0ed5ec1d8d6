// Router advertisements (RFC 4861 sections 4.2 and 6.2, RFC 8106) and neighbour advertisements (sections 4.4 and 7.2).
import { describe, expect, it } from "vitest";

import { decodeFrameV6 } from "../../../src/dhcp/v6/frame/frame.ts";
import {
  announceAddresses,
  answerNeighbor,
  groupMacsOf,
} from "../../../src/dhcp/v6/neighbor/neighbor-advertisement.ts";
import { finalAdvertisement, RaSender } from "../../../src/dhcp/v6/neighbor/ra-sender.ts";
import { decodeSolicitation, type Solicitation } from "../../../src/dhcp/v6/neighbor/solicitation.ts";
import type { PoolDefinitionV6 } from "../../../src/dhcp/v6/server/pool-definition.ts";
import { compilePoolV6 } from "../../../src/dhcp/v6/server/pool.ts";
import { type IcmpPacket, icmpFrame } from "../../../src/frame/icmp.ts";
import { hex, toHex } from "../packet.ts";
import { poolDefinition } from "./fixture.ts";
import { ip6, ip6Bytes, ip6Hex } from "./packet.ts";

const ours = hex("020000000001");
const its = hex("020000000011");
const poolOf = (changes: Partial<PoolDefinitionV6> = {}) => compilePoolV6({ ...poolDefinition, ...changes });

/** Source, destination, MAC and message, as text. */
const textOf = ({ source, destination, mac, message }: IcmpPacket) => [source, destination, mac, message].map(toHex);
const fromServer = ip6Hex("fe80::2");
const toEverybody = [ip6Hex("ff02::1"), "333300000001"];

const head = "8600000000c000000000000000000000";
const prefix = "0304408000278d0000093a8000000000" + ip6Hex("fd00:48::");
const rdnss = "1905000000000708" + ip6Hex("fd00:48::53") + ip6Hex("fd00:48::54");
const dnssl = "1f0400000000070802766d076578616d706c6500076578616d706c6500000000";

describe("a router advertisement, byte by byte", () => {
  const first = (changes: Partial<PoolDefinitionV6> = {}) =>
    textOf(new RaSender(() => 0.5).advertisement(poolOf(changes), 0)!);

  it("without a router: M and O, the prefix on the link and not for autoconfiguration, DNS, a lifetime of 0", () => {
    expect(first()).toEqual([fromServer, ...toEverybody, head + prefix + rdnss + dnssl]);
  });

  it("with an MTU", () => {
    expect(first({ mtu: 1450 })[3]).toBe(head + "05010000000005aa" + prefix + rdnss + dnssl);
  });

  it("of the least", () => {
    expect(first({ dnsServers: [], domainSearch: [] })[3]).toBe(head + prefix);
  });

  it("in the name of a router: from its address, with a lifetime", () => {
    const [source, , , message] = first({ router: ip6("fe80::1") });
    expect(source).toBe(ip6Hex("fe80::1"));
    expect(message).toBe("8600000000c007080000000000000000" + prefix + rdnss + dnssl);
  });

  it("the last one says that it is a router no more, and nothing else", () => {
    const pool = poolOf({ router: ip6("fe80::1") });
    expect(textOf(finalAdvertisement(pool)!)).toEqual([
      ip6Hex("fe80::1"),
      ...toEverybody,
      head + prefix + rdnss + dnssl,
    ]);
    expect(finalAdvertisement(poolOf())).toBeUndefined();
  });

  it("from a link-local address, where the server's is none", () => {
    const pool = poolOf({ serverAddress: ip6("fd00:48::2") });
    expect(new RaSender(() => 0).advertisement(pool, 0)!.source).toEqual(pool.linkLocal);
    expect(toHex(pool.linkLocal)).toMatch(/^fe80/);
  });

  it("none at all where the pool does not advertise", () => {
    const pool = poolOf({ advertise: false });
    const sender = new RaSender(() => 0);
    expect([sender.advertisement(pool, 0), finalAdvertisement(pool)]).toEqual([undefined, undefined]);
    expect(sender.nextMs).toBeGreaterThan(0);
  });

  it("fits into 1,280 bytes with the longest lists there can be", () => {
    const dnsServers = Array.from({ length: 32 }, () => ip6("fd00:48::53"));
    const domainSearch = Array.from({ length: 8 }, () => "a".repeat(62));
    const { message } = new RaSender(() => 0).advertisement(poolOf({ dnsServers, domainSearch, mtu: 1280 }), 0)!;
    expect(message.length).toBeGreaterThan(1000);
    expect(message.length).toBeLessThanOrEqual(1280 - 40);
  });
});

const rs = (source: string, mac = its) => ({ kind: "router-solicitation", source: ip6Bytes(source), mac }) as const;

describe("when it is sent", () => {
  const pool = poolOf();

  it("soon after each other at first, then every 200 to 600 seconds", () => {
    for (const [random, gaps] of [
      [0, [16, 16, 198, 198, 198]],
      [0.5, [16, 16, 399, 399, 399]],
      [1, [16, 16, 600, 600, 600]],
    ] as const) {
      const sender = new RaSender(() => random);
      expect(sender.advertisement(pool, 0)).toBeDefined();
      const sentMs = [0];
      while (sentMs.length < 6) {
        const { nextMs } = sender;
        expect(sender.advertisement(pool, nextMs - 1)).toBeUndefined();
        expect(sender.advertisement(pool, nextMs)).toBeDefined();
        sentMs.push(nextMs);
      }
      expect(sentMs.slice(1).map((ms, index) => Math.round((ms - sentMs[index]!) / 1000))).toEqual(gaps);
    }
  });

  const started = (random = 0.5) => {
    const sender = new RaSender(() => random);
    sender.advertisement(pool, 0);
    return sender;
  };

  it("anew as at first where it has changed, or was taken back, and no more often than every three seconds", () => {
    const sender = started();
    for (const nowMs of [1000, 1200]) sender.again(nowMs, 500);
    expect(sender.nextMs).toBe(3000);
    expect(sender.advertisement(pool, 3000)).toBeDefined();
    sender.again(10_000, 500);
    const sentMs = [];
    for (let sent = 0; sent < 4; sent++) {
      sentMs.push(sender.nextMs);
      sender.advertisement(pool, sender.nextMs);
    }
    expect(sentMs).toEqual([10_500, 26_500, 42_500, 441_500]);
  });

  it("at once where a pool advertises again, whatever it was asked meanwhile", () => {
    const sender = new RaSender(() => 0.5);
    const silent = poolOf({ advertise: false });
    expect(sender.advertisement(silent, 0)).toBeUndefined();
    sender.solicited(rs("fe80::11"), 1000);
    expect(sender.advertisement(silent, 1250)).toBeUndefined();
    expect(sender.nextMs).toBe(Infinity);
    sender.again(2000);
    expect(sender.nextMs).toBe(2000);
    expect(sender.advertisement(pool, 2000)).toBeDefined();
  });

  it("to who asks, within half a second, once", () => {
    const sender = started();
    sender.solicited(rs("fe80::11"), 1000);
    sender.solicited(rs("fe80::11"), 1100);
    expect(sender.nextMs).toBe(1250);
    expect(sender.advertisement(pool, 1249)).toBeUndefined();
    const packet = sender.advertisement(pool, 1250)!;
    expect(textOf(packet)).toEqual([fromServer, ip6Hex("fe80::11"), toHex(its), head + prefix + rdnss + dnssl]);
    expect(sender.advertisement(pool, 1250)).toBeUndefined();
  });

  it("to each of several, in any order of time", () => {
    const moments = [0.9, 0.1, 0.5];
    const sender = new RaSender(() => moments.shift() ?? 0.5);
    sender.advertisement(pool, 0);
    for (const last of [1, 2]) sender.solicited(rs(`fe80::${last}`, hex(`02000000000${last}`)), 1000);
    const got = [1050, 1250].map((nowMs) => toHex(sender.advertisement(pool, nowMs)!.mac));
    expect(got).toEqual(["020000000001", "020000000002"]);
  });

  it("to all, where a host without an address asks: at most once in three seconds", () => {
    const sender = started();
    const macs = Array.from({ length: 100 }, (_, index) => hex(`0200000001${index.toString(16).padStart(2, "0")}`));
    for (const mac of macs) sender.solicited(rs("::", mac), 100);
    expect(sender.nextMs).toBe(3000);
    expect(textOf(sender.advertisement(pool, 3000)!).slice(1, 3)).toEqual(toEverybody);
    for (const mac of macs) sender.solicited(rs("::", mac), 3100);
    expect(sender.nextMs).toBe(6000);
  });

  it("no host is answered more often than its bucket allows, and no flood waits without end", () => {
    const sender = started();
    let answers = 0;
    for (let nowMs = 1000; nowMs < 11_000; nowMs += 100) {
      sender.solicited(rs("fe80::11"), nowMs);
      if (sender.advertisement(pool, nowMs)?.mac[0] === 2) answers += 1;
    }
    expect(answers).toBe(10);
    const flooded = started();
    for (let index = 0; index < 5000; index++) {
      const mac = hex(`0200${index.toString(16).padStart(8, "0")}`);
      flooded.solicited(rs("fe80::11", mac), 10_000);
    }
    let packets = 0;
    while (flooded.advertisement(pool, 10_250) !== undefined) packets += 1;
    // All of those who wait are served by one to all, since it is due at the same moment.
    expect(packets).toBe(1);
  });
});

/** A frame of ICMPv6 from its parts, with a right checksum. */
function frameOf(message: string, source: string, destination: string, hopLimit = 255): Uint8Array {
  const packet = { source: ip6Bytes(source), destination: ip6Bytes(destination), mac: ours, message: hex(message) };
  const frame = icmpFrame(packet, its);
  frame[14 + 7] = hopLimit;
  return frame;
}

function solicitationOf(frame: Uint8Array): Solicitation | { readonly kind: "fault"; readonly code: string } {
  const read = decodeFrameV6(frame, { acceptPartialChecksum: false });
  if (read.kind !== "icmp") throw new Error(read.kind);
  return decodeSolicitation(read);
}

const router = "8500000000000000";
const neighbor = (target: string) => "8700000000000000" + ip6Hex(target);
const sourceOption = "0101020000000011";
const group = "ff02::1:ff00:2";

describe("solicitations", () => {
  it.each<readonly [string, string, string, string, string]>([
    ["of a router", router, "fe80::11", "ff02::2", "router-solicitation"],
    ["of a router, with the sender's MAC", router + sourceOption, "fe80::11", "ff02::2", "router-solicitation"],
    ["of a router, from ::", router, "::", "ff02::2", "router-solicitation"],
    ["of a neighbour", neighbor("fe80::2") + sourceOption, "fe80::11", group, "neighbor-solicitation"],
    ["of a neighbour, to it alone", neighbor("fe80::2"), "fe80::11", "fe80::2", "neighbor-solicitation"],
    ["of a neighbour, from ::", neighbor("fe80::2"), "::", group, "neighbor-solicitation"],
    ["an echo", "8000000000010001", "fe80::11", "fe80::2", "other"],
    ["an advertisement", head + prefix, "fe80::11", "ff02::1", "other"],
  ])("%s", (_, message, source, destination, kind) => {
    expect(solicitationOf(frameOf(message, source, destination))).toMatchObject({ kind });
  });

  it.each<readonly [string, Uint8Array]>([
    ["from beyond a router", frameOf(router, "fe80::11", "ff02::2", 254)],
    ["with a code", frameOf("8501000000000000", "fe80::11", "ff02::2")],
    ["of four bytes", frameOf("85000000", "fe80::11", "ff02::2")],
    ["with an option without length", frameOf(router + "0100020000000011", "fe80::11", "ff02::2")],
    ["with an option that is cut off", frameOf(router + "0102020000000011", "fe80::11", "ff02::2")],
    ["with half an option's head", frameOf(router + "01", "fe80::11", "ff02::2")],
    ["from :: with a MAC", frameOf(router + sourceOption, "::", "ff02::2")],
    ["from a group", frameOf(router, "ff02::1", "ff02::2")],
    ["of a neighbour without a target", frameOf("8700000000000000fe80", "fe80::11", group)],
    ["of a group", frameOf(neighbor("ff02::1"), "fe80::11", group)],
    ["of a neighbour, from :: with a MAC", frameOf(neighbor("fe80::2") + sourceOption, "::", group)],
    ["of a neighbour, from :: to it alone", frameOf(neighbor("fe80::2"), "::", "fe80::2")],
  ])("refused: %s", (_, frame) => {
    expect(solicitationOf(frame)).toMatchObject({ kind: "fault", code: "bad-neighbor-message" });
  });
});

describe("neighbour advertisements", () => {
  const ask = (target: string, source: string, changes: Partial<PoolDefinitionV6> = {}) => {
    const question = solicitationOf(
      frameOf(
        neighbor(target),
        source,
        `ff02::1:ff${target.slice(-2).padStart(7, "0").slice(0, 2)}:${target.slice(-1)}`,
      ),
    );
    if (question.kind !== "neighbor-solicitation") throw new Error(question.kind);
    return answerNeighbor(poolOf(changes), question, ours);
  };
  const told = (flags: string, address: string) => "88000000" + flags + "000000" + ip6Hex(address) + "0201020000000001";

  it("to who asks for the server's address", () => {
    expect(textOf(ask("fe80::2", "fe80::11")!)).toEqual([
      fromServer,
      ip6Hex("fe80::11"),
      toHex(its),
      told("60", "fe80::2"),
    ]);
  });

  it("to all, where a host looks for duplicates: the address is taken", () => {
    expect(textOf(ask("fe80::2", "::")!)).toEqual([fromServer, ...toEverybody, told("20", "fe80::2")]);
  });

  it("not for another's address, nor for the router's", () => {
    expect(ask("fe80::3", "fe80::11")).toBeUndefined();
    expect(ask("fe80::1", "fe80::11", { router: ip6("fe80::1") })).toBeUndefined();
  });

  it("the groups that an interface has to listen to", () => {
    const macs = ["333300010002", "333300000002", "3333ff000002"];
    expect(groupMacsOf(poolOf()).map(toHex)).toEqual(macs);
    const two = groupMacsOf(poolOf({ serverAddress: ip6("fd00:48::ab:cdef") })).map(toHex);
    expect(two.slice(2)).toEqual(["3333ffabcdef", expect.stringMatching(/^3333ff/)]);
  });

  it("unasked at a takeover, for each of the server's addresses", () => {
    expect(announceAddresses(poolOf(), ours).map(textOf)).toEqual([
      [fromServer, ...toEverybody, told("20", "fe80::2")],
    ]);
    expect(announceAddresses(poolOf({ serverAddress: ip6("fd00:48::2") }), ours)).toHaveLength(2);
  });
});
