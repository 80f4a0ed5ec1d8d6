// The server's answer to each message in each state of its client, by packet: RFC 2131 section 4.3, tables 4 and 5.
import { describe, expect, it } from "vitest";

import { decodeMessage } from "../../src/dhcp/message/decode.ts";
import { requestStateOf } from "../../src/dhcp/server/request.ts";
import { effectsOf, Fixture, type Sent, strangerMac } from "./fixture.ts";
import { ip, ipHex, packet } from "./packet.ts";

const discover = "01";
const request = "03";
const decline = "04";
const release = "07";
const inform = "08";

const ours = ipHex("192.168.48.2");
const another = ipHex("192.168.48.9");
const its = ipHex("192.168.48.81");
const wrong = ipHex("192.168.48.99");
const elsewhere = ipHex("10.9.9.9");

const toClient = "to 192.168.48.81:68 at 020000000011";
const viaRelay = { giaddr: "192.168.48.254", acceptRelays: true };

type Row = readonly [name: string, sent: Sent, story: string];

describe("REQUEST, by what is filled in (table 4)", () => {
  it.each<readonly [string, Sent, string]>([
    ["server identifier and requested address", { options: { 53: request, 50: its, 54: ours } }, "SELECTING"],
    ["requested address alone", { options: { 53: request, 50: its } }, "INIT-REBOOT"],
    ["ciaddr alone", { ciaddr: "192.168.48.81", options: { 53: request } }, "RENEWING or REBINDING"],
  ])("%s is %s", (_, sent, state) => {
    const message = decodeMessage(packet(sent));
    expect(message.kind === "message" && requestStateOf(message)).toBe(state);
  });
});

