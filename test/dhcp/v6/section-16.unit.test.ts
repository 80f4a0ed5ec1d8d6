// Section 16 of RFC 8415, row by row: which messages a server discards before it looks at what they ask for.
import { describe, expect, it } from "vitest";

import { hex } from "../packet.ts";
import { type ArrivalText, Fixture, otherServerId, serverId } from "./fixture.ts";
import { clientId, message, na, type OptionV6, pd, ta, type TypeName } from "./packet.ts";

const its = "fd00:48::81";
const taken = expect.stringMatching(/^(?:ADVERTISE|REPLY)/);
const multicast = /^(?:ADVERTISE|REPLY) (?!UseMulticast)/;

type Row = readonly [part: string, type: TypeName, what: string, options: readonly OptionV6[], story: unknown];

const rows: readonly Row[] = [
  ["16.2", "SOLICIT", "with a client identifier", [clientId, na(1)], taken],
  ["16.2", "SOLICIT", "without a client identifier", [na(1)], "silence: no-client-identifier"],
  ["16.2", "SOLICIT", "with a server identifier", [clientId, serverId, na(1)], "silence: unexpected-server-identifier"],
  ["16.3", "ADVERTISE", "of another server", [clientId, otherServerId, na(1, its)], "silence: not-a-request"],
  ["16.3", "ADVERTISE", "of ourselves", [clientId, serverId, na(1, its)], "silence: not-a-request"],
  ["16.4", "REQUEST", "to us", [clientId, serverId, na(1, its)], taken],
  ["16.4", "REQUEST", "without a server identifier", [clientId, na(1, its)], "silence: no-server-identifier"],
  ["16.4", "REQUEST", "to another server", [clientId, otherServerId, na(1, its)], "silence: other-server"],
  ["16.4", "REQUEST", "without a client identifier", [serverId, na(1, its)], "silence: no-client-identifier"],
  ["16.5", "CONFIRM", "with a client identifier", [clientId, na(1, its)], taken],
  ["16.5", "CONFIRM", "without a client identifier", [na(1, its)], "silence: no-client-identifier"],
  [
    "16.5",
    "CONFIRM",
    "with a server identifier",
    [clientId, serverId, na(1, its)],
    "silence: unexpected-server-identifier",
  ],
  ["16.6", "RENEW", "to us", [clientId, serverId, na(1, its)], taken],
  ["16.6", "RENEW", "without a server identifier", [clientId, na(1, its)], "silence: no-server-identifier"],
  ["16.6", "RENEW", "to another server", [clientId, otherServerId, na(1, its)], "silence: other-server"],
  ["16.6", "RENEW", "without a client identifier", [serverId, na(1, its)], "silence: no-client-identifier"],
  ["16.7", "REBIND", "with a client identifier", [clientId, na(1, its)], taken],
  ["16.7", "REBIND", "without a client identifier", [na(1, its)], "silence: no-client-identifier"],
  [
    "16.7",
    "REBIND",
    "with a server identifier",
    [clientId, serverId, na(1, its)],
    "silence: unexpected-server-identifier",
  ],
  ["16.8", "DECLINE", "to us", [clientId, serverId, na(1, its)], taken],
  ["16.8", "DECLINE", "without a server identifier", [clientId, na(1, its)], "silence: no-server-identifier"],
  ["16.8", "DECLINE", "to another server", [clientId, otherServerId, na(1, its)], "silence: other-server"],
  ["16.8", "DECLINE", "without a client identifier", [serverId, na(1, its)], "silence: no-client-identifier"],
  ["16.9", "RELEASE", "to us", [clientId, serverId, na(1, its)], taken],
  ["16.9", "RELEASE", "without a server identifier", [clientId, na(1, its)], "silence: no-server-identifier"],
  ["16.9", "RELEASE", "to another server", [clientId, otherServerId, na(1, its)], "silence: other-server"],
  ["16.9", "RELEASE", "without a client identifier", [serverId, na(1, its)], "silence: no-client-identifier"],
  ["16.10", "REPLY", "of another server", [clientId, otherServerId, na(1, its)], "silence: not-a-request"],
  ["16.11", "RECONFIGURE", "of a server", [clientId, otherServerId, [19, "05"]], "silence: not-a-request"],
  ["16.12", "INFORMATION-REQUEST", "with nothing", [], taken],
  ["16.12", "INFORMATION-REQUEST", "to us", [clientId, serverId], taken],
  ["16.12", "INFORMATION-REQUEST", "to another server", [clientId, otherServerId], "silence: other-server"],
  ["16.12", "INFORMATION-REQUEST", "with an IA_NA", [clientId, na(1)], "silence: unexpected-ia"],
  ["16.12", "INFORMATION-REQUEST", "with an IA_TA", [clientId, ta(1)], "silence: unexpected-ia"],
  ["16.12", "INFORMATION-REQUEST", "with an IA_PD", [clientId, pd(1)], "silence: unexpected-ia"],
  ["16.14", "RELAY-REPL", "of a server", [], "silence: not-a-request"],
  ["16", "LEASEQUERY", "of RFC 5007", [clientId], "silence: unsupported-type"],
];

it.each(rows)("section %s: %s %s", (_, type, __, options, story) => {
  expect(new Fixture().story(message(type, options))).toEqual(story);
});

