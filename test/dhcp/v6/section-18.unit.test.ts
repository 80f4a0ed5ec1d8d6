// Section 18.3 of RFC 8415: what a server answers to each message, and what it records.
import { describe, expect, it } from "vitest";

import { compileBindingV6 } from "../../../src/dhcp/v6/server/binding.ts";
import { compilePoolV6 } from "../../../src/dhcp/v6/server/pool.ts";
import { ReplyWriterV6 } from "../../../src/dhcp/v6/server/send.ts";
import { toHex } from "../packet.ts";
import {
  bindingDefinition,
  effectsOf,
  Fixture,
  otherMac,
  otherServerId,
  poolDefinition,
  serverDuid,
  serverId,
} from "./fixture.ts";
import {
  clientDuid,
  clientId,
  ip6,
  ip6Bytes,
  message,
  na,
  type OptionV6,
  oro,
  pd,
  rapidCommit,
  ta,
  type TypeName,
} from "./packet.ts";

const its = "fd00:48::81";
/** Of this link, and another client's. */
const foreign = "fd00:48::82";
const offLink = "fd00:99::81";
const leased = "leased fd00:48::81 02:00:00:00:00:11 until 600000";

type Row = readonly [
  what: string,
  type: TypeName,
  options: readonly OptionV6[],
  story: string,
  effects?: readonly string[],
];

