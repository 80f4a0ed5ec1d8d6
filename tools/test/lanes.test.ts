import { expect, test } from "vitest";

import { flagsFor, lanesFor, type Machine } from "./lanes.ts";
import { suites } from "./suites.ts";

const small: Machine = { cores: 2, memoryBytes: 16 * 2 ** 30 };
const roomy: Machine = { cores: 2, memoryBytes: 24 * 2 ** 30 };

test.each([small, roomy])("every suite is in one lane: %j", (machine) => {
  const groups = lanesFor(machine).flat();
  expect(groups.toSorted()).toEqual([...new Set(suites.map(({ at }) => at))].toSorted());
});

test("nothing but memory decides who waits for whom", () => {
  expect(lanesFor(roomy).length).toBeGreaterThan(lanesFor(small).length);
  expect(lanesFor({ ...small, cores: 64 })).toEqual(lanesFor(small));
});

test("what computes has all cores", () => {
  expect(flagsFor("together", { ...small, cores: 16 })).toContain("--maxWorkers=16");
  expect(flagsFor("nodes", roomy)).toContain("--maxWorkers=2");
});
