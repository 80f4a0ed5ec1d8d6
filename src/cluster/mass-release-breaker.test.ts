import { expect, it } from "vitest";

import { heldBack } from "./mass-release-breaker.ts";

it.each([
  ["none of none", 0, 0, false],
  ["all of a small cluster", 50, 50, false],
  ["more than fifty, and all of them", 51, 51, true],
  ["just 30 %", 300, 1000, false],
  ["one more", 301, 1000, true],
])("%s", (_story, suspected, holds, isHeld) => {
  expect(heldBack(suspected, holds) !== undefined).toBe(isHeld);
});
