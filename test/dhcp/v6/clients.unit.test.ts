// Who a client is, and what relays say of it (RFC 8415 sections 13.1 and 19.3; RFC 6939).
import { describe, expect, it } from "vitest";

import { compileBindingV6 } from "../../../src/dhcp/v6/server/binding.ts";
import { NetworkV6 } from "../../../src/dhcp/v6/server/network.ts";
import { compilePoolV6 } from "../../../src/dhcp/v6/server/pool.ts";
import { ReplyWriterV6 } from "../../../src/dhcp/v6/server/send.ts";
import { parsePrefix } from "../../../src/net/prefix.ts";
import { toHex } from "../packet.ts";
import { type ArrivalText, bindingDefinition, Fixture, poolDefinition } from "./fixture.ts";
import {
  clientId,
  ip6,
  ip6Bytes,
  ip6Hex,
  message,
  na,
  type OptionV6,
  relayed,
  type RelayFields,
  unpackRelays,
} from "./packet.ts";

const llt = (mac: string): OptionV6 => [1, "0001000130000000" + mac];
const ll = (mac: string): OptionV6 => [1, "00030001" + mac];
const uuid: OptionV6 = [1, "0004" + "ab".repeat(16)];
const eui = "fe80::ff:fe00:11";
const otherEui = "fe80::ff:fe00:22";
const opaque = "fe80::1234:5678:9abc:def0";
const first = "ADVERTISE na1[fd00:48::81+600]";
const second = "ADVERTISE na1[fd00:48::82+600]";
const unknown = "silence: unknown-client";

describe("without a relay", () => {
  it.each<readonly [string, OptionV6, ArrivalText, string]>([
    ["the frame's source", uuid, { source: opaque }, first],
    ["the frame's source, whatever DUID was cloned with the disk", llt("020000000022"), { source: opaque }, first],
    ["the frame's source, whatever address it has", uuid, { source: otherEui }, first],
    [
      "the frame's source, also where it is nobody's",
      llt("020000000011"),
      { mac: "020000000099", source: eui },
      unknown,
    ],
    ["by UDP the EUI-64 of its address", uuid, { mac: undefined, source: eui }, first],
    ["by UDP the EUI-64, before the DUID", llt("020000000022"), { mac: undefined, source: eui }, first],
    ["by UDP the DUID-LLT", llt("020000000022"), { mac: undefined, source: opaque }, second],
    ["by UDP the DUID-LL", ll("020000000022"), { mac: undefined, source: opaque }, second],
    [
      "by UDP an EUI-64 of a global address is none",
      ll("020000000022"),
      { mac: undefined, source: "fd00:48::ff:fe00:11" },
      second,
    ],
    ["by UDP a DUID of another kind says nothing", uuid, { mac: undefined, source: opaque }, unknown],
    [
      "by UDP a DUID-EN that looks alike says nothing",
      [1, "00020001020000000022"],
      { mac: undefined, source: opaque },
      unknown,
    ],
    [
      "by UDP a DUID-LL of Infiniband says nothing",
      [1, "00030020020000000022"],
      { mac: undefined, source: opaque },
      unknown,
    ],
    ["by UDP a DUID-LL that is longer says nothing", ll("02000000002200"), { mac: undefined, source: opaque }, unknown],
  ])("%s", (_, identifier, arrival, story) => {
    expect(new Fixture().story(message("SOLICIT", [identifier, na(1)]), arrival)).toBe(story);
  });
});

