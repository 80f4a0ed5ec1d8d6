// Random lives of VMs on a model cluster, against a slow oracle. Everything that takes several reads and writes (a plan's steps, an ADD) is
// cut at every one of them: anything may come between, and a leader may die there. Caches are old, each kind by another age.
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { Simulation } from "./testing/simulation.ts";

/** 800 choices make some lives of two VMs, with about five ADDs that end; 300 runs take some seconds. */
const runs = 300;
const choices = fc.array(fc.nat({ max: 0xff_ffff }), { minLength: 400, maxLength: 1200, size: "max" });

describe("any order of events, deaths of leaders and old caches", () => {
  it("never gives an address twice, never frees one that is used or claimed, keeps a NIC's address, and ends", async () => {
    await fc.assert(
      fc.asyncProperty(choices, async (drawn) => {
        const simulation = new Simulation();
        for (const choice of drawn) await simulation.next(choice);
        await simulation.heal();
        expect(simulation.faults).toEqual([]);
      }),
      { numRuns: runs },
    );
  }, 120_000);
});
