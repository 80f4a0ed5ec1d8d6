// Answers for addresses, announcements, defence; and probes: what is sent when.
import { describe, expect, test } from "vitest";

import { type Arp, arpAnnouncement, arpProbe, arpReply, decodeArp } from "../../frame/arp.ts";
import { V4Address } from "../../net/address.ts";
import { macFromBytes, macToBytes, parseMac } from "../../net/mac.ts";
import { AnsweredAddresses, type Outlet } from "./answered.ts";
import type { ProbeResult } from "./interface.ts";
import { Probes } from "./probes.ts";

const own = macToBytes(parseMac("02:00:00:00:00:01"));
const other = macToBytes(parseMac("02:00:00:00:00:02"));
const address = 0x0a2a_0001;
const asker = 0x0a2a_0009;

/** `request 10.42.0.1 from 0.0.0.0 to ff:ff:..`: what a frame says, by a reader of its own. */
function said(frame: Uint8Array): string {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.length);
  const at = view.getUint16(12) === 0x8100 ? 18 : 14;
  expect(view.getUint16(at - 2)).toBe(0x0806);
  expect([view.getUint16(at), view.getUint16(at + 2), view.getUint16(at + 4)]).toEqual([1, 0x0800, 0x0604]);
  const operation = ["", "request", "reply"][view.getUint16(at + 6)];
  const sender = `${macFromBytes(frame.subarray(at + 8, at + 14))} ${new V4Address(view.getUint32(at + 14))}`;
  const tag = at === 18 ? ` in ${view.getUint16(14)}` : "";
  const to = macFromBytes(frame.subarray(0, 6));
  return `${operation} of ${new V4Address(view.getUint32(at + 24))} from ${sender} to ${to}${tag}`;
}

class Recorder implements Outlet {
  readonly mac = own;
  readonly vlan: number | undefined;
  readonly said: string[] = [];
  constructor(vlan?: number) {
    this.vlan = vlan;
  }
  send(frame: Uint8Array): void {
    this.said.push(said(frame));
  }
}

function heard(frame: Uint8Array): Arp {
  const at = new DataView(frame.buffer).getUint16(12) === 0x8100 ? 18 : 14;
  return decodeArp(frame, at)!;
}

const question = (mac = other, sender = asker, target = address): Arp => ({
  ...heard(arpProbe(mac, target, undefined)),
  senderAddress: sender,
});

describe("answers", () => {
  test("who asks for an address that is on is told our MAC; for others there is silence", () => {
    const answered = new AnsweredAddresses();
    const outlet = new Recorder(48);
    answered.hear(question(), outlet, 0);
    expect(outlet.said).toEqual([]);
    answered.add(address, 0);
    answered.hear(question(), outlet, 0);
    answered.hear(question(other, asker, address + 1), outlet, 0);
    expect(outlet.said).toEqual(["reply of 10.42.0.9 from 02:00:00:00:00:01 10.42.0.1 to 02:00:00:00:00:02 in 48"]);
    answered.delete(address);
    answered.hear(question(), outlet, 0);
    expect(outlet.said).toHaveLength(1);
  });

  test("another's probe is answered: it is no conflict, but it has to know", () => {
    const answered = new AnsweredAddresses();
    const outlet = new Recorder();
    answered.add(address, 0);
    expect(answered.hear(question(other, 0), outlet, 0)).toBeUndefined();
    expect(outlet.said).toEqual(["reply of 0.0.0.0 from 02:00:00:00:00:01 10.42.0.1 to 02:00:00:00:00:02"]);
  });

  test("an address is announced three times, and again when the link is back", () => {
    const answered = new AnsweredAddresses();
    const outlet = new Recorder();
    expect(answered.dueMs).toBe(Infinity);
    answered.add(address, 100);
    for (const nowMs of [100, 600, 1100, 2100, 9000]) answered.announce(outlet, nowMs);
    const announcement = "request of 10.42.0.1 from 02:00:00:00:00:01 10.42.0.1 to ff:ff:ff:ff:ff:ff";
    expect(outlet.said).toEqual([announcement, announcement, announcement]);
    expect(answered.dueMs).toBe(Infinity);
    answered.announceAgain(10_000);
    expect(answered.dueMs).toBe(10_000);
    answered.announce(outlet, 10_000);
    expect(outlet.said).toHaveLength(4);
  });

  test("an address that another claims is defended once in ten seconds, and told of as often", () => {
    const answered = new AnsweredAddresses();
    const outlet = new Recorder();
    answered.add(address, 0);
    const claim = heard(arpAnnouncement(other, address, undefined));
    const told = [0, 9999, 10_000].map((nowMs) => answered.hear(claim, outlet, nowMs));
    expect(told).toEqual([address, undefined, address]);
    expect(outlet.said).toHaveLength(2);
  });
});

describe("probes", () => {
  function probing() {
    const probes = new Probes();
    const results: ProbeResult[] = [];
    probes.start(1, address, 400, 1000, (result) => results.push(result));
    return { probes, results, outlet: new Recorder() };
  }

  test("three questions from nobody, then silence", () => {
    const { probes, results, outlet } = probing();
    const dues: number[] = [];
    for (let turn = 0; turn < 4; turn++) {
      dues.push(probes.dueMs);
      probes.turn(outlet, probes.dueMs);
    }
    expect(dues).toEqual([1000, 1100, 1200, 1400]);
    expect(outlet.said).toEqual(
      Array.from({ length: 3 }, () => "request of 10.42.0.1 from 02:00:00:00:00:01 0.0.0.0 to ff:ff:ff:ff:ff:ff"),
    );
    expect(results).toEqual([{ kind: "silent" }]);
    expect(probes.dueMs).toBe(Infinity);
  });

  test.each([
    ["an answer", arpReply(other, address, question(own, 0), undefined), true],
    ["an announcement", arpAnnouncement(other, address, undefined), true],
    ["another's probe for it", arpProbe(other, address, undefined), true],
    ["another's probe for something else", arpProbe(other, address + 1, undefined), false],
    ["somebody who asks for it, with an address of its own", arpReply(other, asker, question(), undefined), false],
    ["our own frame, come back", arpAnnouncement(own, address, undefined), false],
    ["a MAC that nobody has", arpAnnouncement(new Uint8Array(6), address, undefined), false],
  ])("%s", (_, frame, isInUse) => {
    const { probes, results } = probing();
    probes.hear(heard(frame), own);
    expect(results).toEqual(isInUse ? [{ kind: "in-use", mac: "02:00:00:00:00:02" }] : []);
  });

  test("a thread that slept through its time asks before it says that nobody answered", () => {
    const { probes, results, outlet } = probing();
    for (let turn = 0; turn < 3; turn++) probes.turn(outlet, 5000);
    expect(results).toEqual([]);
    probes.turn(outlet, 5000);
    expect(outlet.said).toHaveLength(3);
    expect(results).toEqual([{ kind: "silent" }]);
  });

  test("more than 256 are refused", () => {
    const probes = new Probes();
    for (let id = 0; id < 256; id++) probes.start(id, address, 400, 0, () => {});
    expect(() => probes.start(256, address, 400, 0, () => {})).toThrow(/256 probes are under way/);
  });
});

test.each([
  ["cut off", new Uint8Array(41)],
  ["another kind of network", new Uint8Array(60)],
])("%s is no ARP", (_, frame) => {
  expect(decodeArp(frame, 14)).toBeUndefined();
});
