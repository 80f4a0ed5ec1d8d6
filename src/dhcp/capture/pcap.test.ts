// Capture files, byte by byte; test/dhcp has tshark read one.
import { expect, test } from "vitest";

import { pcapHeader, pcapRecord } from "./pcap.ts";

test("the header says Ethernet, microseconds, least significant byte first", () => {
  expect(Buffer.from(pcapHeader()).toString("hex")).toBe("d4c3b2a1020004000000000000000000ffff000001000000");
});

test("a record has its time, both lengths and the frame", () => {
  const record = Buffer.from(pcapRecord(1_700_000_000_123.5, Uint8Array.of(1, 2, 3)));
  expect(record.readUInt32LE(0)).toBe(1_700_000_000);
  expect(record.readUInt32LE(4)).toBe(123_500);
  expect([record.readUInt32LE(8), record.readUInt32LE(12)]).toEqual([3, 3]);
  expect(record.subarray(16).toString("hex")).toBe("010203");
});

test("a frame that is too long is cut, and says how long it was", () => {
  const record = Buffer.from(pcapRecord(0, new Uint8Array(70_000)));
  expect([record.readUInt32LE(8), record.readUInt32LE(12), record.length]).toEqual([65_535, 70_000, 16 + 65_535]);
});
