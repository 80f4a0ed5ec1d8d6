import { describe, expect, it } from "vitest";

import { IntervalSet } from "../../net/interval-set.ts";
import { parseBlock } from "../../net/interval.ts";
import { parsePrefix } from "../../net/prefix.ts";
import { capacityOf, objectBytesMax, sizeFor } from "./capacity.ts";

describe("what a range carries", () => {
  it.each([
    [
      "a /8 in /22, 5,000 nodes",
      "10.0.0.0/8",
      22,
      5000,
      { slices: 16_384n, carried: 5000n, spare: 11_384n, podsPerNode: 1024n },
    ],
    ["as many as nodes", "10.0.0.0/16", 24, 256, { slices: 256n, carried: 256n, spare: 0n, podsPerNode: 256n }],
    ["too few", "10.0.0.0/24", 26, 10, { slices: 4n, carried: 4n, spare: 0n, podsPerNode: 64n }],
    ["one slice", "10.0.0.0/24", 24, 1, { slices: 1n, carried: 1n, spare: 0n, podsPerNode: 256n }],
    ["IPv6", "fd00::/48", 64, 5000, { slices: 65_536n, carried: 5000n, podsPerNode: 1n << 64n }],
  ])("%s", (_, range, length, nodes, expected) => {
    expect(sizeFor(capacityOf(parsePrefix(range), length), nodes)).toMatchObject(expected);
  });

  it("counts what definitions hand out, and not the floating part", () => {
    const useful = IntervalSet.of([parseBlock("10.0.0.70-10.0.0.250")]);
    expect(capacityOf(parsePrefix("10.0.0.0/24"), 28, 26, useful)).toMatchObject({
      floating: parsePrefix("10.0.0.192/26"),
      slices: 8n,
      usable: 122n,
    });
  });

  it("stays below the object's limit at 5,000 nodes, and says when it would not", () => {
    const small = sizeFor(capacityOf(parsePrefix("10.0.0.0/8"), 22), 5000);
    expect(small.objectBytes).toBeLessThan(objectBytesMax);
    expect(small.suggestions).toEqual([]);
    const large = sizeFor(capacityOf(parsePrefix("fd00::/40"), 64), 12_000);
    expect(large.objectBytes).toBeGreaterThan(objectBytesMax);
    expect(large.suggestions.join()).toContain("split the network");
  });

  it.each([
    ["too few slices", "10.0.0.0/20", 22, 100, "write node_slice_size /27"],
    ["no size is small enough", "10.0.0.0/28", 30, 100, "larger range than 10.0.0.0/28"],
    ["hardly any left", "10.0.0.0/20", 24, 16, "/25 would leave more"],
    ["slices smaller than they need be", "10.0.0.0/16", 28, 50, "/22 fits both"],
  ])("suggests: %s", (_, range, length, nodes, sentence) => {
    expect(sizeFor(capacityOf(parsePrefix(range), length), nodes).suggestions.join(" ")).toContain(sentence);
  });

  it("estimates the object as it would be written", () => {
    const nodes = 1000;
    const name = "n".repeat(40);
    const lines = Array.from({ length: nodes }, () => ({ nodeName: name, sliceRange: "10.255.252.0/22" }));
    const { objectBytes } = sizeFor(capacityOf(parsePrefix("10.0.0.0/8"), 22), nodes);
    expect(objectBytes).toBeGreaterThanOrEqual(JSON.stringify(lines).length);
    expect(objectBytes).toBeLessThan(JSON.stringify(lines).length + 4096);
  });
});
