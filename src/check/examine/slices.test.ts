// What check finds about slices: each by a story that has it, beside ones that look alike and are as they should be.
import * as fc from "fast-check";
import { describe, expect, it, test } from "vitest";

import { parseAddress } from "../../net/address.ts";
import { overlaps, Prefix } from "../../net/prefix.ts";
import {
  entry,
  leaseObject,
  offLease,
  sliceObject,
  slicedState,
  slicePoolObject,
} from "../../slices/testing/objects.ts";
import type { SliceObjects } from "../slices/snapshot.ts";
import { nowMs, snapshotOf } from "../slices/testing/snapshot.ts";
import { examineSlices } from "./slices.ts";

const seen = (...nodes: string[]) => nodes.map((node) => leaseObject(node, nowMs - 12_000));
const findingsOf = (parts: Partial<SliceObjects>) => examineSlices(snapshotOf(parts));
const told = (parts: Partial<SliceObjects>) => findingsOf(parts).map(({ code, severity }) => `${severity} ${code}`);

type Story = readonly [string, Partial<SliceObjects>, readonly string[]];

const piece = sliceObject({ node: "n2", block: "10.0.0.128/25" });
const [n1, n2] = ["n1 10.0.0.0/24", "n2 10.0.0.128/25"];

const fits: readonly Story[] = [
  ["a range with one slice", {}, []],
  ["nothing is sliced", { slices: [], pools: [], leases: [], state: undefined }, []],
  [
    "a piece that the slice around it has given up",
    {
      slices: [sliceObject({ grant: { without: ["10.0.0.128/25"] } }), piece],
      pools: [slicePoolObject({ allocations: [n1, n2] })],
      leases: seen("n1", "n2"),
    },
    [],
  ],
  [
    "a piece of a piece",
    {
      slices: [
        sliceObject({ grant: { without: ["10.0.0.128/25"] } }),
        sliceObject({ node: "n2", block: "10.0.0.128/25", grant: { without: ["10.0.0.192/26"] } }),
        sliceObject({ node: "n3", block: "10.0.0.192/26" }),
      ],
      pools: [slicePoolObject({ allocations: [n1, n2, "n3 10.0.0.192/26"] })],
      leases: seen("n1", "n2", "n3"),
    },
    [],
  ],
  [
    "a piece that was lent on whole",
    {
      slices: [
        sliceObject({ grant: { without: ["10.0.0.128/25"] } }),
        sliceObject({ node: "n2", block: "10.0.0.128/25" }),
        sliceObject({ node: "n3", block: "10.0.0.128/25", grant: { without: ["10.0.0.128/25"] } }),
      ],
      pools: [slicePoolObject({ allocations: [n1, n2, "n3 10.0.0.128/25"] })],
      leases: seen("n1", "n2", "n3"),
    },
    [],
  ],
  [
    "a sealed slice that has left its pool",
    { slices: [sliceObject({ word: { sealed: true } })], pools: [slicePoolObject({ allocations: [] })] },
    [],
  ],
  [
    "the part that floats has no object",
    { pools: [slicePoolObject({ allocations: [n1, "floating.holdfast.io 10.0.240.0/20"] })] },
    [],
  ],
  [
    "the same range in another network",
    {
      slices: [sliceObject(), sliceObject({ pool: "red", network: "red" })],
      pools: [slicePoolObject(), slicePoolObject({ name: "red" })],
      state: slicedState({}, { network: "red", pool: "red" }),
    },
    [],
  ],
];

