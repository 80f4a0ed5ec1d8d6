// Random lives of VMs on a model cluster, against a slow oracle. A plan's steps and an ADD are cut at every read and
// write: anything may come between, and a leader may die there. Caches are old, each kind by another age.
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { claimNicAnnotation, claimOwnerAnnotation } from "../../api/claims/claim-marks.ts";
import type { FamilyFacts } from "./facts.ts";
import { planFamily } from "./plan.ts";
import type { LeaderWays } from "./testing/leader.ts";
import { Oracle } from "./testing/oracle.ts";
import { Simulation } from "./testing/simulation.ts";
import { Story } from "./testing/story.ts";

/** 800 choices make some lives of two VMs, with about five ADDs that end; 120 runs take some seconds. */
const runs = 120;
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

/** Numbers that are the same in every run: xorshift. */
function* numbers(seed: number): Generator<number, never> {
  let state = (seed * 0x9e37_79b1) >>> 0 || 1;
  for (;;) {
    state = (state ^ (state << 13)) >>> 0;
    state = (state ^ (state >>> 17)) >>> 0;
    state = (state ^ (state << 5)) >>> 0;
    yield state & 0xff_ffff;
  }
}

/** The faults of the first of some runs that has any; `from`: a little before the first that is known to. */
async function faultsWith(ways: LeaderWays, from = 1): Promise<readonly string[]> {
  for (let seed = from; seed < from + 100; seed++) {
    const simulation = new Simulation(ways);
    const drawn = numbers(seed);
    for (let step = 0; step < 800 && simulation.faults.length === 0; step++) await simulation.next(drawn.next().value);
    if (simulation.faults.length > 0) return simulation.faults;
  }
  return [];
}

describe("the oracle sees a leader that", () => {
  it("does not look at pods and users", async () => {
    const plan = (facts: FamilyFacts) =>
      planFamily({
        ...facts,
        pods: [],
        holds: facts.holds.map((each) => ({ ...each, hold: { ...each.hold, users: [] } })),
      });
    expect(await faultsWith({ plan, confirms: true })).toContainEqual(expect.stringMatching(/is free and .* has it/));
  }, 60_000);

  it("takes every node for reachable", async () => {
    const plan = (facts: FamilyFacts) => planFamily({ ...facts, node: () => "ready" });
    expect(await faultsWith({ plan, confirms: true }, 20)).toContainEqual(
      expect.stringMatching(/is free and .* has it/),
    );
  }, 60_000);

  it("takes a claim for the VM's by its name: the guest of a lost node still has its address", async () => {
    const story = new Story();
    const oracle = new Oracle(story.cluster);
    await story.run("a");
    oracle.look();
    const pod = story.pods("a")[0]!;
    story.cluster.nodes.set(pod.node, "unreachable");
    story.virt.forceDelete(pod);
    story.cluster.vms.objects.delete("a");
    story.cluster.vmis.objects.delete("a");
    story.virt.createVm("a", { n: "blue" });
    const annotations = { [claimOwnerAnnotation]: story.vmUid("a"), [claimNicAnnotation]: "n" };
    story.cluster.claims.update(story.claim("a")!, (now) => ({ ...now, metadata: { ...now.metadata, annotations } }));
    await story.start("a");
    oracle.look();
    expect(oracle.faults).toContainEqual(expect.stringMatching(/is .*'s and .*'s/));
  });
});