const bindAndAsk: readonly Row[] = [
  // 18.3.1 and 18.3.9
  ["asks", "SOLICIT", [na(1)], "ADVERTISE na1[fd00:48::81+600]"],
  ["hints at its address", "SOLICIT", [na(7, its)], "ADVERTISE na7[fd00:48::81+600]"],
  ["hints at another address", "SOLICIT", [na(1, foreign)], "ADVERTISE na1[fd00:48::81+600]"],
  ["hints at another link", "SOLICIT", [na(1, offLink)], "ADVERTISE na1[fd00:48::81+600]"],
  ["asks twice", "SOLICIT", [na(1), na(2)], "ADVERTISE na1[fd00:48::81+600] na2[NoAddrsAvail]"],
  [
    "asks twice, with its address in the second",
    "SOLICIT",
    [na(1), na(2, its)],
    "ADVERTISE na1[NoAddrsAvail] na2[fd00:48::81+600]",
  ],
  ["asks for a temporary address", "SOLICIT", [ta(1)], "ADVERTISE ta1[NoAddrsAvail]"],
  ["asks for a prefix too", "SOLICIT", [na(1), pd(2)], "ADVERTISE na1[fd00:48::81+600] pd2[NoPrefixAvail]"],
  ["asks for nothing", "SOLICIT", [], "ADVERTISE"],
  ["commits rapidly", "SOLICIT", [rapidCommit, na(1)], "REPLY rapid na1[fd00:48::81+600]", [leased]],
  ["commits a prefix alone rapidly", "SOLICIT", [rapidCommit, pd(1)], "ADVERTISE pd1[NoPrefixAvail]"],
  // 18.3.2
  ["takes it", "REQUEST", [serverId, na(1, its)], "REPLY na1[fd00:48::81+600]", [leased]],
  ["asks for any", "REQUEST", [serverId, na(1)], "REPLY na1[fd00:48::81+600]", [leased]],
  ["asks for another client's", "REQUEST", [serverId, na(1, foreign)], "REPLY na1[fd00:48::81+600]", [leased]],
  ["comes from another link", "REQUEST", [serverId, na(1, offLink)], "REPLY na1[NotOnLink]"],
  ["names one of each link", "REQUEST", [serverId, na(1, its, offLink)], "REPLY na1[NotOnLink]"],
  [
    "asks for more",
    "REQUEST",
    [serverId, na(1, its), na(2), ta(3), pd(4)],
    "REPLY na1[fd00:48::81+600] na2[NoAddrsAvail] ta3[NoAddrsAvail] pd4[NoPrefixAvail]",
    [leased],
  ],
  ["asks for a prefix alone", "REQUEST", [serverId, pd(4)], "REPLY pd4[NoPrefixAvail]"],
  [
    "asks for rapid commit where there is none",
    "REQUEST",
    [serverId, rapidCommit, na(1, its)],
    "REPLY na1[fd00:48::81+600]",
    [leased],
  ],
  // 18.3.3
  ["has its address", "CONFIRM", [na(1, its)], "REPLY Success"],
  ["has an address of another link", "CONFIRM", [na(1, offLink)], "REPLY NotOnLink"],
  ["has the address of another client", "CONFIRM", [na(1, foreign)], "REPLY NotOnLink"],
  ["has its own and another's", "CONFIRM", [na(1, its), na(2, foreign)], "REPLY NotOnLink"],
  ["has a temporary address", "CONFIRM", [na(1, its), ta(2, foreign)], "REPLY NotOnLink"],
  ["has no address", "CONFIRM", [na(1)], "silence: nothing-to-confirm"],
  ["has no IA", "CONFIRM", [], "silence: nothing-to-confirm"],
  ["has a prefix alone", "CONFIRM", [pd(1, "fd00:77::")], "silence: nothing-to-confirm"],
  // 18.3.4
  ["has its address", "RENEW", [serverId, na(1, its)], "REPLY na1[fd00:48::81+600]", [leased]],
  ["has another client's", "RENEW", [serverId, na(1, foreign)], "REPLY na1[fd00:48::82+0 fd00:48::81+600]", [leased]],
  [
    "has one of another link",
    "RENEW",
    [serverId, na(1, offLink)],
    "REPLY na1[fd00:99::81+0 fd00:48::81+600]",
    [leased],
  ],
  ["has none yet", "RENEW", [serverId, na(1)], "REPLY na1[fd00:48::81+600]", [leased]],
  [
    "has two IAs",
    "RENEW",
    [serverId, na(1, foreign), na(2, its)],
    "REPLY na1[NoBinding] na2[fd00:48::81+600]",
    [leased],
  ],
  [
    "has what we never gave",
    "RENEW",
    [serverId, ta(1, foreign), pd(2, "fd00:77::")],
    "REPLY ta1[NoBinding] pd2[NoBinding]",
  ],
  [
    "still wants a prefix",
    "RENEW",
    [serverId, na(1, its), pd(2)],
    "REPLY na1[fd00:48::81+600] pd2[NoPrefixAvail]",
    [leased],
  ],
  // 18.3.5
  ["has its address", "REBIND", [na(1, its)], "REPLY na1[fd00:48::81+600]", [leased]],
  ["has another client's", "REBIND", [na(1, foreign)], "REPLY na1[fd00:48::82+0 fd00:48::81+600]", [leased]],
  [
    "has a second IA of another server",
    "REBIND",
    [na(1, its), na(2, foreign)],
    "REPLY na1[fd00:48::81+600] na2[fd00:48::82+0]",
    [leased],
  ],
  ["has a prefix of another server", "REBIND", [pd(2, "fd00:77::")], "REPLY pd2[fd00:77::+0]"],
  ["has a temporary address", "REBIND", [ta(2, foreign)], "REPLY ta2[fd00:48::82+0]"],
  // 18.3.6
  ["wants parameters", "INFORMATION-REQUEST", [oro(23)], "REPLY"],
  // 18.3.7
  ["goes", "RELEASE", [serverId, na(1, its)], "REPLY Success", ["released fd00:48::81 02:00:00:00:00:11 at 0"]],
  ["goes with what it never had", "RELEASE", [serverId, na(1, foreign)], "REPLY Success na1[NoBinding]"],
  [
    "goes with both",
    "RELEASE",
    [serverId, na(1, its, foreign), pd(2)],
    "REPLY Success pd2[NoBinding]",
    ["released fd00:48::81 02:00:00:00:00:11 at 0"],
  ],
  ["goes with nothing", "RELEASE", [serverId], "REPLY Success"],
  // 18.3.8
  [
    "sees somebody else there",
    "DECLINE",
    [serverId, na(1, its)],
    "REPLY Success",
    ["quarantined fd00:48::81 02:00:00:00:00:11 until 600000", "conflict fd00:48::81 02:00:00:00:00:11"],
  ],
  ["declines another's", "DECLINE", [serverId, na(1, foreign)], "REPLY Success na1[NoBinding]"],
  ["declines it as a temporary one", "DECLINE", [serverId, ta(1, its)], "REPLY Success ta1[NoBinding]"],
];

