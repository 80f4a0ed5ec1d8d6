// Gaps between answers: which is the longest, and where.
import { expect, test } from "vitest";

import { Arrivals, longest } from "./arrivals.ts";

function arrivalsAt(...times: readonly number[]): Arrivals {
  const arrivals = new Arrivals();
  for (const atMs of times) arrivals.add(atMs);
  return arrivals;
}

test("the longest gap is between two answers, and known by the one before it", () => {
  const arrivals = arrivalsAt(1000, 1010, 1130, 1140, 1200, 1210);
  expect(arrivals.count).toBe(6);
  expect(longest(arrivals.gaps)).toEqual({ fromMs: 1010, ms: 120 });
});

test("a gap that ended before the time asked for is not counted, one that began before it is", () => {
  const arrivals = arrivalsAt(1000, 1300, 1310, 1400, 1410);
  expect(longest(arrivals.gaps, 1305)).toEqual({ fromMs: 1310, ms: 90 });
  expect(longest(arrivals.gaps, 1100)).toEqual({ fromMs: 1000, ms: 300 });
});

test("an even row has no gap; one that stops has", () => {
  const arrivals = arrivalsAt(1000, 1010, 1020);
  expect(longest(arrivals.gaps).ms).toBe(0);
  arrivals.end(6020);
  expect(longest(arrivals.gaps)).toEqual({ fromMs: 1020, ms: 5000 });
});
