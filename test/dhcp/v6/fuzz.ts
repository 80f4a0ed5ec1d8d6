// Any bytes as a frame of IPv6: nothing throws, hangs or grows; our answers are well-formed. A failure names seed and
// round.
import { expect } from "vitest";

import { datagramAt, decodeFrameV6, encodeDatagram, frameBufferBytesV6 } from "../../../src/dhcp/v6/frame/frame.ts";
import { answerNeighbor } from "../../../src/dhcp/v6/neighbor/neighbor-advertisement.ts";
import { RaSender } from "../../../src/dhcp/v6/neighbor/ra-sender.ts";
import { decodeSolicitation } from "../../../src/dhcp/v6/neighbor/solicitation.ts";
import { ReplyWriterV6 } from "../../../src/dhcp/v6/server/send.ts";
import { icmpFrame } from "../../../src/frame/icmp.ts";
import { hex } from "../packet.ts";
import { type Draw, fuzzing, spoiltFrame } from "../spoilt-frames.ts";
import { Fixture, serverId } from "./fixture.ts";
import {
  clientId,
  ip6Bytes,
  ip6Hex,
  message,
  na,
  oro,
  pd,
  rapidCommit,
  relayed,
  ta,
  unpackRelays,
  unpackV6,
} from "./packet.ts";

const its = "fd00:48::81";
const asked = oro(23, 24, 82, 83, 32);
const solicit = message("SOLICIT", [clientId, [8, "0000"], na(1), asked, rapidCommit]);
const eui = "fe80::ff:fe00:11";

/** What clients and relays send, as the ground from which it is spoilt. */
const datagrams = [
  solicit,
  message("SOLICIT", [clientId, na(1, its), ta(2), pd(3, "fd00:77::"), asked]),
  message("REQUEST", [clientId, serverId, na(1, its), asked]),
  message("CONFIRM", [clientId, na(1, its)]),
  message("RENEW", [clientId, serverId, na(1, its, "fd00:48::99"), pd(2, "fd00:77::"), asked]),
  message("REBIND", [clientId, na(1, "fd00:48::99"), na(2, its)]),
  message("RELEASE", [clientId, serverId, na(1, its)]),
  message("DECLINE", [clientId, serverId, na(1, its)]),
  message("INFORMATION-REQUEST", [clientId, asked]),
  relayed(solicit, {
    peer: eui,
    link: "fd00:48::1",
    options: [
      [18, "65746831"],
      [79, "0001020000000011"],
    ],
  }),
  relayed(relayed(solicit, { peer: eui }), { hops: 1, link: "fd00:48::1", options: [[18, "ab".repeat(64)]] }),
];
const neighbors = [
  hex("85000000000000000101020000000011"),
  hex("8700000000000000" + ip6Hex("fe80::2") + "0101020000000011"),
];

const headers = {
  ethernet: { destination: hex("333300010002"), source: hex("020000000011") },
  source: ip6Bytes("fe80::11"),
  destination: ip6Bytes("ff02::1:2"),
};
const ports = { source: 546, destination: 547 };

/** Mostly a message, changed, cut, longer or joined from two; sometimes the frame's own bytes, or only noise. */
function spoilt(draw: Draw, buffer: Uint8Array): Uint8Array {
  const isIcmp = draw(8) === 0;
  const grounds = isIcmp ? neighbors : datagrams;
  const at = isIcmp ? 0 : datagramAt;
  const ground = grounds[draw(grounds.length)]!;
  let length = ground.length;
  buffer.set(ground, at);
  const kind = draw(8);
  if (kind === 0) length = draw(700);
  if (kind === 1) length = draw(ground.length + 1);
  if (kind === 2) {
    const other = grounds[draw(grounds.length)]!;
    const from = draw(other.length);
    const to = draw(ground.length);
    buffer.set(other.subarray(from), at + to);
    length = to + other.length - from;
  }
  if (kind === 3) for (let i = 1; i < length; i++) buffer[at + i] = draw(256);
  for (let i = length > 0 ? draw(6) : 0; i > 0; i--) {
    buffer[at + draw(length)] = [draw(256), 0, 255, 1, 3, 5, 9, 12, 25, 79][draw(10)]!;
  }
  const { source, destination, ethernet } = headers;
  const packet = { source, destination, mac: ethernet.destination, message: buffer.subarray(0, length) };
  const frame = isIcmp ? icmpFrame(packet, ethernet.source) : encodeDatagram(headers, ports, length, buffer);
  return spoiltFrame(draw, kind, frame, 62);
}

export const fuzz = fuzzing((draw, rounds) => {
  const fixture = new Fixture({ rateLimit: { burst: 1e9, perSecond: 1, clientsMax: 100 } });
  const pool = fixture.network.pool("default/net-48")!;
  const [binding] = fixture.network.bindings.values();
  const writer = new ReplyWriterV6();
  const sender = new RaSender(() => draw(1000) / 1000);
  const buffer = new Uint8Array(frameBufferBytesV6);
  const mac = hex("020000000001");
  const seen = { replies: 0, advertisements: 0, neighbors: 0 };
  const tell = (round: number): void => {
    const frame = decodeFrameV6(spoilt(draw, buffer), { acceptPartialChecksum: draw(2) === 0 });
    if (frame.kind === "fault") return;
    if (frame.kind === "icmp") {
      const question = decodeSolicitation(frame);
      if (question.kind === "router-solicitation") sender.solicited(question, round);
      const answer = question.kind === "neighbor-solicitation" ? answerNeighbor(pool, question, mac) : undefined;
      const due = sender.advertisement(pool, round);
      if (answer !== undefined) seen.neighbors += 1;
      if (due !== undefined) seen.advertisements += 1;
      for (const packet of [answer, due]) {
        const back = packet && decodeFrameV6(icmpFrame(packet, mac), { acceptPartialChecksum: false });
        if (back?.kind === "fault") throw new Error(back.code);
      }
      return;
    }
    const outcome = fixture.server.handle(
      frame.payload,
      {
        network: fixture.network,
        acceptRelays: draw(2) === 0,
        sourceAddress: frame.source,
        destinationAddress: frame.destination,
        sourceMac: draw(4) === 0 ? undefined : frame.ethernet.source,
      },
      round,
    );
    if (draw(100) === 0) fixture.network.quarantine.delete(binding!.key);
    if (outcome.kind === "silence") return;
    seen.replies += 1;
    const { bytes } = writer.datagram(outcome);
    const { inner } = unpackRelays(bytes);
    if (inner.length > 1452) throw new Error(`a reply of ${inner.length} bytes`);
    const { type } = unpackV6(inner);
    if (type !== 2 && type !== 7) throw new Error(`a reply of type ${type}`);
    const sent = writer.frame(outcome, mac, undefined);
    const back = sent && decodeFrameV6(sent.bytes, { acceptPartialChecksum: false });
    if (back?.kind === "fault") throw new Error(back.code);
  };
  const end = (): void => {
    expect(seen.replies).toBeGreaterThan(rounds / 10);
    expect(seen.neighbors).toBeGreaterThan(rounds / 500);
    expect(seen.advertisements).toBeGreaterThan(0);
    for (const { received, replies, silences, faults } of [fixture.server.tally, ...fixture.network.tallies.values()]) {
      expect(received.size + replies.size + silences.size + faults.size).toBeLessThanOrEqual(14 + 2 + 17 + 4);
    }
    expect(fixture.network.bindings.size).toBe(2);
    expect(fixture.network.rateLimit.clients).toBeLessThanOrEqual(100);
  };
  return { round: tell, end };
});
