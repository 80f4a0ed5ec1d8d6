import { describe, expect, it } from "vitest";

import { type GoalFacts, judge } from "./goals.ts";

const good: GoalFacts = {
  start: { withClaim: 14, plain: 5 },
  migrate: { withClaim: 14, plain: 5 },
  refused: 0,
  claims: 10_000,
  caughtUpMs: [2000, 9000, 2500],
};

describe("goals of claims", () => {
  it("all are met; of the restarts the median counts", () => {
    const { met, slowerMs, restartMs } = judge(good);
    expect(met).toEqual({ noneRefused: true, slower: true, migrateSlower: true, restart: true });
    expect([slowerMs, restartMs]).toEqual([9, 2500]);
  });

  it.each([
    ["a start that is slowed by more than 10 ms", { start: { withClaim: 15.1, plain: 5 } }, { slower: false }],
    ["a migration that is", { migrate: { withClaim: 16, plain: 5 } }, { migrateSlower: false }],
    ["one refusal", { refused: 1 }, { noneRefused: false }],
    ["a restart of three seconds", { caughtUpMs: [3000] }, { restart: false }],
    ["fewer claims than the goal speaks of: not judged", { claims: 9999 }, { restart: null }],
    ["no restart: not judged", { caughtUpMs: [] }, { restart: null }],
  ] satisfies [string, Partial<GoalFacts>, object][])("%s", (_, change, met) => {
    expect(judge({ ...good, ...change }).met).toMatchObject(met);
  });
});
