import fc from "fast-check";
import { expect, it } from "vitest";

import { shrink, type Trial } from "./random-shrink.ts";
import { Chance } from "./random-source.ts";

const users = ["vm-0", "vm-1", "vm-2", "stake", "faults"];

it("keeps who is needed and how many steps are, and leaves out the rest", async () => {
  const needed = fc.subarray(users, { minLength: 1 });
  await fc.assert(
    fc.asyncProperty(needed, fc.integer({ min: 1, max: 500 }), async (some, steps) => {
      const fails = async (trial: Trial) => trial.steps >= steps && some.every((each) => !trial.without.includes(each));
      const small = await shrink({ trial: { steps: 500, without: [] }, users, fails });
      expect(await fails(small)).toBe(true);
      expect(users.filter((each) => !small.without.includes(each)).toSorted()).toEqual([...some].toSorted());
      expect(small.steps).toBeLessThanOrEqual(Math.ceil(steps * 1.2) + 1);
    }),
  );
});

it("believes no single run that goes well: a fault that shows every other time is found again", async () => {
  const chance = new Chance(7);
  const fails = async ({ without }: Trial) => !without.includes("vm-1") && chance.percent(60);
  const small = await shrink({ trial: { steps: 100, without: [] }, users, fails, tries: 12 });
  expect(small).toMatchObject({ without: expect.not.arrayContaining(["vm-1"]) as string[] });
  expect(small.without).toHaveLength(users.length - 1);
});

it("one seed is one sequence of choices, and a branch's do not depend on how many others draw", () => {
  const drawn = (others: number) => {
    const chance = new Chance(42);
    const [first, second] = [chance.branch(), chance.branch()];
    for (let count = 0; count < others; count++) first.next();
    return Array.from({ length: 5 }, () => second.below(1000));
  };
  expect(drawn(0)).toEqual(drawn(99));
});