const wrong: readonly Story[] = [
  [
    "one slice, two nodes",
    {
      slices: [sliceObject(), sliceObject({ node: "n2" })],
      pools: [slicePoolObject({ allocations: [n1, "n2 10.0.0.0/24"] })],
      leases: seen("n1", "n2"),
    },
    ["error slices-overlap"],
  ],
  [
    "a piece that the slice around it did not give up",
    { slices: [sliceObject(), piece], pools: [slicePoolObject({ allocations: [n1, n2] })], leases: seen("n1", "n2") },
    ["error slices-overlap"],
  ],
  [
    "a slice inside the part that floats",
    { pools: [slicePoolObject({ allocations: [n1, "floating.holdfast.io 10.0.0.0/20"] })] },
    ["error slices-overlap"],
  ],
  [
    "two pools of one network",
    {
      slices: [sliceObject(), sliceObject({ pool: "blue-2", node: "n2", block: "10.0.0.0/25" })],
      pools: [
        slicePoolObject(),
        slicePoolObject({ name: "blue-2", range: "10.0.0.0/20", allocations: ["n2 10.0.0.0/25"] }),
      ],
      leases: seen("n1", "n2"),
    },
    ["error slices-overlap"],
  ],
  ["assigned, and no object", { slices: [] }, ["warning slice-without-object"]],
  ["an object that no pool assigns", { pools: [slicePoolObject({ allocations: [] })] }, ["error slice-unassigned"]],
  ["an object whose pool was deleted", { pools: [] }, ["error slice-unassigned"]],
  [
    "an object that another node is assigned",
    { pools: [slicePoolObject({ allocations: ["n2 10.0.0.0/24"] })] },
    ["warning slice-without-object", "error slice-unassigned"],
  ],
  [
    "one that drains, and has left its pool too early",
    { slices: [sliceObject({ grant: { phase: "draining" } })], pools: [slicePoolObject({ allocations: [] })] },
    ["warning slice-unassigned"],
  ],
  ["fenced, and still there", { leases: [offLease("n1", "anna at noon")] }, ["warning slice-fenced"]],
  [
    "an entry that means no address",
    { slices: [sliceObject({ entries: { "999": entry("web") }, word: { used: 0 } })] },
    ["error unreadable"],
  ],
  ["never heard", { leases: [] }, ["warning node-silent"]],
  ["heard an hour ago", { leases: [leaseObject("n1", nowMs - 3_600_000)] }, ["warning node-silent"]],
  ["more held than shown", { slices: [sliceObject({ word: { used: 3 } })] }, ["warning mirror-behind"]],
  ["a node made anew", { slices: [sliceObject({ word: { journal: "before" } })] }, ["warning mirror-behind"]],
  [
    "a grant that the daemon has not read",
    { slices: [sliceObject({ grant: { serial: 5 }, word: { serial: 4 } })] },
    ["warning mirror-behind"],
  ],
  ["a slice that the daemon has not taken up", { slices: [sliceObject({ word: null })] }, ["warning mirror-behind"]],
];

describe("check of slices", () => {
  test.each(fits)("fits: %s", (_, parts, codes) => expect(told(parts)).toEqual(codes));
  test.each(wrong)("finds: %s", (_, parts, codes) => {
    expect(told(parts)).toEqual(codes);
    for (const { message, remedy, objects } of findingsOf(parts)) {
      expect(message).toMatch(/\.$/);
      expect(remedy).toMatch(/[.?]$/);
      expect(objects.length).toBeGreaterThan(0);
    }
  });

  it("finds exactly the pairs that a comparison of all with all finds", () => {
    const block = fc.tuple(fc.integer({ min: 0, max: 255 }), fc.integer({ min: 24, max: 32 }));
    fc.assert(
      fc.property(fc.array(block, { maxLength: 24 }), (given) => {
        const blocks = given.map(([host, length]) => Prefix.around(parseAddress(`10.0.0.${host}`), length));
        const allocations = blocks.map((each, index) => `n${index} ${each}`);
        const found = findingsOf({ slices: [], pools: [slicePoolObject({ allocations })] });
        const pairs = blocks.flatMap((a, index) => blocks.slice(index + 1).filter((b) => overlaps(a, b)));
        expect(found.filter(({ code }) => code === "slices-overlap")).toHaveLength(pairs.length);
      }),
    );
  });

  it("says what a silent node still does, and how to take its slices", () => {
    const after = (hours: number) => findingsOf({ leases: [leaseObject("n1", nowMs - hours * 3_600_000)] })[0];
    expect(after(2)?.message).toContain("last renewed its Lease 120 minutes ago; it has 1 slice,");
    expect(after(13)?.message).toContain("it hands nothing out any more");
    expect(after(13)?.remedy).toContain("holdfast slices release n1");
  });

  it("nodes that wait for the same are one finding", () => {
    const waiting = { "kube-system blue 10.0.0.0/16": "No slice is free." };
    const leases = ["n1", "n2", "n3"].map((node) => leaseObject(node, nowMs, node === "n1" ? {} : { waiting }));
    const found = findingsOf({ leases });
    expect(found).toMatchObject([{ code: "slice-waiting", severity: "warning", objects: ["Node n2", "Node n3"] }]);
    expect(found[0]?.message).toBe(
      "2 nodes have no slice of 10.0.0.0/16 (network blue, kube-system): No slice is free. They are n2, n3.",
    );
    expect(findingsOf({ leases: leases.slice(0, 2) })[0]?.message).toBe(
      "Node n2 has no slice of 10.0.0.0/16 (network blue, kube-system): No slice is free.",
    );
  });

  it("many slices without an object are one finding, the first ten by name", () => {
    const allocations = Array.from({ length: 12 }, (_, index) => `n${index} 10.0.${index}.0/24`);
    const found = findingsOf({ slices: [], pools: [slicePoolObject({ allocations })] });
    expect(found).toHaveLength(1);
    expect(found[0]?.message).toContain("12 assigned slices");
    expect(found[0]?.message).toMatch(/10\.0\.9\.0\/24 of n9 and 2 more\.$/);
  });
});
