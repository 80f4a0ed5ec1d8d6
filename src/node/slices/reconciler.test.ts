import { expect, it } from "vitest";

import { restAfter } from "./reconciler.ts";

it.each([
  [20, 0.5, 0],
  [1000, 0.5, 0],
  [2000, 0, 3000],
  [2000, 0.5, 6000],
  [2000, 1, 9000],
  [60_000, 0.5, 30_000],
])("after an answer of %i ms, at random %d: %i ms", (tookMs, random, restMs) => {
  expect(restAfter(tookMs, random)).toBe(restMs);
});
