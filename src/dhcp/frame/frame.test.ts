// Frames: one written out by hand with its checksums, every fault, checksums against a slow sum.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { hex, ip, toHex } from "../../../test/dhcp/packet.ts";
import { word } from "../../../test/net/arbitrary.ts";
import { fold, sumWords } from "../../frame/checksum.ts";
import { decodeFrame, encodeFrame, type FrameHeaders, frameBufferBytes, payloadAt } from "./frame.ts";

const client = hex("020000000011");
const server = hex("020000000001");

const headers: FrameHeaders = {
  ethernet: { destination: client, source: server },
  sourceAddress: ip("192.168.48.2").value,
  destinationAddress: ip("192.168.48.81").value,
  sourcePort: 67,
  destinationPort: 68,
};

function frameOf(payload: Uint8Array, changes: Partial<FrameHeaders> = {}): Uint8Array {
  const buffer = new Uint8Array(frameBufferBytes).fill(0xa5);
  buffer.set(payload, payloadAt);
  return encodeFrame({ ...headers, ...changes }, payload.length, buffer).slice();
}

const receive = (frame: Uint8Array, acceptPartialChecksum = false) => decodeFrame(frame, { acceptPartialChecksum });

/*
 * IPv4, total length 31: 4500+001f+0000+4000+4011+c0a8+3002+c0a8+3051 = 2_a6d3, folded a6d5, complement 592a.
 * UDP, 11 bytes, "abc": c0a8+3002+c0a8+3051+0011+000b + 0043+0044+000b + 6162+6300 = 2_a6b3, folded a6b5, compl. 594a.
 */
const written = "020000000011 020000000001 0800 4500001f 00004000 4011592a c0a83002 c0a83051 00430044 000b594a 616263";

it("a frame, byte by byte", () => {
  expect(toHex(frameOf(hex("616263")))).toBe(toHex(hex(written)));
  const read = receive(hex(written));
  expect(read).toMatchObject({ kind: "frame", ...headers, payload: hex("616263") });
});

it("a tagged one", () => {
  const tagged = frameOf(hex("616263"), { ethernet: { ...headers.ethernet, vlan: 2048 + 817 } });
  expect(toHex(tagged)).toBe(toHex(hex(written.replace("0800 4500", "8100 0b31 0800 4500"))));
  expect(receive(tagged)).toMatchObject({ ethernet: { vlan: 2048 + 817 }, payload: hex("616263") });
});

describe("what is taken", () => {
  it.each<readonly [string, string]>([
    ["padding of Ethernet behind the packet", `${written} 0000000000000000`],
    ["a tag with a priority and VLAN 0", written.replace("0800 4500", "8100 e000 0800 4500")],
    ["no UDP checksum", written.replace("594a", "0000")],
    [
      "IPv4 options",
      written.replace("4500001f", "46000023").replace("592a", "5826").replace("c0a83051", "c0a83051 00000000"),
    ],
  ])("%s", (_, frame) => {
    const read = receive(hex(frame));
    expect(read).toMatchObject({ kind: "frame", payload: hex("616263") });
    expect(read.kind === "frame" && read.ethernet.vlan).toBeUndefined();
  });
});

