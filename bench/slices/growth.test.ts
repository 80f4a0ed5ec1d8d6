import { describe, expect, it } from "vitest";

import { growthOf, perNode, whyNotFitting, withoutIdle } from "./growth.ts";

const size = (nodes: number, requests: number, cpuMs: number) => ({ nodes, costs: { requests, cpuMs } });

describe("the cost per node", () => {
  it("is each cost over the nodes", () => {
    expect(perNode(size(100, 500, 25))).toEqual({ requests: 5, cpuMs: 0.25 });
  });

  it.each([
    ["the same per node", size(1000, 5000, 250), { requests: 1, cpuMs: 1 }, true],
    ["a little more", size(1000, 7000, 250), { requests: 1.4, cpuMs: 1 }, true],
    ["twice of one cost", size(1000, 5000, 500), { requests: 1, cpuMs: 2 }, false],
    ["less", size(1000, 1000, 250), { requests: 0.2, cpuMs: 1 }, true],
  ])("is compared between the smallest and the largest: %s", (_, largest, ratios, isFlat) => {
    const growth = growthOf([largest, size(100, 500, 25), size(256, 1, 1)], 1.5);
    expect(growth).toEqual({ from: 100, to: 1000, ratios, isFlat });
  });

  it("is not flat where something became a cost", () => {
    expect(growthOf([size(100, 0, 25), size(1000, 5, 250)], 1.5)?.isFlat).toBe(false);
    expect(growthOf([size(100, 0, 25), size(1000, 0, 250)], 1.5)?.isFlat).toBe(true);
  });

  it("has no growth in one size", () => {
    expect(growthOf([size(100, 500, 25)], 1.5)).toBeUndefined();
    expect(growthOf([], 1.5)).toBeUndefined();
  });
});

describe("the costs of the work alone", () => {
  it("are less what the same time costs without work", () => {
    const idle = { elapsedMs: 60_000, costs: { requests: 100, cpuMs: 600 } };
    expect(withoutIdle({ requests: 1000, cpuMs: 1000, bytes: 7 }, 90_000, idle)).toEqual({
      requests: 850,
      cpuMs: 100,
      bytes: 7,
    });
    expect(withoutIdle({ requests: 1, cpuMs: 1 }, 90_000, idle)).toEqual({ requests: 0, cpuMs: 0 });
  });
});

describe("the memory for the next size", () => {
  const gib = 2 ** 30;

  it("is not judged before there is a size to judge by", () => {
    expect(whyNotFitting(5000, undefined, gib)).toBeUndefined();
  });

  it("fits up to four fifths of what is there", () => {
    const last = { nodes: 1000, usedBytes: gib };
    expect(whyNotFitting(4000, last, 5 * gib)).toBeUndefined();
    expect(whyNotFitting(4001, last, 5 * gib)).toBe(
      "4001 nodes would need 4 GiB (1000 took 1 GiB), and 5 GiB are available; a fifth of that is left alone",
    );
  });
});