describe("section 16, to an address of ours", () => {
  const ours: ArrivalText = { destination: "fe80::2" };
  it.each<readonly [TypeName, readonly OptionV6[], string]>([
    ["SOLICIT", [clientId, na(1)], "silence: unicast"],
    ["CONFIRM", [clientId, na(1, its)], "silence: unicast"],
    ["REBIND", [clientId, na(1, its)], "silence: unicast"],
    ["INFORMATION-REQUEST", [clientId], "silence: unicast"],
    // We send no Server Unicast option (sections 18.3.2, 18.3.4, 18.3.7 and 18.3.8).
    ["REQUEST", [clientId, serverId, na(1, its)], "REPLY UseMulticast"],
    ["RENEW", [clientId, serverId, na(1, its)], "REPLY UseMulticast"],
    ["RELEASE", [clientId, serverId, na(1, its)], "REPLY UseMulticast"],
    ["DECLINE", [clientId, serverId, na(1, its)], "REPLY UseMulticast"],
    ["RENEW", [clientId, otherServerId, na(1, its)], "silence: other-server"],
  ])("%s", (type, options, story) => {
    const fixture = new Fixture();
    const outcome = fixture.handle(message(type, options), ours);
    expect(fixture.storyOf(outcome)).toBe(story);
    expect(outcome.effects.filter(({ kind }) => kind !== "foreign-server")).toEqual([]);
    if (outcome.kind === "reply") expect(fixture.read(outcome).options.map(([code]) => code)).toEqual([1, 2, 13]);
  });

  it.each(["ff02::1:2", "ff05::1:3"])("all of them are taken at %s", (destination) => {
    for (const type of ["SOLICIT", "CONFIRM", "REBIND"] as const) {
      expect(new Fixture().story(message(type, [clientId, na(1, its)]), { destination })).toMatch(multicast);
    }
  });

  it("through a relay the way of the datagram says nothing of the client's", () => {
    const inner = message("SOLICIT", [clientId, na(1)]);
    const outcome = new Fixture().story(
      Buffer.concat([
        hex("0c00" + "00".repeat(16) + "fe80000000000000000000fffe000011"),
        hex("0009"),
        hex(inner.length.toString(16).padStart(4, "0")),
        inner,
      ]),
      { destination: "fd00:48::2", acceptRelays: true },
    );
    expect(outcome).toBe("ADVERTISE na1[fd00:48::81+600]");
  });
});

describe("what cannot be read", () => {
  it.each<readonly [string, Uint8Array, string]>([
    ["nothing", hex(""), "message-too-short"],
    ["three bytes", hex("01abc1"), "message-too-short"],
    ["half an option's head", hex("01abc123 0001"), "truncated"],
    ["an option longer than the rest", hex("01abc123 0001 0003 0001"), "truncated"],
    ["a client identifier of two bytes", message("SOLICIT", [[1, "0001"]]), "bad-option"],
    ["a client identifier of 131 bytes", message("SOLICIT", [[1, "00".repeat(131)]]), "bad-option"],
    ["two client identifiers", message("SOLICIT", [clientId, clientId]), "bad-option"],
    ["two server identifiers", message("REQUEST", [clientId, serverId, otherServerId]), "bad-option"],
    ["an IA_NA of 11 bytes", message("SOLICIT", [clientId, [3, "00".repeat(11)]]), "bad-option"],
    ["an IA_TA of 3 bytes", message("SOLICIT", [clientId, [4, "00".repeat(3)]]), "bad-option"],
    [
      "an IA_NA that ends in an option",
      message("SOLICIT", [clientId, [3, "00".repeat(12) + "00050018"]]),
      "bad-option",
    ],
    [
      "an address of 15 bytes",
      message("SOLICIT", [clientId, [3, "00".repeat(12) + "0005000f" + "00".repeat(15)]]),
      "bad-option",
    ],
    [
      "an address without lifetimes",
      message("SOLICIT", [clientId, [3, "00".repeat(12) + "00050010" + "00".repeat(16)]]),
      "bad-option",
    ],
    [
      "a prefix of 24 bytes",
      message("SOLICIT", [clientId, [25, "00".repeat(12) + "001a0018" + "00".repeat(24)]]),
      "bad-option",
    ],
    ["nine IAs", message("SOLICIT", [clientId, ...[1, 2, 3, 4, 5, 6, 7, 8, 9].map((iaid) => na(iaid))]), "bad-option"],
    [
      "17 addresses",
      message("CONFIRM", [clientId, na(1, ...Array.from({ length: 17 }, (_, i) => `fd00:48::${i}`))]),
      "bad-option",
    ],
    ["half a relay's header", hex("0c00" + "00".repeat(31)), "message-too-short"],
    ["a relay without a message", hex("0c00" + "00".repeat(32)), "bad-option"],
    ["a relay's option that is cut off", hex("0c00" + "00".repeat(32) + "00090004 01"), "truncated"],
  ])("%s: %s", (_, datagram, code) => {
    const outcome = new Fixture().handle(datagram, { acceptRelays: true });
    expect(outcome).toMatchObject({ kind: "silence", reason: "malformed", fault: { code } });
  });
});

it.each(["::", "ff02::1"])("no answer can go to %s", (source) => {
  expect(new Fixture().story(message("SOLICIT", [clientId, na(1)]), { source })).toBe("silence: no-return-address");
});
