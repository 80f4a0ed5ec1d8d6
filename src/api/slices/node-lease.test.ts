// What stands in a node's Lease stays within what an object may carry.
import { expect, it } from "vitest";

import { readJournalSlices, readNodeSlices, readSeen, writeJournalSlices, writeNodeSlices } from "./node-lease.ts";

it("what is beyond the bytes of an annotation is counted, never forgotten", () => {
  const numbers = Array.from({ length: 10_000 }, (_, index) => index);
  const grants = Object.fromEntries(numbers.map((index) => [`kube-system/${"n".repeat(100)}-${index}`, "1.1"]));
  const told = writeNodeSlices({ grants, waiting: {} });
  const block = (index: number) => `10.${index >> 8}.${index & 255}.0/24`;
  const own = numbers.map((index) => ["kube-system", "net", "10.0.0.0/8", "net", block(index)] as const);
  const said = writeJournalSlices(own, { restored: true });
  expect(Buffer.byteLength(told) + Buffer.byteLength(said)).toBeLessThan(170 * 1024);
  const [read, journal] = [readNodeSlices(told), readJournalSlices(said)!];
  expect([Object.keys(read.grants).length + read.more, journal.slices.length + journal.more]).toEqual([10_000, 10_000]);
  expect([journal.restored, journal.slices.length > 500, readJournalSlices(undefined)?.more]).toEqual([true, true, 0]);
  for (const text of ["{", '{"slices":[],"more":-1}', '{"slices":[["a"]]}']) {
    expect(readJournalSlices(text), "no word at all").toBeUndefined();
  }
  expect(readJournalSlices(JSON.stringify({ slices: own }))?.slices, "of a forged one no more").toHaveLength(1024);
});

it("sentences are cut short and bounded in all, and keep no grant from being told", () => {
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