describe("a known client", () => {
  it.each<Row>([
    // 4.3.1
    ["DISCOVER", { options: { 53: discover } }, `OFFER 192.168.48.81 ${toClient}`],
    ["DISCOVER, wants another address", { options: { 53: discover, 50: wrong } }, `OFFER 192.168.48.81 ${toClient}`],
    ["DISCOVER, wants another lease", { options: { 53: discover, 51: "0000003c" } }, `OFFER 192.168.48.81 ${toClient}`],
    [
      "DISCOVER, cannot take unicast",
      { flags: 0x8000, options: { 53: discover } },
      "OFFER 192.168.48.81 to everybody:68",
    ],
    ["DISCOVER, other flags", { flags: 0x7fff, options: { 53: discover } }, `OFFER 192.168.48.81 ${toClient}`],
    [
      "DISCOVER by a relay",
      { ...viaRelay, options: { 53: discover } },
      "OFFER 192.168.48.81 to relay 192.168.48.254:67",
    ],
    // 4.3.2, SELECTING
    ["SELECTING", { options: { 53: request, 50: its, 54: ours } }, `ACK 192.168.48.81 ${toClient}`],
    [
      "SELECTING, cannot take unicast",
      { flags: 0x8000, options: { 53: request, 50: its, 54: ours } },
      "ACK 192.168.48.81 to everybody:68",
    ],
    [
      "SELECTING by a relay",
      { ...viaRelay, options: { 53: request, 50: its, 54: ours } },
      "ACK 192.168.48.81 to relay 192.168.48.254:67",
    ],
    ["SELECTING another server", { options: { 53: request, 50: its, 54: another } }, "silence: other-server"],
    ["SELECTING another address", { options: { 53: request, 50: wrong, 54: ours } }, "NAK to everybody:68"],
    ["SELECTING no address", { options: { 53: request, 54: ours } }, "NAK to everybody:68"],
    [
      "SELECTING, ciaddr in place of option 50",
      { ciaddr: "192.168.48.81", options: { 53: request, 54: ours } },
      `ACK 192.168.48.81 ${toClient}`,
    ],
    [
      "SELECTING, ciaddr left from before",
      { ciaddr: "10.9.9.9", options: { 53: request, 50: its, 54: ours } },
      `ACK 192.168.48.81 ${toClient}`,
    ],
    // 4.3.2, INIT-REBOOT
    ["INIT-REBOOT", { options: { 53: request, 50: its } }, `ACK 192.168.48.81 ${toClient}`],
    ["INIT-REBOOT, wrong address", { options: { 53: request, 50: wrong } }, "NAK to everybody:68"],
    ["INIT-REBOOT, wrong network", { options: { 53: request, 50: elsewhere } }, "NAK to everybody:68"],
    [
      "INIT-REBOOT, wrong network, by a relay",
      { ...viaRelay, options: { 53: request, 50: elsewhere } },
      "NAK to relay 192.168.48.254:67",
    ],
    ["INIT-REBOOT, no address", { options: { 53: request } }, "NAK to everybody:68"],
    // 4.3.2, RENEWING and REBINDING
    [
      "RENEWING",
      { ciaddr: "192.168.48.81", sourceAddress: "192.168.48.81", options: { 53: request } },
      `ACK 192.168.48.81 ${toClient}`,
    ],
    [
      "REBINDING",
      { ciaddr: "192.168.48.81", flags: 0x8000, options: { 53: request } },
      `ACK 192.168.48.81 ${toClient}`,
    ],
    [
      "REBINDING by a relay",
      { ...viaRelay, ciaddr: "192.168.48.81", options: { 53: request } },
      "ACK 192.168.48.81 to relay 192.168.48.254:67",
    ],
    ["RENEWING another address", { ciaddr: "192.168.48.99", options: { 53: request } }, "NAK to everybody:68"],
    ["REBINDING, wrong network", { ciaddr: "10.9.9.9", options: { 53: request } }, "NAK to everybody:68"],
    [
      "RENEWING, option 50 of another address",
      { ciaddr: "192.168.48.81", options: { 53: request, 50: wrong } },
      `ACK 192.168.48.81 ${toClient}`,
    ],
    // 4.3.3
    ["DECLINE", { options: { 53: decline, 50: its, 54: ours } }, "silence: recorded"],
    ["DECLINE without a server identifier", { options: { 53: decline, 50: its } }, "silence: recorded"],
    [
      "DECLINE as systemd-networkd 252 sends it",
      { ciaddr: "192.168.48.81", options: { 53: decline } },
      "silence: recorded",
    ],
    [
      "DECLINE of another's address in ciaddr",
      { ciaddr: "192.168.48.82", options: { 53: decline } },
      "silence: not-its-address",
    ],
    ["DECLINE to another server", { options: { 53: decline, 50: its, 54: another } }, "silence: other-server"],
    ["DECLINE of another's address", { options: { 53: decline, 50: wrong, 54: ours } }, "silence: not-its-address"],
    ["DECLINE of nothing", { options: { 53: decline, 54: ours } }, "silence: not-its-address"],
    // 4.3.4
    ["RELEASE", { ciaddr: "192.168.48.81", options: { 53: release, 54: ours } }, "silence: recorded"],
    ["RELEASE without a server identifier", { ciaddr: "192.168.48.81", options: { 53: release } }, "silence: recorded"],
    [
      "RELEASE to another server",
      { ciaddr: "192.168.48.81", options: { 53: release, 54: another } },
      "silence: other-server",
    ],
    [
      "RELEASE of another's address",
      { ciaddr: "192.168.48.82", options: { 53: release, 54: ours } },
      "silence: not-its-address",
    ],
    // 4.3.5
    ["INFORM", { ciaddr: "192.168.48.81", options: { 53: inform } }, `ACK ${toClient}`],
    ["INFORM, wants broadcast", { ciaddr: "192.168.48.81", flags: 0x8000, options: { 53: inform } }, `ACK ${toClient}`],
    [
      "INFORM from a static address",
      { ciaddr: "192.168.48.7", options: { 53: inform } },
      "ACK to 192.168.48.7:68 at 020000000011",
    ],
    [
      "INFORM without ciaddr",
      { sourceAddress: "192.168.48.7", options: { 53: inform } },
      "ACK to 192.168.48.7:68 at 020000000011",
    ],
    ["INFORM from nowhere", { options: { 53: inform } }, "silence: wrong-network"],
    ["INFORM from another network", { ciaddr: "10.9.9.9", options: { 53: inform } }, "silence: wrong-network"],
    [
      "INFORM by a relay",
      { ...viaRelay, ciaddr: "192.168.48.81", options: { 53: inform } },
      "ACK to relay 192.168.48.254:67",
    ],
    // nothing of a client
    ["OFFER", { options: { 53: "02" } }, "silence: unsupported-type"],
    ["LEASEQUERY", { options: { 53: "0a" } }, "silence: unsupported-type"],
    ["a reply", { op: 2, options: { 53: discover } }, "silence: not-a-request"],
    ["BOOTP", { options: { 1: "ffffff00" } }, "silence: bootp"],
    ["InfiniBand", { htype: 32, hlen: 0, options: { 53: discover } }, "silence: unsupported-hardware"],
    ["a MAC of eight bytes", { hlen: 8, options: { 53: discover } }, "silence: unsupported-hardware"],
  ])("%s", (_, sent, story) => {
    expect(new Fixture().story(sent)).toBe(story);
  });
});

