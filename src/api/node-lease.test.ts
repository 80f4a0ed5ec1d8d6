// What stands in a node's Lease stays within what an object may carry.
import { expect, it } from "vitest";

import { readNodeSlices, readSeen, writeNodeSlices } from "./node-lease.ts";

it("sentences are cut short and bounded in all; grants never are", () => {
  const key = (index: number) => `shop ${"n".repeat(200)} 10.${index >> 8}.${index & 255}.0/24`;
  const numbers = Array.from({ length: 1000 }, (_, index) => index);
  const grants = Object.fromEntries(numbers.map((index) => [`kube-system/blue-n1-${index}`, "1.1"]));
  const waiting = Object.fromEntries(numbers.map((index) => [key(index), "é".repeat(5000)]));
  const text = writeNodeSlices({ grants, waiting });
  expect(Buffer.byteLength(text)).toBeLessThan(128 * 1024);
  const read = readNodeSlices(text);
  expect(read.grants).toEqual(grants);
  const sentences = Object.values(read.waiting);
  expect(sentences.length).toBeGreaterThan(32);
  for (const each of sentences) expect(each).toHaveLength(500);
});

it.each([
  ["0", 0],
  ["999999999999999", 999_999_999_999_999],
  ["1000000000000000", 1_000_000_000_000_000],
  ["9007199254740991", Number.MAX_SAFE_INTEGER],
  ["9007199254740992", undefined],
  ["", undefined],
  ["-1", undefined],
])("a version that was seen: %s", (text, version) => {
  expect(readSeen(text)).toBe(version);
});
