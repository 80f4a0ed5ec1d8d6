import { expect, test } from "vitest";

import { encodeFrame, frameBufferBytes, payloadAt } from "../../dhcp/frame/frame.ts";
import { parseAddress, type V4Address } from "../../net/address.ts";
import { macToBytes, parseMac } from "../../net/mac.ts";
import { describeFrame } from "./message-line.ts";

const ip = (text: string) => (parseAddress(text) as V4Address).value;

function frame(payload: Uint8Array): Uint8Array {
  const buffer = new Uint8Array(frameBufferBytes);
  buffer.set(payload, payloadAt);
  const headers = {
    ethernet: { destination: new Uint8Array(6).fill(255), source: macToBytes(parseMac("02:00:00:00:00:01")), vlan: 48 },
    sourceAddress: 0,
    destinationAddress: ip("255.255.255.255"),
    sourcePort: 68,
    destinationPort: 67,
  };
  return encodeFrame(headers, payload.length, buffer).slice();
}

function discover(): Uint8Array {
  const message = new Uint8Array(300);
  message.set([1, 1, 6, 0, 0xde, 0xad, 0xbe, 0xef], 0);
  message.set(macToBytes(parseMac("02:00:00:00:00:01")), 28);
  message.set([0x63, 0x82, 0x53, 0x63, 53, 1, 1, 50, 4, 10, 1, 0, 5, 12, 3, 0x77, 0x65, 0x62, 224, 1, 7, 255], 236);
  return message;
}

test("a message is one line with every option by its name", () => {
  expect(describeFrame(frame(discover()), Date.UTC(2026, 10, 18, 4, 5, 6, 789))).toEqual({
    macs: ["02:00:00:00:00:01"],
    line:
      "04:05:06.789 02:00:00:00:00:01 > ff:ff:ff:ff:ff:ff vlan 48 0.0.0.0:68 > 255.255.255.255:67 " +
      "DISCOVER (request) xid deadbeef secs 0 chaddr 02:00:00:00:00:01; " +
      'requested address=10.1.0.5, host name="web", unknown=(224) 07',
  });
});

test("what is no message says so, and what is no datagram of DHCP is nothing", () => {
  expect(describeFrame(frame(new Uint8Array(20)), 0)?.line).toContain("malformed: ");
  expect(describeFrame(new Uint8Array(60), 0)).toBeUndefined();
});

const ends = "33 33 00 01 00 02 02 00 00 00 00 11 86 dd";
const guest = "fe800000000000000000000000000011";
const servers = "ff020000000000000000000000010002";

/** A frame with a right checksum. */
function frameV6(protocol: number, body: string, from = guest, to = servers): Uint8Array {
  const bytes = Buffer.from(body.replaceAll(/\s/g, ""), "hex");
  const pseudo = Buffer.concat([
    Buffer.from(from + to, "hex"),
    Buffer.from([0, 0, 0, bytes.length, 0, 0, 0, protocol]),
  ]);
  let sum = 0;
  const whole = Buffer.concat([pseudo, bytes, Buffer.alloc(bytes.length % 2)]);
  for (let at = 0; at < whole.length; at += 2) sum += whole.readUInt16BE(at);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  bytes.writeUInt16BE(~sum & 0xffff, protocol === 17 ? 6 : 2);
  const start = Buffer.from(ends.replaceAll(" ", "") + "60000000", "hex");
  const rest = Buffer.from([0, bytes.length, protocol, 255]);
  return Buffer.concat([start, rest, Buffer.from(from + to, "hex"), bytes]);
}

const datagram = (payload: string, ports = "0222 0223") => {
  const bytes = payload.replaceAll(/\s/g, "");
  return frameV6(17, `${ports} ${(8 + bytes.length / 2).toString(16).padStart(4, "0")} 0000 ${bytes}`);
};
const address = "fd000048000000000000000000000081";
const lease = `0005 0018 ${address} 00000258 00000258`;
const head = "00:00:00.000 02:00:00:00:00:11 > 33:33:00:01:00:02";
const way = "[fe80::11]:546 > [ff02::1:2]:547";
const solicit = `01 abc123 0001 000a 00030001020000000011 0003 0028 00000007 0000012c 000001e0 ${lease} 0006 0004 0017 0018 0008 0002 0064`;
const said =
  "SOLICIT xid abc123; client id=00030001020000000011, " +
  "addresses=[iaid 00000007 T1 300 T2 480, address=fd00:48::81 preferred 600 valid 600], asks for=23 24, elapsed=1 s";

test.each([
  ["SOLICIT", datagram(solicit), `${head} ${way} ${said}`],
  [
    "REPLY with DNS, names and a status",
    datagram("07 abc123 0017 0010 fd000048000000000000000000000053 0018 0005 0376 6d31 00 000d 0006 0003 6e6f7065"),
    `${head} ${way} REPLY xid abc123; DNS servers=fd00:48::53, domain search=vm1, status=NoBinding "nope"`,
  ],
  [
    "through a relay",
    datagram(
      `0c 00 ${address} ${guest} 0012 0001 61 0009 ${(solicit.replaceAll(" ", "").length / 2).toString(16).padStart(4, "0")} ${solicit}`,
    ),
    `${head} ${way} RELAY-FORW hops 0 link fd00:48::81 peer fe80::11; interface id=61 (${said})`,
  ],
  ["cut off", datagram("01 abc123 0001 00ff 00"), `${head} ${way} malformed: The message ends within an option.`],
  [
    "an advertisement",
    frameV6(
      58,
      `86 00 0000 00c00708 00000000 00000000 05010000000005aa 0304408000278d0000093a8000000000 fd000048000000000000000000000000
       1903000000000708 fd000048000000000000000000000053 1f02000000000708 0376 6d31 00 000000`,
    ),
    `${head} fe80::11 > ff02::1:2 ROUTER ADVERTISEMENT lifetime 1800 M O, MTU=1450, prefix=fd00:48::/64 L, DNS servers=fd00:48::53, domain search=vm1`,
  ],
  [
    "a neighbour",
    frameV6(58, `87 00 0000 00000000 ${address} 0101020000000011`),
    `${head} fe80::11 > ff02::1:2 NEIGHBOR SOLICITATION for fd00:48::81, source MAC=02:00:00:00:00:11`,
  ],
])("of IPv6: %s", (_, bytes, line) => {
  expect(describeFrame(bytes, 0)).toEqual({ macs: expect.arrayContaining(["02:00:00:00:00:11"]), line });
});

test("of IPv6: what is neither is nothing", () => {
  expect(describeFrame(datagram("01 abc123", "1111 2222"), 0)).toBeUndefined();
  expect(describeFrame(frameV6(58, "80 00 0000 0001 0001"), 0)).toBeUndefined();
});
