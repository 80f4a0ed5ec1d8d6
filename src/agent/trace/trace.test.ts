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
    mac: "02:00:00:00:00:01",
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
