import { describe, expect, it } from "vitest";

import { type GoalFacts, judge } from "./goals.ts";

const good: GoalFacts = {
  start: { withClaim: 14, plain: 9, pod: 5 },
  migrate: { withClaim: 14, plain: 5, pod: 5 },
  refused: 0,
  claims: 10_000,
  caughtUpMs: [2000, 9000, 2500],
};

describe("goals of claims", () => {
  it("all are met; the quicker peer counts, and of the restarts the median", () => {
    const { met, startSlowerMs, restartMs } = judge(good);
    expect(met).toEqual({ noneRefused: true, startSlower: true, migrateSlower: true, restart: true });
    expect([startSlowerMs, restartMs]).toEqual([9, 2500]);
  });

  it.each([
    ["a start slower than a VM's by 10.1 ms", { start: { withClaim: 15.1, plain: 5, pod: 9 } }, { startSlower: false }],
    ["a start slower than a pod's", { start: { withClaim: 15.1, plain: 9, pod: 5 } }, { startSlower: false }],
    ["a migration that is", { migrate: { withClaim: 16, plain: 5, pod: 5 } }, { migrateSlower: false }],
    ["one refusal", { refused: 1 }, { noneRefused: false }],
    ["a restart of three seconds", { caughtUpMs: [3000] }, { restart: false }],
    ["fewer claims than the goal speaks of: not judged", { claims: 9999 }, { restart: null }],
    ["no restart: not judged", { caughtUpMs: [] }, { restart: null }],
  ] satisfies [string, Partial<GoalFacts>, object][])("%s", (_, change, met) => {
    expect(judge({ ...good, ...change }).met).toMatchObject(met);
  });
});