describe("through a relay", () => {
  const linkLayer = (mac: string, type = "0001"): OptionV6 => [79, type + mac];
  const arrival: ArrivalText = { acceptRelays: true, mac: "020000000099", source: "fd00:1::1" };
  const sent = (identifier: OptionV6, fields: RelayFields) => relayed(message("SOLICIT", [identifier, na(1)]), fields);

  it.each<readonly [string, OptionV6, RelayFields, string]>([
    ["its word", uuid, { peer: opaque, options: [linkLayer("020000000011")] }, first],
    ["its word, before the EUI-64", uuid, { peer: otherEui, options: [linkLayer("020000000011")] }, first],
    [
      "its word, also where it is nobody's",
      llt("020000000011"),
      { peer: eui, options: [linkLayer("020000000099")] },
      unknown,
    ],
    [
      "its word, also where it is not Ethernet",
      llt("020000000011"),
      { peer: eui, options: [linkLayer("020000000011", "0020")] },
      unknown,
    ],
    ["the EUI-64 of the client", llt("020000000022"), { peer: eui }, first],
    ["the DUID", llt("020000000022"), { peer: opaque }, second],
    ["nothing", uuid, { peer: opaque }, unknown],
  ])("%s", (_, identifier, fields, story) => {
    expect(new Fixture().story(sent(identifier, fields), arrival)).toBe(story);
  });

  it("never the MAC of the relay's frame", () => {
    expect(new Fixture().story(sent(uuid, { peer: opaque }), { ...arrival, mac: "020000000011" })).toBe(unknown);
  });

  it("where no relay may send", () => {
    expect(new Fixture().story(sent(llt("020000000011"), {}), { ...arrival, acceptRelays: false })).toBe(
      "silence: relay-not-allowed",
    );
  });

  const twoNetworks = () => {
    const fixture = new Fixture();
    const network = new NetworkV6("default/vlan-49");
    network.setPool(compilePoolV6({ ...poolDefinition, name: "default/net-49", subnet: parsePrefix("fd00:49::/64") }));
    network.bindings.set(
      compileBindingV6({ ...bindingDefinition, pool: "default/net-49", address: ip6("fd00:49::81") }),
    );
    fixture.server.setNetwork(network);
    return fixture;
  };
  const here = "ADVERTISE na1[fd00:48::81+600]";
  const there = "ADVERTISE na1[fd00:49::81+600]";

  it.each<readonly [string, readonly RelayFields[], string]>([
    ["names the link", [{ link: "fd00:49::1" }], there],
    ["names none: the link that it came from", [{}], here],
    ["names one that nobody serves", [{ link: "fd00:50::1" }], "silence: unknown-network"],
    ["the one next to the client counts", [{ link: "fd00:48::1" }, { link: "fd00:49::1" }], there],
    ["the next one, where that names none", [{ link: "fd00:49::1" }, { link: "::" }], there],
  ])("%s", (_, relays, story) => {
    // The first of the list is the outermost.
    const datagram = relays.reduceRight(
      (inner, fields) => relayed(inner, { peer: eui, ...fields }),
      message("SOLICIT", [clientId, na(1)]),
    );
    expect(twoNetworks().story(datagram, arrival)).toBe(story);
  });

  it("on a socket of relays a link has to be named", () => {
    const direct = message("SOLICIT", [clientId, na(1)]);
    const story = (datagram: Uint8Array) =>
      twoNetworks().story(datagram, { ...arrival, mac: undefined, network: undefined });
    expect([story(direct), story(sent(clientId, {})), story(sent(clientId, { link: "fd00:49::1" }))]).toEqual([
      "silence: unknown-network",
      "silence: unknown-network",
      there,
    ]);
  });

  it("the reply goes back through all of them, header by header, with their interface identifiers", () => {
    const inner = relayed(message("SOLICIT", [clientId, na(1)]), {
      hops: 0,
      link: "::",
      peer: eui,
      options: [
        [18, "65746831"],
        [37, "00000009aa"],
      ],
    });
    const fixture = new Fixture();
    const reply = fixture.reply(relayed(inner, { hops: 1, link: "fd00:48::1", peer: "fe80::77" }), arrival);
    expect(reply.destination).toEqual({ kind: "relay", address: ip6Bytes("fd00:1::1"), port: 547 });
    expect(new ReplyWriterV6().frame(reply, Uint8Array.of(2, 0, 0, 0, 0, 1), undefined)).toBeUndefined();
    const { relays, inner: answer } = unpackRelays(fixture.bytes(reply));
    const nested = relays[0]!.options.find(([code]) => code === 9)!;
    expect(relays).toEqual([
      { hops: 1, link: ip6Hex("fd00:48::1"), peer: ip6Hex("fe80::77"), options: [nested] },
      {
        hops: 0,
        link: ip6Hex("::"),
        peer: ip6Hex(eui),
        options: [
          [18, "65746831"],
          [9, toHex(answer)],
        ],
      },
    ]);
    expect(answer[0]).toBe(2);
  });

  it.each([
    [9, "ADVERTISE na1[fd00:48::81+600]"],
    [10, "silence: malformed"],
  ])("%i of them", (count, story) => {
    let datagram = message("SOLICIT", [clientId, na(1)]);
    for (let hops = 0; hops < count; hops++) {
      datagram = relayed(datagram, { hops, peer: eui, options: [[18, "ab".repeat(256)]] });
    }
    const fixture = new Fixture();
    expect(fixture.story(datagram, arrival)).toBe(story);
    expect(fixture.network.tally().faults.get("too-many-relays")).toBe(count === 9 ? undefined : 1);
  });

  it("an interface identifier that a reply has no room for", () => {
    const outcome = new Fixture().handle(sent(clientId, { options: [[18, "ab".repeat(257)]] }), arrival);
    expect(outcome).toMatchObject({ reason: "malformed", fault: { code: "bad-option" } });
  });

  it("a RELAY-REPL within is a server's", () => {
    expect(new Fixture().story(relayed(message("RELAY-REPL", []), {}), arrival)).toBe("silence: not-a-request");
  });
});