describe("what is refused", () => {
  it.each<readonly [string, string, string]>([
    ["nothing", "", "frame-too-short"],
    ["half a header", written.slice(0, 26), "frame-too-short"],
    ["a tag that is cut off", "020000000011 020000000001 8100 00", "frame-too-short"],
    ["ARP", written.replace("0800 4500", "0806 4500"), "not-ipv4"],
    ["two tags", written.replace("0800 4500", "8100 0001 8100 0002 0800 4500"), "not-ipv4"],
    ["IPv6 in the place of IPv4", written.replace("4500", "6500"), "bad-ip-header"],
    ["a header of four words", written.replace("4500", "4400"), "bad-ip-header"],
    ["a packet longer than the frame", written.replace("001f", "0020"), "bad-ip-header"],
    ["a packet shorter than its header", written.replace("001f", "0013"), "bad-ip-header"],
    ["a frame that ends in the header", written.slice(0, 60), "bad-ip-header"],
    ["a wrong IPv4 checksum", written.replace("592a", "592b"), "bad-ip-checksum"],
    ["the first of several fragments", written.replace("4000 4011592a", "2000 4011792a"), "fragment"],
    ["a later fragment", written.replace("4000 4011592a", "0001 40119929"), "fragment"],
    ["TCP", written.replace("4011592a", "40065935"), "not-udp"],
    ["a datagram longer than its packet", written.replace("000b594a", "000c594a"), "bad-udp-length"],
    ["a datagram shorter than its header", written.replace("000b594a", "0007594a"), "bad-udp-length"],
    [
      "a packet without a UDP header",
      "020000000011 020000000001 0800 45000018 00004000 40115931 c0a83002 c0a83051 00430044",
      "bad-udp-length",
    ],
    ["a wrong UDP checksum", written.replace("594a", "594b"), "bad-udp-checksum"],
    [
      "the checksum of the pseudo header alone, as virtio leaves it",
      written.replace("594a", "e1c0"),
      "bad-udp-checksum",
    ],
  ])("%s: %s", (_, frame, code) => {
    expect(receive(hex(frame))).toMatchObject({ kind: "fault", code });
  });

  it("a partial checksum is taken from who says that it is", () => {
    expect(receive(hex(written.replace("594a", "e1c0")), true)).toMatchObject({
      kind: "frame",
      payload: hex("616263"),
    });
    expect(receive(hex(written.replace("592a", "592b")), true)).toMatchObject({ code: "bad-ip-checksum" });
  });
});

describe("checksums", () => {
  it("of the numbers in RFC 1071 section 3: dd f2 before the complement", () => {
    const numbers = hex("0001f203f4f5f6f7");
    expect(fold(sumWords(numbers, 0, numbers.length, 0))).toBe(~0xddf2 & 0xffff);
  });

  it("agree with a slow sum that carries at every step", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 1500, size: "max" }), (bytes) => {
        let sum = 0;
        for (let at = 0; at < bytes.length; at += 2) {
          sum += bytes[at]! * 256 + (bytes[at + 1] ?? 0);
          if (sum > 0xffff) sum -= 0xffff;
        }
        expect(fold(sumWords(bytes, 0, bytes.length, 0)) % 0xffff).toBe((0xffff - sum) % 0xffff);
      }),
    );
  });

  it("a sum of zero is sent as its other zero", () => {
    // All fields are chosen so that the words add up to ffff.
    const zero = { sourceAddress: 0, destinationAddress: 0, sourcePort: 0, destinationPort: 0 };
    const rest = 0xffff - 0x11 - 2 * 10;
    const frame = frameOf(Uint8Array.of(rest >> 8, rest & 0xff), zero);
    expect(toHex(frame.subarray(40, 42))).toBe("ffff");
    expect(receive(frame).kind).toBe("frame");
  });
});

it("what is sent is what is received, and one changed bit is noticed", () => {
  const mac = fc.uint8Array({ minLength: 6, maxLength: 6 });
  const port = fc.integer({ min: 0, max: 0xffff });
  const any = fc.record({
    ethernet: fc.oneof(
      fc.record({ destination: mac, source: mac }),
      fc.record({ destination: mac, source: mac, vlan: fc.integer({ min: 1, max: 4094 }) }),
    ),
    sourceAddress: word,
    destinationAddress: word,
    sourcePort: port,
    destinationPort: port,
  });
  fc.assert(
    fc.property(any, fc.uint8Array({ maxLength: 1472, size: "max" }), fc.nat(), (each, payload, bit) => {
      const frame = frameOf(payload, each);
      expect(receive(frame)).toMatchObject({ kind: "frame", ...each, payload });
      // Behind the Ethernet header, whose own checksum is the card's.
      const at = 18 * 8 + (bit % ((frame.length - 18) * 8));
      frame[at >> 3]! ^= 1 << (at & 7);
      const changed = receive(frame);
      expect(changed.kind === "fault" || isLostChecksum(frame, changed)).toBe(true);
    }),
  );
});

/** A change that made the UDP checksum zero says that there is none. */
function isLostChecksum(frame: Uint8Array, read: ReturnType<typeof receive>): boolean {
  if (read.kind === "fault") return false;
  const at = frame.length - read.payload.length - 2;
  return frame[at] === 0 && frame[at + 1] === 0;
}
