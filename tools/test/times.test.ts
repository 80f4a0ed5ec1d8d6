import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, test } from "vitest";

import { keepTimes, readTimes, slowest, slowFirst } from "./times.ts";

test("the slow ones come first, the slowest before all; those without a figure as they were", () => {
  const times = new Map([
    ["b", 5],
    ["c", 70],
  ]);
  expect(slowFirst(["a", "b", "c", "d"], (file) => times.get(file))).toEqual(["c", "b", "a", "d"]);
});

test("what a run took is known to the next one, and what it did not run stays known", () => {
  const root = mkdtempSync(join(tmpdir(), "holdfast-times-"));
  try {
    expect(readTimes(root)).toEqual(new Map());
    keepTimes(
      root,
      new Map([
        ["a", 1],
        ["b", 2],
      ]),
    );
    keepTimes(root, new Map([["b", 3]]));
    expect(readTimes(root)).toEqual(
      new Map([
        ["a", 1],
        ["b", 3],
      ]),
    );
  } finally {
    rmSync(root, { recursive: true });
  }
});

test("the table has the ten slowest", () => {
  const times = new Map(Array.from({ length: 12 }, (_, index) => [`f${index}`, index * 1000]));
  const lines = slowest(times);
  expect(lines).toHaveLength(10);
  expect(lines[0]).toBe("   11.0 s  f11");
});