const rows = bindAndAsk.map(
  ([what, type, options, story, effects = []]) => [what, type, options, story, effects] as const,
);

it.each(rows)("a client %s: %s", (_, type, options, story, effects) => {
  const fixture = new Fixture();
  const outcome = fixture.handle(message(type, [clientId, ...options]));
  expect(fixture.storyOf(outcome)).toBe(story);
  expect(effectsOf(outcome)).toEqual(effects);
});

describe("a reply, byte by byte", () => {
  const read = (type: TypeName, options: readonly OptionV6[], changes = {}) => {
    const fixture = new Fixture({ pool: changes });
    return fixture.read(fixture.reply(message(type, [clientId, ...options])));
  };
  const ia = "000000070000012c000001e000050018fd0000480000000000000000000000810000025800000258";
  const dns = "fd000048000000000000000000000053fd000048000000000000000000000054";
  const search = "02766d076578616d706c6500076578616d706c6500";

  it("an ADVERTISE", () => {
    expect(read("SOLICIT", [na(7), [8, "0000"], oro(24, 23, 82)])).toEqual({
      type: 2,
      transactionId: 0xabc123,
      options: [
        [1, clientDuid],
        [2, serverDuid],
        [7, "ff"],
        [3, ia],
        [24, search],
        [23, dns],
        [82, "0000003c"],
      ],
    });
  });

  it("a REPLY", () => {
    expect(read("REQUEST", [serverId, na(7, its), oro(23)])).toEqual({
      type: 7,
      transactionId: 0xabc123,
      options: [
        [1, clientDuid],
        [2, serverDuid],
        [3, ia],
        [23, dns],
      ],
    });
  });

  it("a REPLY to an INFORMATION-REQUEST, with and without a client identifier", () => {
    const fixture = new Fixture({ pool: { leaseSeconds: 86_400 } });
    const codes = (options: readonly OptionV6[]) =>
      fixture.read(fixture.reply(message("INFORMATION-REQUEST", options))).options;
    expect(codes([clientId, oro(32, 83)])).toEqual([
      [1, clientDuid],
      [2, serverDuid],
      [32, "00015180"],
      [83, "0000003c"],
    ]);
    expect(codes([oro(32)])).toEqual([
      [2, serverDuid],
      [32, "00015180"],
    ]);
  });

  it.each<readonly [string, readonly OptionV6[], readonly number[]]>([
    ["none in particular: all", [], [23, 24, 82, 83, 32]],
    ["in its order, once", [oro(24, 23, 24)], [24, 23]],
    ["not configured", [oro(31, 56, 39)], []],
    ["half a code at the end", [[6, "001700"]], [23]],
    ["of the protocol", [oro(1, 2, 3, 7, 13, 25)], []],
  ])("parameters: %s", (_, options, codes) => {
    expect(read("RENEW", [serverId, na(1, its), ...options]).options.map(([code]) => code)).toEqual([
      1,
      2,
      3,
      ...codes,
    ]);
  });

  it("custom options, asked for or not", () => {
    const custom = [
      { code: 59, data: Uint8Array.of(0x61) },
      { code: 60, data: Uint8Array.of(0x62), always: true },
    ];
    expect(read("RENEW", [serverId, oro(59)], { custom }).options.slice(2)).toEqual([
      [59, "61"],
      [60, "62"],
    ]);
    expect(read("RENEW", [serverId, oro(23)], { custom }).options.map(([code]) => code)).toEqual([1, 2, 23, 60]);
  });

  it.each([
    [0, []],
    [7, [[7, "07"]]],
  ])("a preference of %i", (preference, options) => {
    expect(read("SOLICIT", [oro(99)], { preference }).options.slice(2)).toEqual(options);
  });

  it("a pool without rapid commit advertises", () => {
    expect(
      new Fixture({ pool: { rapidCommit: false } }).story(message("SOLICIT", [clientId, rapidCommit, na(1)])),
    ).toBe("ADVERTISE na1[fd00:48::81+600]");
  });

  it("a lease without end", () => {
    const [, , option] = read("RENEW", [serverId, na(7, its), oro(99)], { leaseSeconds: 0xffff_ffff }).options;
    expect(option![1]).toBe("00000007ffffffffffffffff00050018fd000048000000000000000000000081ffffffffffffffff");
    const fixture = new Fixture({ pool: { leaseSeconds: 0xffff_ffff } });
    expect(effectsOf(fixture.handle(message("REBIND", [clientId, na(1, its)])))).toEqual([
      "leased fd00:48::81 02:00:00:00:00:11 until Infinity",
    ]);
  });

  it("several servers with the same bindings give the same answer", () => {
    const sent = message("REQUEST", [clientId, serverId, na(1, its), oro(23, 24)]);
    const bytes = () => {
      const fixture = new Fixture();
      return fixture.bytes(fixture.reply(sent));
    };
    expect(bytes()).toEqual(bytes());
  });
});

