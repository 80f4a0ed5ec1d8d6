import { expect, it } from "vitest";

import { slicesFor } from "./peer-slices.ts";

it("cuts a slice for each node, side by side", () => {
  expect(slicesFor("10.0.0.0/8", "/22", ["a", "b", "c"])).toEqual([
    { nodeName: "a", sliceRange: "10.0.0.0/22" },
    { nodeName: "b", sliceRange: "10.0.4.0/22" },
    { nodeName: "c", sliceRange: "10.0.8.0/22" },
  ]);
  expect(slicesFor("fd00::/48", "/64", ["a", "b"]).map(({ sliceRange }) => sliceRange)).toEqual([
    "fd00::/64",
    "fd00:0:0:1::/64",
  ]);
});
