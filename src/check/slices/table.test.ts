import { describe, expect, it, test } from "vitest";

import {
  entry,
  leaseObject,
  offLease,
  type SliceParts,
  sliceObject,
  slicedState,
  slicePoolObject,
} from "../../slices/testing/objects.ts";
import { rangeLines, rangeTables, type SliceState } from "./table.ts";
import { nowMs, snapshotOf } from "./testing/snapshot.ts";

const seen = leaseObject("n1", nowMs - 12_000);
const rows = (parts: Parameters<typeof snapshotOf>[0]) => rangeTables(snapshotOf(parts)).flatMap((table) => table.rows);

describe("the state of a slice", () => {
  const stories: readonly [string, SliceParts, SliceState, string][] = [
    ["granted and taken up", {}, "active", ""],
    ["granted a moment ago", { word: null }, "active", "the node has not taken it up yet"],
    ["asked back", { grant: { phase: "returning" } }, "returning", ""],
    ["its range has changed", { grant: { phase: "draining" } }, "draining", ""],
    ["given back", { grant: { phase: "draining" }, word: { sealed: true } }, "sealed", ""],
    [
      "given back by an earlier grant: that seal counts no more",
      { grant: { generation: 4 }, word: { sealed: true, generation: 3 } },
      "active",
      "the node works by grant 3, this is 4",
    ],
    [
      "a grant that a hand has spoiled",
      { grant: null },
      "assigned",
      "its grant cannot be read: nothing is handed out of it",
    ],
    ["full, and more may come", { word: { short: 3 } }, "active", "3 requests found nothing free"],
    [
      "full, and nothing is left",
      { word: { short: 3 }, grant: { exhausted: "No address is free." } },
      "active",
      "No address is free.",
    ],
    ["asked to lend", { grant: { lend: { ask: 1, addresses: 16 } } }, "active", "asked to lend 16 addresses"],
  ];
  test.each(stories)("%s", (_, parts, state, note) => {
    expect(rows({ slices: [sliceObject(parts)] })).toMatchObject([{ state, note }]);
  });

  it("the node was declared off, and not heard since", () => {
    expect(rows({ leases: [offLease("n1", "anna at noon", nowMs - 3_600_000)] })).toMatchObject([
      { state: "fenced", note: "fenced by anna at noon" },
    ]);
    const renewed = { ...offLease("n1", "anna at noon"), spec: seen.spec! };
    expect(rows({ leases: [renewed] })).toMatchObject([{ state: "active", note: "" }]);
  });

  it("assigned, and its object is not written yet", () => {
    expect(rows({ slices: [] })).toEqual([
      {
        node: "n1",
        slice: "10.0.0.0/24",
        state: "assigned",
        borrowed: false,
        used: 0,
        free: null,
        lent: [],
        leaseAgeSeconds: 12,
        note: "assigned, and its IPPool is not written yet",
      },
    ]);
  });

  it("what cannot be handed out is not free", () => {
    expect(rows({ slices: [sliceObject({ grant: { phase: "returning" }, word: { free: 200 } })] })).toMatchObject([
      { free: 0 },
    ]);
  });
});

describe("the table of a range", () => {
  const parts = {
    slices: [
      sliceObject({ entries: { "5": entry("web"), "6": entry("db") }, grant: { without: ["10.0.0.128/25"] } }),
      sliceObject({ node: "n2", block: "10.0.0.128/25", entries: { "1": entry("a") } }),
      sliceObject({ node: "n3", block: "10.0.1.0/24" }),
    ],
    pools: [
      slicePoolObject({
        allocations: ["n1 10.0.0.0/24", "n2 10.0.0.128/25", "n3 10.0.1.0/24", "floating.holdfast.io 10.0.240.0/20"],
        status: {
          conditions: [
            { type: "Ready", status: "True", message: "fine" },
            { type: "Exhausted", status: "True", message: "n4 waits." },
          ],
        },
      }),
    ],
    leases: [
      seen,
      leaseObject("n2", nowMs - 600_000),
      offLease("n3", "anna at noon"),
      leaseObject("n4", nowMs - 9_000_000, {
        waiting: { "kube-system blue 10.0.0.0/16": "No slice is free.", "other x y": "z" },
      }),
    ],
  };

  it("has a line for each slice and each node that waits, and the sums above", () => {
    expect(rangeTables(snapshotOf(parts)).flatMap(rangeLines)).toEqual([
      "kube-system/blue: network blue, 10.0.0.0/16 in slices of /24, open",
      "  256 slices, 4 assigned, 252 free, floating 10.0.240.0/20",
      "  4 nodes, 3 addresses used, 509 free, 1 borrowed, 1 fenced, 1 waiting",
      "  Exhausted: n4 waits.",
      "  NODE  SLICE          STATE             USED  FREE  LENT           LEASE  NOTE",
      "  n1    10.0.0.0/24    active            2     254   10.0.0.128/25  12s",
      "  n2    10.0.0.128/25  active, borrowed  1     255   -              10m",
      "  n3    10.0.1.0/24    fenced            0     0     -              never  fenced by anna at noon",
      "  n4    -              waiting           0     -     -              2h     No slice is free.",
    ]);
  });

  it("of one node, with the sums of that node", () => {
    const [table] = rangeTables(snapshotOf(parts), { node: "n2" });
    expect(table?.rows.map(({ slice }) => slice)).toEqual(["10.0.0.128/25"]);
    expect(table?.totals).toMatchObject({ nodes: 1, used: 1, borrowed: 1, fenced: 0, waiting: 0 });
    expect(rangeTables(snapshotOf(parts), { node: "n9" })).toEqual([]);
  });

  it("of one network, by its name or by the pool's", () => {
    const state = slicedState({}, { network: "red", pool: "red-v6" });
    const pools = [
      slicePoolObject({ name: "red-v6", range: "fd00::/48", sliceSize: "64", allocations: [] }),
      slicePoolObject(),
    ];
    const named = (network: string) => rangeTables(snapshotOf({ pools, state }), { network }).map(({ pool }) => pool);
    expect([named("red"), named("red-v6"), named("blue"), named("green")]).toEqual([
      ["red-v6"],
      ["red-v6"],
      ["blue"],
      [],
    ]);
    expect(rangeTables(snapshotOf({ pools, state })).map(({ pool, sliceSize }) => [pool, sliceSize])).toEqual([
      ["blue", "/24"],
      ["red-v6", "/64"],
    ]);
  });

  it("a pool of whereabouts, whose status lists free slices too, and which nobody has taken up", () => {
    const pools = [
      slicePoolObject({ allocations: ["n1 10.0.0.0/24", " 10.0.1.0/24"], status: { totalSlices: undefined } }),
    ];
    const [table] = rangeTables(snapshotOf({ pools, slices: [], state: undefined }));
    expect(table).toMatchObject({ phase: "", network: "", rows: [{ node: "n1", state: "assigned" }] });
    expect(rangeLines(table!)[0]).toBe(
      "kube-system/blue: no network name, 10.0.0.0/16 in slices of /24, not taken up yet",
    );
  });

  it("objects that cannot be read are told", () => {
    const nameless = sliceObject();
    delete nameless.metadata.annotations!["holdfast.io/node"];
    const bad = sliceObject({ entries: { many: entry("web") } });
    const { unreadable, slices } = snapshotOf({ slices: [nameless, bad] });
    expect(unreadable.map(({ why }) => why)).toEqual([expect.stringContaining("cannot be read")]);
    expect(slices.map(({ faults }) => faults)).toEqual([[expect.stringContaining('"many"')]]);
  });
});
