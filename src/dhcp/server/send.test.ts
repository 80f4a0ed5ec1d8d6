// Replies in frames: to whom, from whom, with which tag; and that one buffer serves for all of them.
import { describe, expect, it } from "vitest";

import { Fixture, type Sent } from "../../../test/dhcp/fixture.ts";
import { hex, ip, ipHex, toHex, unpack } from "../../../test/dhcp/packet.ts";
import { decodeFrame } from "../frame/frame.ts";
import type { Reply } from "./outcome.ts";
import { ReplyWriter } from "./send.ts";

const server = hex("020000000001");

function replyTo(sent: Sent): Reply {
  const outcome = new Fixture().outcome(sent);
  if (outcome.kind === "silence") throw new Error(outcome.reason);
  return outcome;
}

describe("ReplyWriter", () => {
  it.each<readonly [string, Sent, number | undefined, string, string]>([
    ["to the client's own MAC", { options: { 53: "01" } }, undefined, "020000000011", "192.168.48.81"],
    ["to everybody", { flags: 0x8000, options: { 53: "01" } }, undefined, "ffffffffffff", "255.255.255.255"],
    ["a NAK", { options: { 53: "03", 50: ipHex("10.9.9.9") } }, undefined, "ffffffffffff", "255.255.255.255"],
    ["in a VLAN", { options: { 53: "01" } }, 817, "020000000011", "192.168.48.81"],
    ["of an INFORM", { ciaddr: "192.168.48.7", options: { 53: "08" } }, undefined, "020000000011", "192.168.48.7"],
  ])("%s", (_, sent, vlan, mac, address) => {
    const reply = replyTo(sent);
    const writer = new ReplyWriter();
    const frame = decodeFrame(writer.frame(reply, server, vlan)!.bytes.slice(), { acceptPartialChecksum: false });
    if (frame.kind === "fault") throw new Error(frame.code);
    expect(toHex(frame.ethernet.destination)).toBe(mac);
    expect(toHex(frame.ethernet.source)).toBe("020000000001");
    expect(frame.ethernet.vlan).toBe(vlan);
    expect([frame.sourceAddress, frame.destinationAddress]).toEqual([ip("192.168.48.2").value, ip(address).value]);
    expect([frame.sourcePort, frame.destinationPort]).toEqual([67, 68]);
    expect(frame.payload).toEqual(writer.datagram(reply).bytes);
  });

  it("makes no frame for a relay: the way there is routed", () => {
    const reply = replyTo({ giaddr: "192.168.48.254", acceptRelays: true, options: { 53: "01" } });
    expect(new ReplyWriter().frame(reply, server, undefined)).toBeUndefined();
    expect(unpack(new ReplyWriter().datagram(reply).bytes).giaddr).toBe("192.168.48.254");
  });

  it.each<readonly [string, Sent]>([
    ["to the relay", { giaddr: "192.168.48.254", acceptRelays: true, options: { 53: "01" } }],
    ["to the router before a client that renews", { ciaddr: "192.168.48.81", options: { 53: "03" } }],
  ])("goes by way of who sent the message, where that need not be the client: %s", (_, sent) => {
    const frame = new ReplyWriter().frame(replyTo(sent), server, undefined, hex("020000000077"))!;
    expect(toHex(frame.bytes.subarray(0, 6))).toBe("020000000077");
  });

  it("leaves nothing of one reply in the next", () => {
    const writer = new ReplyWriter();
    const long = replyTo({ options: { 53: "01", 57: "05dc", 61: "aa".repeat(250), 82: "0104aabbccdd" } });
    const short = replyTo({ options: { 53: "01", 55: "01" } });
    const alone = new ReplyWriter().frame(short, server, undefined)!.bytes.slice();
    writer.frame(long, server, 817);
    expect(writer.frame(short, server, undefined)!.bytes).toEqual(alone);
  });
});