describe("an address in quarantine", () => {
  const quarantined = () => {
    const fixture = new Fixture();
    fixture.handle(message("DECLINE", [clientId, serverId, na(1, its)]));
    return (type: TypeName, options: readonly OptionV6[], nowMs = 0) =>
      fixture.story(message(type, [clientId, ...options]), {}, nowMs);
  };

  it.each<readonly [TypeName, readonly OptionV6[], string]>([
    ["SOLICIT", [na(1)], "silence: quarantined"],
    ["SOLICIT", [rapidCommit, na(1)], "silence: quarantined"],
    ["SOLICIT", [pd(1)], "ADVERTISE pd1[NoPrefixAvail]"],
    ["REQUEST", [serverId, na(1, its)], "REPLY na1[NoAddrsAvail]"],
    ["CONFIRM", [na(1, its)], "REPLY NotOnLink"],
    ["RENEW", [serverId, na(1, its)], "REPLY na1[fd00:48::81+600]"],
    ["RENEW", [serverId, na(1, foreign)], "REPLY na1[fd00:48::82+0]"],
    ["RENEW", [serverId, na(1)], "REPLY na1[NoAddrsAvail]"],
    ["REBIND", [na(1, its)], "REPLY na1[fd00:48::81+600]"],
    ["INFORMATION-REQUEST", [], "REPLY"],
  ])("%s", (type, options, story) => {
    expect(quarantined()(type, options)).toBe(story);
  });

  it("ends", () => {
    const story = quarantined();
    expect(story("SOLICIT", [na(1)], 599_999)).toBe("silence: quarantined");
    expect(story("SOLICIT", [na(1)], 600_000)).toBe("ADVERTISE na1[fd00:48::81+600]");
  });

  it("is nobody else's", () => {
    const fixture = new Fixture();
    fixture.handle(message("DECLINE", [clientId, serverId, na(1, its)]));
    expect(fixture.story(message("SOLICIT", [clientId, na(1)]), { mac: "020000000022" })).toBe(
      "ADVERTISE na1[fd00:48::82+600]",
    );
  });
});

describe("another server", () => {
  it.each<readonly [TypeName, boolean]>([
    ["REQUEST", true],
    ["RENEW", true],
    ["RELEASE", false],
    ["DECLINE", false],
  ])("a %s to it is recorded: %s", (type, isRecorded) => {
    const outcome = new Fixture().handle(message(type, [clientId, otherServerId, na(1, its)]));
    expect(effectsOf(outcome)).toEqual(isRecorded ? ["foreign server 00030001020000000077 02:00:00:00:00:11"] : []);
  });
});

describe("changes are served from the next message on", () => {
  const solicit = message("SOLICIT", [clientId, na(1)]);

  it("a client that is not ours, or ours no more: silence, so that it keeps its lease to the end", () => {
    const fixture = new Fixture();
    fixture.network.bindings.delete(fixture.network.bindings.values().next().value!.key);
    for (const type of ["SOLICIT", "REBIND", "CONFIRM"] as const) {
      expect(fixture.story(message(type, [clientId, na(1, its)]))).toBe("silence: unknown-client");
    }
  });

  it("an address that goes to another client", () => {
    const fixture = new Fixture();
    fixture.network.bindings.set(compileBindingV6({ ...bindingDefinition, mac: otherMac }));
    expect(fixture.story(solicit)).toBe("silence: unknown-client");
    expect(fixture.story(solicit, { mac: "020000000022" })).toBe("ADVERTISE na1[fd00:48::81+600]");
    expect(fixture.network.bindings.size).toBe(1);
  });

  it.each(["fd00:99::1", "fd00:48::2"])("a binding of %s, which no client of the pool can have", (address) => {
    const fixture = new Fixture({ pool: { serverAddress: ip6("fd00:48::2") } });
    fixture.network.bindings.set(compileBindingV6({ ...bindingDefinition, address: ip6(address) }));
    expect(fixture.story(solicit)).toBe("silence: no-pool");
  });

  it("a pool that is gone, and comes back", () => {
    const fixture = new Fixture();
    fixture.network.deletePool("default/net-48");
    expect(fixture.story(solicit)).toBe("silence: no-pool");
    fixture.network.setPool(compilePoolV6(poolDefinition));
    expect(fixture.story(solicit)).toContain("ADVERTISE");
  });
});

