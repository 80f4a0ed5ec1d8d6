import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { type CoexistenceInput, type Memory, nextCoexistence, silenceMs } from "./coexistence.ts";

const quiet = { active: false, why: [] };
const loud = { active: true, why: ["its DaemonSet runs"] };
const fresh: Memory = { silentSinceMs: undefined };

function next(memory: Memory, parts: Partial<CoexistenceInput>) {
  return nextCoexistence(memory, { current: true, upstream: quiet, unadopted: 0, nowMs: 0, ...parts });
}

describe("nextCoexistence", () => {
  it("a sign turns it on at once, with the reason", () => {
    expect(next(fresh, { current: false, upstream: loud })).toMatchObject({
      coexistence: true,
      why: "its DaemonSet runs",
      mayAdopt: false,
    });
  });

  it("a cluster that never had whereabouts starts without", () => {
    expect(next(fresh, { current: undefined }).coexistence).toBe(false);
  });

  it("pools that nobody adopted may be whereabouts': it waits", () => {
    expect(next(fresh, { current: undefined, unadopted: 1 })).toMatchObject({ coexistence: true, mayAdopt: false });
  });

  it("silence alone does not turn it off: the pools must be adopted, and may be only then", () => {
    const first = next(fresh, {});
    expect(first).toMatchObject({ coexistence: true, mayAdopt: false });
    expect(next(first.memory, { nowMs: silenceMs - 1 }).coexistence).toBe(true);
    expect(next(first.memory, { nowMs: silenceMs, unadopted: 2 })).toMatchObject({ coexistence: true, mayAdopt: true });
    expect(next(first.memory, { nowMs: silenceMs })).toMatchObject({ coexistence: false, why: "" });
  });

  it("off is never reached from on within two minutes of a sign, whatever happens", () => {
    const step = fc.record({
      ms: fc.integer({ min: 0, max: 90_000 }),
      active: fc.boolean(),
      unadopted: fc.integer({ min: 0, max: 1 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        let [memory, current, now, lastSign]: [Memory, boolean, number, number] = [fresh, true, 0, 0];
        for (const { ms, active, unadopted } of steps) {
          now += ms;
          if (active) lastSign = now;
          const verdict = next(memory, { current, upstream: active ? loud : quiet, unadopted, nowMs: now });
          if (current && !verdict.coexistence) {
            expect(now - lastSign).toBeGreaterThanOrEqual(silenceMs);
            expect(unadopted).toBe(0);
          }
          if (active) expect(verdict.coexistence).toBe(true);
          ({ memory } = verdict);
          current = verdict.coexistence;
        }
      }),
      { numRuns: 1000 },
    );
  });
});
