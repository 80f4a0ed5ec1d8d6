import { describe, expect, it, test } from "vitest";

import { apiRefusalOf } from "../../test/api/refusal.ts";
import { countOf } from "./fields.ts";
import { holdKind } from "./holds/hold.ts";
import { reservationKind } from "./holds/reservation.ts";
import { apiVersionOf, type Kind, parseObject } from "./kind.ts";
import { ipPoolKind } from "./pools/ip-pool.ts";
import { type NodeSlicePool, nodeSlicePoolKind } from "./slices/node-slice-pool.ts";

const object = (kind: Kind, rest: object) => ({
  apiVersion: apiVersionOf(kind),
  kind: kind.kind,
  metadata: { name: "x", namespace: "kube-system" },
  ...rest,
});

describe("an object that is not of its kind is refused with the field, the value and the remedy", () => {
  test.each<[string, Kind, object, RegExp]>([
    ["no range", ipPoolKind, { spec: { allocations: {} } }, /^IPPool kube-system\/x .*spec\.range is missing/],
    [
      "a bad range",
      ipPoolKind,
      { spec: { range: "10.0.0.0", allocations: {} } },
      /spec\.range is "10\.0\.0\.0": expected a range in CIDR/,
    ],
    ["no map", ipPoolKind, { spec: { range: "10.0.0.0/8" } }, /spec\.allocations is missing/],
    [
      "no podref",
      ipPoolKind,
      { spec: { range: "10.0.0.0/8", allocations: { "1": { id: "c" } } } },
      /spec\.allocations\.1\.podref is missing/,
    ],
    ["a number", reservationKind, { spec: { podref: 7 } }, /spec\.podref is 7/],
    ["no size", nodeSlicePoolKind, { spec: { range: "10.0.0.0/8" } }, /spec\.sliceSize is missing/],
    [
      "a bad size",
      nodeSlicePoolKind,
      { spec: { range: "10.0.0.0/8", sliceSize: "large" } },
      /spec\.sliceSize is "large"/,
    ],
    ["no owner", holdKind, { spec: { domain: "pool:a/b", address: "10.0.0.1" } }, /spec\.owner is missing/],
    ["another kind", ipPoolKind, { kind: "Pod", spec: {} }, /kind is "Pod"/],
  ])("%s", (_, kind, rest, words) => {
    const { code, message } = apiRefusalOf(() => parseObject(kind, object(kind, rest)));
    expect(code).toBe("bad-object");
    expect(message).toMatch(words);
    expect(message).toMatch(/Correct what is named/);
  });

  test.each([undefined, null, 7, "text", []])("%j is no object at all", (value) => {
    expect(apiRefusalOf(() => parseObject(ipPoolKind, value)).message).toMatch(/IPPool \(no name yet\) is not valid/);
  });

  it("quotes no more of a value than is needed to recognise it", () => {
    const long = object(ipPoolKind, { spec: { range: "9".repeat(5000), allocations: {} } });
    expect(apiRefusalOf(() => parseObject(ipPoolKind, long)).message.length).toBeLessThan(400);
  });
});

describe("what is read", () => {
  it("keeps every field that it does not know", () => {
    const pool = object(ipPoolKind, {
      spec: { range: "10.0.0.0/8", allocations: { "1": { id: "c", podref: "d/w", later: 1 } }, later: [1] },
      status: { freeIPs: 5, later: { deep: true }, conditions: [{ type: "Ready", status: "True", later: 1 }] },
      later: "too",
    });
    expect(parseObject(ipPoolKind, pool)).toEqual(pool);
  });

  it("has the types of its kind", () => {
    const spec = { range: "10.0.0.0/8", sliceSize: "/20" };
    const status = { allocations: [{ nodeName: "otter", sliceRange: "10.0.0.0/20" }], freeSlices: 4095 };
    const pool: NodeSlicePool = parseObject(nodeSlicePoolKind, object(nodeSlicePoolKind, { spec, status }));
    expect(pool.status?.allocations.map(({ nodeName, sliceRange }) => `${nodeName}=${sliceRange}`)).toEqual([
      "otter=10.0.0.0/20",
    ]);
  });

  it("has defaults filled in", () => {
    const owner = { kind: "claim", uid: "u", namespace: "d", name: "c" };
    const hold = parseObject(holdKind, object(holdKind, { spec: { domain: "pool:a/b", address: "10.0.0.1", owner } }));
    expect(hold.spec.owner.port).toBe("");
  });

  test.each(["10.1.2.3/8", "010.000.0.0/8", "::ffff:10.0.0.0/104", "fd00::/64"])("takes the range %s", (range) => {
    expect(parseObject(ipPoolKind, object(ipPoolKind, { spec: { range, allocations: {} } })).spec.range).toBe(range);
  });
});

test.each([
  [0n, 0],
  [256n, 256],
  [9007199254740991n, 9007199254740991],
  [9007199254740992n, "9007199254740992"],
  [1n << 64n, "18446744073709551616"],
])("%s addresses are written as %j", (value, written) => {
  expect(countOf(value)).toBe(written);
});