it("a client that asks too often is not answered, until time has passed; others are", () => {
  const fixture = new Fixture({ rateLimit: { burst: 2, perSecond: 1, clientsMax: 10 } });
  const story = (nowMs: number, mac = "020000000011") =>
    fixture.story(message("SOLICIT", [clientId, na(1)]), { mac }, nowMs).slice(0, 9);
  expect([story(0), story(0), story(0)]).toEqual(["ADVERTISE", "ADVERTISE", "silence: "]);
  expect([story(999), story(999, "020000000022"), story(1000)]).toEqual(["silence: ", "ADVERTISE", "ADVERTISE"]);
});

it("everything is counted by closed sets of names", () => {
  const fixture = new Fixture();
  fixture.handle(message("SOLICIT", [clientId, na(1)]));
  fixture.handle(message("REQUEST", [clientId, serverId, na(1)]));
  fixture.handle(message(200, [clientId]));
  fixture.handle(Uint8Array.of(1));
  const ofPool = fixture.network.tally(poolDefinition.name);
  expect(Object.fromEntries(ofPool.received)).toEqual({ SOLICIT: 1, REQUEST: 1 });
  expect(Object.fromEntries(ofPool.replies)).toEqual({ ADVERTISE: 1, REPLY: 1 });
  const { received, silences, faults } = fixture.network.tally();
  expect(Object.fromEntries(received)).toEqual({ other: 2 });
  expect(Object.fromEntries(silences)).toEqual({ "unsupported-type": 1, malformed: 1 });
  expect(Object.fromEntries(faults)).toEqual({ "message-too-short": 1 });
});

describe("where a reply goes, and what fits", () => {
  it("to the client's address and MAC, from the server's", () => {
    const { destination, source } = new Fixture().reply(message("SOLICIT", [clientId, na(1)]));
    expect(destination).toMatchObject({ kind: "unicast", port: 546, address: ip6Bytes("fe80::11") });
    expect(toHex(source)).toBe(toHex(ip6Bytes("fe80::2")));
  });

  it("by UDP where no frame is known", () => {
    const reply = new Fixture().reply(message("SOLICIT", [clientId, na(1)]), { mac: undefined });
    expect(new ReplyWriterV6().frame(reply, Uint8Array.of(2, 0, 0, 0, 0, 1), undefined)).toBeUndefined();
  });

  it.each([1280, 1400, 1500, 9000])("a link of %i bytes: the largest parameters are left out, IAs never", (mtu) => {
    const custom = [200, 201, 202, 203].map((code) => ({ code, data: new Uint8Array(code + 200) }));
    const fixture = new Fixture({ pool: { mtu, custom } });
    const long: OptionV6 = [1, "0002" + "aa".repeat(128)];
    const ended = Array.from({ length: 14 }, (_, index) => `fd00:48::1:${index}`);
    const ias = [na(1, ...ended), ...[2, 3, 4, 5, 6, 7].map((iaid) => pd(iaid)), pd(8, "fd00:77::")];
    const reply = fixture.reply(message("REBIND", [long, ...ias]));
    const { bytes, leftOut } = new ReplyWriterV6().datagram(reply);
    expect(bytes.length).toBeLessThanOrEqual(Math.min(mtu, 1500) - 48);
    expect(leftOut).toContain(203);
    expect(fixture.read(reply).options.filter(([code]) => code === 25)).toHaveLength(7);
    expect(fixture.storyOf(reply)).toContain("fd00:48::81+600");
  });
});
