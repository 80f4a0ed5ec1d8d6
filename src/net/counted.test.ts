import { expect, test } from "vitest";

import { counted } from "./counted.ts";

test.each([
  [1, "slice", "1 slice"],
  [0, "slice", "0 slices"],
  [2, "address", "2 addresses"],
  [3n, "entry", "3 entries"],
  [1n, "entry", "1 entry"],
  [2, "day", "2 days"],
])("%s %s: %s", (number, noun, words) => {
  expect(counted(number, noun)).toBe(words);
});

test("a plural that is given: the verb bends too", () => {
  expect(counted(1, "claim was", "claims were")).toBe("1 claim was");
  expect(counted(2, "claim was", "claims were")).toBe("2 claims were");
});
