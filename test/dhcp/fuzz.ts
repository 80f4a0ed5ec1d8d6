// Any bytes as a frame: nothing throws, hangs or grows; our answers are well-formed. A failure names seed and round.
import { expect } from "vitest";

import { decodeFrame, encodeFrame, frameBufferBytes, payloadAt } from "../../src/dhcp/frame/frame.ts";
import { bootTexts, decodeMessage } from "../../src/dhcp/message/decode.ts";
import { decodeOption } from "../../src/dhcp/options/convert.ts";
import { ReplyWriter } from "../../src/dhcp/server/send.ts";
import { Fixture } from "./fixture.ts";
import { hex, ip, ipHex, packet, unpack } from "./packet.ts";
import { type Draw, fuzzing, spoiltFrame } from "./spoilt-frames.ts";

const its = ipHex("192.168.48.81");
const ours = ipHex("192.168.48.2");
const common = { 55: "0103060f1c0c2a77791a", 57: "05dc", 61: "ff00000001000100012b3c4d5e020000000011", 12: "766d2d61" };

/** What clients send, as the ground from which it is spoilt. */
const messages = [
  packet({ options: { 53: "01", ...common } }),
  packet({ options: { 53: "03", 50: its, 54: ours, ...common } }),
  packet({ options: { 53: "03", 50: its, ...common }, giaddr: "192.168.48.254" }),
  packet({ ciaddr: "192.168.48.81", options: { 53: "03", ...common, 82: "0104aabbccdd05040a310001" } }),
  packet({ options: { 53: "04", 50: its, 54: ours, 56: "6e6f" } }),
  packet({ ciaddr: "192.168.48.81", options: { 53: "07", 54: ours } }),
  packet({ ciaddr: "192.168.48.81", options: { 53: "08", ...common } }),
  packet({
    options: { 52: "03", 53: "01", 119: "03656e67056170706c6503636f6d00096d61726b6574696e67c004", 121: "080ac0a83006" },
    file: hex("77020161 ff"),
    sname: hex("3702060f ff"),
  }),
];

const headers = {
  ethernet: { destination: hex("ffffffffffff"), source: hex("020000000011") },
  sourceAddress: 0,
  destinationAddress: 0xffff_ffff,
  sourcePort: 68,
  destinationPort: 67,
};

/** Mostly a message, changed, cut, longer or joined from two; sometimes the frame's own bytes, or only noise. */
function spoilt(draw: Draw, buffer: Uint8Array): Uint8Array {
  const ground = messages[draw(messages.length)]!;
  let length = ground.length;
  buffer.set(ground, payloadAt);
  const kind = draw(8);
  if (kind === 0) length = draw(700);
  if (kind === 1) length = Math.min(ground.length, draw(ground.length + 1));
  if (kind === 2) {
    const other = messages[draw(messages.length)]!;
    const from = 236 + draw(other.length - 236);
    const at = 236 + draw(ground.length - 236);
    buffer.set(other.subarray(from), payloadAt + at);
    length = at + other.length - from;
  }
  if (kind === 3) for (let i = 0; i < length; i++) if (i < 236 || i > 239) buffer[payloadAt + i] = draw(256);
  // Options are where most can go wrong.
  for (let i = length > 0 ? draw(6) : 0; i > 0; i--) {
    const at = draw(3) === 0 || length <= 240 ? draw(length) : 240 + draw(length - 240);
    buffer[payloadAt + at] = [draw(256), 0, 255, 53, 52, 82, 119, 1][draw(8)]!;
  }
  const frame = encodeFrame(headers, length, buffer);
  return spoiltFrame(draw, kind, frame, 46);
}

export const fuzz = fuzzing((draw, rounds) => {
  const fixture = new Fixture({ rateLimit: { burst: 1e9, perSecond: 1, clientsMax: 100 } });
  const writer = new ReplyWriter();
  const buffer = new Uint8Array(frameBufferBytes);
  const mac = hex("020000000001");
  let replies = 0;
  const tell = (round: number): void => {
    const frame = decodeFrame(spoilt(draw, buffer), { acceptPartialChecksum: true });
    if (frame.kind === "fault") return;
    look(frame.payload);
    const arrival = { acceptRelays: draw(2) === 0, sourceAddress: frame.sourceAddress };
    const outcome = fixture.handle(frame.payload, arrival, round);
    if (draw(100) === 0) fixture.network.quarantine.delete(ip("192.168.48.81").value);
    if (outcome.kind === "silence") return;
    replies += 1;
    const { bytes } = writer.datagram(outcome);
    if (bytes.length < 300 || bytes.length > 1472) throw new Error(`a reply of ${bytes.length} bytes`);
    if (unpack(bytes).op !== 2) throw new Error("no reply");
    const sent = writer.frame(outcome, mac, undefined);
    const back = sent === undefined ? undefined : decodeFrame(sent.bytes, { acceptPartialChecksum: false });
    if (back?.kind === "fault") throw new Error(back.code);
  };
  const end = (): void => {
    expect(replies).toBeGreaterThan(rounds / 20);
    for (const { received, replies: types, silences, faults } of [
      fixture.server.tally,
      ...fixture.network.tallies.values(),
    ]) {
      expect(received.size + types.size + silences.size + faults.size).toBeLessThanOrEqual(9 + 3 + 15 + 5);
    }
    expect(fixture.network.bindings.size).toBe(2);
    expect(fixture.network.rateLimit.clients).toBeLessThanOrEqual(100);
  };
  return { round: tell, end };
});

/** Everything that a trace would show of it, with bounds on what a datagram can be blown up to. */
function look(datagram: Uint8Array): void {
  const message = decodeMessage(datagram);
  if (message.kind === "fault") return;
  bootTexts(message);
  for (const code of message.options.codes()) {
    const data = message.options.get(code)!;
    if (data.length > datagram.length) throw new Error(`option ${code} has more bytes than the message`);
    const value = decodeOption(code, data);
    if (value.kind === "domains" && value.value.join("").length > 64 * 255) throw new Error("domains grow");
  }
}
