// Frames of IPv6: one of each kind written out by hand with its checksum, and every fault.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { hex, toHex } from "../../../../test/dhcp/packet.ts";
import { ip6Bytes } from "../../../../test/dhcp/v6/packet.ts";
import { icmpFrame } from "../../../frame/icmp.ts";
import { datagramAt, decodeFrameV6, encodeDatagram, frameBufferBytesV6, type HeadersV6 } from "./frame.ts";

const headers: HeadersV6 = {
  ethernet: { destination: hex("020000000011"), source: hex("020000000001") },
  source: ip6Bytes("fe80::2"),
  destination: ip6Bytes("fe80::11"),
};
const ports = { source: 547, destination: 546 };

function datagramOf(payload: Uint8Array, changes: Partial<HeadersV6> = {}, each = ports): Uint8Array {
  const buffer = new Uint8Array(frameBufferBytesV6).fill(0xa5);
  buffer.set(payload, datagramAt);
  return encodeDatagram({ ...headers, ...changes }, each, payload.length, buffer).slice();
}

const receive = (frame: Uint8Array, acceptPartialChecksum = false) => decodeFrameV6(frame, { acceptPartialChecksum });

/*
 * UDP, 11 bytes, "abc": fe80+0002 + fe80+0011 + 0011+000b (pseudo) + 0223+0222+000b + 6162+6300 = 2_c5e1, folded c5e3,
 * complement 3a1c. Without the datagram, as virtio leaves it: fe80+0002+fe80+0011+0011+000b = 1_fd2f, folded fd30.
 */
const addresses = "fe800000000000000000000000000002 fe800000000000000000000000000011";
const written = `020000000011 020000000001 86dd 60000000 000b 11 40 ${addresses} 02230222 000b3a1c 616263`;
/** A router solicitation: 8500+0000 over the same addresses, 003a+0008: fe80+0002+fe80+0011+003a+0008+8500 = 2_8255. */
const solicitation = `020000000011 020000000001 86dd 60000000 0008 3a ff ${addresses} 85007da8 00000000`;

it("a datagram, byte by byte", () => {
  expect(toHex(datagramOf(hex("616263")))).toBe(toHex(hex(written)));
  expect(receive(hex(written))).toMatchObject({
    kind: "datagram",
    ...headers,
    sourcePort: 547,
    destinationPort: 546,
    payload: hex("616263"),
  });
});

it("a tagged one", () => {
  const tagged = datagramOf(hex("616263"), { ethernet: { ...headers.ethernet, vlan: 817 } });
  expect(toHex(tagged)).toBe(toHex(hex(written.replace("86dd", "8100 0331 86dd"))));
  expect(receive(tagged)).toMatchObject({ ethernet: { vlan: 817 }, payload: hex("616263") });
});

it("an ICMPv6 message, byte by byte, whatever its checksum was before", () => {
  const { ethernet, source, destination } = headers;
  const packet = { source, destination, mac: ethernet.destination, message: hex("8500ffff00000000") };
  const frame = icmpFrame(packet, ethernet.source);
  expect(toHex(frame)).toBe(toHex(hex(solicitation)));
  expect(receive(frame)).toMatchObject({ kind: "icmp", hopLimit: 255, payload: hex("85007da800000000") });
});

describe("what is refused", () => {
  it.each<readonly [string, string, string]>([
    ["nothing", "", "frame-too-short"],
    ["a tag that is cut off", "020000000011 020000000001 8100 00", "frame-too-short"],
    ["IPv4", written.replace("86dd", "0800"), "not-ipv6"],
    ["IPv4 in the place of IPv6", written.replace("86dd 6", "86dd 4"), "bad-ip-header"],
    ["a frame that ends in the header", written.slice(0, 110), "bad-ip-header"],
    ["a packet longer than the frame", written.replace("000b 11", "000c 11"), "bad-ip-header"],
    ["a hop-by-hop header", written.replace("000b 11", "000b 00"), "not-udp"],
    ["a fragment", written.replace("000b 11", "000b 2c"), "not-udp"],
    ["a datagram longer than its packet", written.replace("000b3a1c", "000c3a1c"), "bad-udp-length"],
    ["a datagram without its header", written.replace("000b 11", "0007 11"), "bad-udp-length"],
    ["a wrong UDP checksum", written.replace("3a1c", "3a1d"), "bad-udp-checksum"],
    ["no UDP checksum", written.replace("3a1c", "0000"), "bad-udp-checksum"],
    [
      "the checksum of the pseudo header alone, as virtio leaves it",
      written.replace("3a1c", "fd30"),
      "bad-udp-checksum",
    ],
    ["a wrong ICMPv6 checksum", solicitation.replace("7da8", "7da9"), "bad-icmp-checksum"],
    ["half an ICMPv6 message", solicitation.replace("0008 3a", "0003 3a"), "bad-icmp-checksum"],
  ])("%s", (_, frame, code) => {
    expect(receive(hex(frame))).toMatchObject({ kind: "fault", code });
  });

  it("a partial checksum is taken from who says that it is; none is not", () => {
    expect(receive(hex(written.replace("3a1c", "fd30")), true)).toMatchObject({ kind: "datagram" });
    expect(receive(hex(written.replace("3a1c", "0000")), true)).toMatchObject({ code: "bad-udp-checksum" });
  });

  it("padding of Ethernet is not", () => {
    expect(receive(hex(`${written} 000000`))).toMatchObject({ kind: "datagram", payload: hex("616263") });
  });
});

it("what is sent is what is received, and one changed bit is noticed", () => {
  const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
  const port = fc.integer({ min: 0, max: 0xffff });
  const any = fc.record({ source: bytes(16), destination: bytes(16) });
  fc.assert(
    fc.property(
      any,
      port,
      port,
      fc.uint8Array({ maxLength: 1452, size: "max" }),
      fc.nat(),
      (each, from, to, payload, bit) => {
        const frame = datagramOf(payload, each, { source: from, destination: to });
        expect(receive(frame)).toMatchObject({ ...each, sourcePort: from, destinationPort: to, payload });
        // From the addresses on: version, class, flow label and hop limit are in no checksum.
        const at = 22 * 8 + (bit % ((frame.length - 22) * 8));
        frame[at >> 3]! ^= 1 << (at & 7);
        expect(receive(frame).kind).toBe("fault");
      },
    ),
  );
});
