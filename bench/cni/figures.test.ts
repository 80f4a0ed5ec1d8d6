import { expect, it } from "vitest";

import { figuresOf, quantile } from "./figures.ts";

it("quantiles are ranks: of 1..100 the 99th is 99, not the largest", () => {
  const values = Array.from({ length: 100 }, (_, index) => 100 - index);
  expect(figuresOf(values, 2000)).toEqual({
    count: 100,
    p50Ms: 50,
    p95Ms: 95,
    p99Ms: 99,
    maxMs: 100,
    perSecond: 50,
  });
});

it.each([
  ["of one value it is that value", [7], 0.99, 7],
  ["of none it is 0", [], 0.5, 0],
  ["a share that falls between two takes the upper", [1, 2, 3], 0.5, 2],
])("%s", (_name, values, share, expected) => {
  expect(quantile(values, share)).toBe(expected);
});