describe("a stranger is never answered, whatever it asks", () => {
  it.each<readonly [string, Sent]>([
    ["DISCOVER", { options: { 53: discover } }],
    ["SELECTING us", { options: { 53: request, 50: its, 54: ours } }],
    ["INIT-REBOOT", { options: { 53: request, 50: its } }],
    ["INIT-REBOOT, wrong network", { options: { 53: request, 50: elsewhere } }],
    ["RENEWING", { ciaddr: "192.168.48.81", options: { 53: request } }],
    ["INFORM", { ciaddr: "192.168.48.81", options: { 53: inform } }],
    ["RELEASE", { ciaddr: "192.168.48.81", options: { 53: release, 54: ours } }],
    ["DECLINE", { options: { 53: decline, 50: its, 54: ours } }],
  ])("%s", (_, sent) => {
    const fixture = new Fixture();
    const outcome = fixture.outcome({ ...sent, mac: strangerMac });
    expect(outcome).toEqual({ kind: "silence", reason: "unknown-client", effects: [] });
    expect(fixture.network.tally().silences).toEqual(new Map([["unknown-client", 1]]));
  });
});

describe("effects", () => {
  it("an ACK says until when the lease runs, an OFFER nothing", () => {
    const fixture = new Fixture();
    expect(effectsOf(fixture.outcome({ options: { 53: discover }, nowMs: 5000 }))).toEqual([]);
    const outcome = fixture.outcome({ options: { 53: request, 50: its, 54: ours }, nowMs: 5000 });
    expect(effectsOf(outcome)).toEqual(["leased 192.168.48.81 02:00:00:00:00:11 until 605000"]);
  });

  it("a lease without end never ends", () => {
    const fixture = new Fixture({ pool: { leaseSeconds: 0xffff_ffff } });
    const outcome = fixture.outcome({ options: { 53: request, 50: its }, nowMs: 5000 });
    expect(effectsOf(outcome)).toEqual(["leased 192.168.48.81 02:00:00:00:00:11 until Infinity"]);
  });

  it("a RELEASE is recorded, and frees nothing", () => {
    const fixture = new Fixture();
    const outcome = fixture.outcome({ ciaddr: "192.168.48.81", options: { 53: release, 54: ours }, nowMs: 7 });
    expect(effectsOf(outcome)).toEqual(["released 192.168.48.81 02:00:00:00:00:11 at 7"]);
    expect(fixture.story({ options: { 53: discover } })).toBe(`OFFER 192.168.48.81 ${toClient}`);
  });

  it("a REQUEST to another server names it", () => {
    const outcome = new Fixture().outcome({ options: { 53: request, 50: its, 54: another } });
    expect(effectsOf(outcome)).toEqual(["foreign server 192.168.48.9 02:00:00:00:00:11"]);
  });

  it("a DECLINE is a conflict, and quarantines the address until its time is over", () => {
    const fixture = new Fixture({ pool: { quarantineSeconds: 60 } });
    const note = Buffer.from("in use by 02:aa").toString("hex");
    const outcome = fixture.outcome({ options: { 53: decline, 50: its, 54: ours, 56: note }, nowMs: 1000 });
    expect(effectsOf(outcome)).toEqual([
      "quarantined 192.168.48.81 02:00:00:00:00:11 until 61000",
      "conflict 192.168.48.81 02:00:00:00:00:11 in use by 02:aa",
    ]);
    const at = (nowMs: number, sent: Sent) => fixture.story({ ...sent, nowMs });
    expect(at(60_999, { options: { 53: discover } })).toBe("silence: quarantined");
    expect(at(60_999, { options: { 53: request, 50: its, 54: ours } })).toBe("NAK to everybody:68");
    expect(at(60_999, { options: { 53: request, 50: its } })).toBe("NAK to everybody:68");
    expect(at(60_999, { ciaddr: "192.168.48.81", options: { 53: request } })).toBe(`ACK 192.168.48.81 ${toClient}`);
    expect(at(61_000, { options: { 53: discover } })).toBe(`OFFER 192.168.48.81 ${toClient}`);
  });

  it("a note that does not print is left out", () => {
    const outcome = new Fixture().outcome({ options: { 53: decline, 50: its, 56: "1b5b" } });
    expect(effectsOf(outcome)[1]).toBe("conflict 192.168.48.81 02:00:00:00:00:11 without a note");
  });

  it("a quarantine can be called off", () => {
    const fixture = new Fixture();
    fixture.outcome({ options: { 53: decline, 50: its, 54: ours } });
    fixture.network.quarantine.delete(ip("192.168.48.81").value);
    expect(fixture.story({ options: { 53: discover } })).toBe(`OFFER 192.168.48.81 ${toClient}`);
  });
});
