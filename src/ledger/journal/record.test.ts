import fc from "fast-check";
import { expect, it } from "vitest";

import type { HoldNote } from "../../ipam/ledger.ts";
import type { Owner } from "../../ipam/owner.ts";
import { fromBigInt } from "../../net/address.ts";
import { parseBlock } from "../../net/interval.ts";
import { parsePrefix } from "../../net/prefix.ts";
import type { JournalGrant } from "./grant.ts";
import { decodeRecord, encodeRecord, foreignFormat, type JournalRecord } from "./record.ts";

const text = fc.string({ maxLength: 12 });
const named = { uid: text, namespace: text, name: text };
const owner: fc.Arbitrary<Owner> = fc.oneof(
  fc.record(
    { kind: fc.constant("pod" as const), ...named, interface: text, part: fc.nat(3), containerId: text },
    { requiredKeys: ["kind", "uid", "namespace", "name", "interface"] },
  ),
  fc.record({ kind: fc.constant("claim" as const), ...named }),
  fc.record({ kind: fc.constant("nic" as const), ...named, nic: text }),
);
const address = fc.oneof(
  fc.bigInt({ min: 0n, max: 2n ** 32n - 1n }).map((value) => fromBigInt(4, value)),
  fc.bigInt({ min: 0n, max: 2n ** 128n - 1n }).map((value) => fromBigInt(6, value)),
);
const note: fc.Arbitrary<HoldNote> = fc.record({ pool: text, keeper: text, why: text }, { requiredKeys: [] });

const same = (each: string) => each;
const again = (record: JournalRecord) => decodeRecord(encodeRecord(record), same);

it("reads back every hold", () => {
  const hold = fc.record(
    { domain: text, address, owner, version: fc.nat().map(String), note },
    { requiredKeys: ["domain", "address", "owner", "version"] },
  );
  fc.assert(
    fc.property(hold, (each) => {
      expect(again({ op: "hold", hold: each })).toEqual({ op: "hold", hold: each });
    }),
  );
});

const grant: JournalGrant = {
  key: "ns/pool",
  domain: "slice:ns/net",
  namespace: "ns",
  network: "",
  generation: 3,
  serial: 7,
  range: parsePrefix("fd00::/48"),
  slice: parsePrefix("fd00::/64"),
  phase: "draining",
  sealed: true,
  without: [parsePrefix("fd00::100/120")],
  taken: [parseBlock("fd00::5-fd00::9"), parseBlock("fd00::20")],
  gives: { ask: 4, block: parsePrefix("fd00::200/120") },
  moved: [parseBlock("fd00::7").first],
};
const { gives: _, ...plain } = grant;

it.each<JournalRecord>([
  { op: "head", id: "a-b", lines: 3, next: 9, versions: 12, doubt: 4 },
  { op: "free", domain: "d", address: fromBigInt(4, 7n), atMs: 5, cooldownMs: 30, lastOwner: "pod:u:e" as never },
  { op: "move", domain: "d", address: fromBigInt(6, 7n) },
  { op: "grant", grant },
  { op: "grant", grant: { ...plain, phase: "active", sealed: false, without: [], taken: [], moved: [] } },
  { op: "drop", key: "ns/pool" },
  { op: "dropped", domain: "d", generation: 7 },
  { op: "renewed", wallMs: 0 },
])("reads back %j", (record) => {
  expect(again(record)).toEqual(record);
});

it.each([
  "",
  "nonsense",
  "null",
  "{}",
  "[]",
  '{"h":"10.0.0.300"}',
  '{"h":"10.0.0.3","o":["cat","","",""]}',
  '{"g":{}}',
])("reads nothing from %j", (line) => {
  expect(decodeRecord(line, same)).toBeUndefined();
});

it("tells a later format from damage", () => {
  expect(foreignFormat('{"j":2}')).toBe(2);
  expect(foreignFormat(encodeRecord({ op: "head", id: "", lines: 0, next: 1, versions: 0, doubt: 0 }))).toBeUndefined();
  expect(foreignFormat("nonsense")).toBeUndefined();
});
