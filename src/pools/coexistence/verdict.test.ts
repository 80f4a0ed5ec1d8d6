import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { type CoexistenceInput, firstWord, type Memory, nextCoexistence, silenceMs, unseenWords } from "./verdict.ts";

const quiet = { active: false, why: [] };
const loud = { active: true, why: ["its DaemonSet runs"] };
const fresh: Memory = { silentSinceMs: undefined };

function next(memory: Memory, parts: Partial<CoexistenceInput>) {
  const input = { word: "off", current: true, upstream: quiet, unadopted: 0, unshown: 0, nowMs: 0 } as const;
  return nextCoexistence(memory, { ...input, ...parts });
}

describe("nextCoexistence", () => {
  it("the word turns it on at once, and says until when whereabouts must not start", () => {
    for (const current of [undefined, false, true]) {
      expect(next(fresh, { word: "on", current })).toMatchObject({ coexistence: true, why: "", mayAdopt: false });
      expect(next(fresh, { word: "on", current, unshown: 3 }).why).toContain("3 holds");
    }
  });

  it("once it is off, no sign turns it on again", () => {
    expect(next(fresh, { current: false, upstream: loud, unadopted: 1 })).toMatchObject({
      coexistence: false,
      why: "",
    });
  });

  it("off waits for whereabouts, and says why", () => {
    const verdict = next(fresh, { upstream: loud });
    expect(verdict).toMatchObject({ coexistence: true, mayAdopt: false });
    expect(verdict.why).toContain("its DaemonSet runs");
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
          if (current && active) expect(verdict.coexistence).toBe(true);
          ({ memory } = verdict);
          current = verdict.coexistence;
        }
      }),
      { numRuns: 1000 },
    );
  });
});

describe("firstWord", () => {
  const [workload, namespace] = ["DaemonSet openshift-multus/whereabouts", "openshift-multus"];
  const nothing = { ...quiet, reconciler: false, elsewhere: [] };
  const facts = {
    systemNamespace: "kube-system",
    poolsElsewhere: [],
    current: undefined,
    upstream: nothing,
    hasKept: false,
  };

  it.each([
    ["nothing of whereabouts is there", {}, "off"],
    ["whereabouts is there", { upstream: { ...nothing, ...loud } }, "on"],
    [
      "it was off before there was a word, whatever is seen now",
      { current: false, upstream: { ...nothing, ...loud } },
      "off",
    ],
    ["the word is lost, and holds are kept from whereabouts", { hasKept: true }, "on"],
  ] as const)("%s", (_, parts, word) => {
    expect(firstWord({ ...facts, ...parts })).toMatchObject({ word });
  });

  it("on by what coexistence left, without whereabouts, says how it ends; on by whereabouts does not", () => {
    const end = expect.stringMatching(/not seen.*`holdfast coexistence off` ends it/);
    expect(firstWord({ ...facts, hasKept: true })).toMatchObject({ by: end });
    expect(unseenWords).toEqual(end);
    const seen = firstWord({ ...facts, hasKept: true, upstream: { ...nothing, ...loud } });
    expect(seen).not.toMatchObject({ by: end });
  });

  it.each([false, true])("pools in another namespace: not decided, with the remedy; holds are kept: %s", (hasKept) => {
    const upstream = { ...nothing, elsewhere: [{ workload, namespace }] };
    expect(firstWord({ ...facts, hasKept, upstream })).toMatch(
      /openshift-multus, Holdfast in kube-system.*Say `holdfast coexistence on`/,
    );
    expect(firstWord({ ...facts, hasKept, poolsElsewhere: [namespace] })).toMatch(
      /pools in namespace openshift-multus.*two ledgers.*coexistence off --namespace openshift-multus/,
    );
  });
});
