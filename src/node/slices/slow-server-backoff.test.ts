import { expect, it } from "vitest";

import { SlowServerBackoff } from "./slow-server-backoff.ts";

it.each([
  [20, 0.5, undefined],
  [1000, 0.5, undefined],
  [2000, 0, 3000],
  [2000, 0.5, 6000],
  [2000, 1, 9000],
  [60_000, 0.5, 30_000],
])("after an answer of %i ms, at random %d: %s ms", (tookMs, random, restMs) => {
  const rest = new SlowServerBackoff({ monotonicMs: () => 1_000_000 }, () => random);
  rest.took(tookMs);
  expect(rest.untilMs).toBe(restMs === undefined ? Number.NEGATIVE_INFINITY : 1_000_000 + restMs);
});

it("is not cut short by a quick answer to what others wait for", () => {
  const rest = new SlowServerBackoff({ monotonicMs: () => 0 }, () => 0.5);
  rest.took(2000);
  rest.took(10);
  expect(rest.untilMs).toBe(6000);
});
