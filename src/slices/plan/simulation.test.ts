// The rule of docs/decisions/0013 under everything that goes wrong: daemons that lag, stop, are cut off, are made anew;
// two leaders that sleep and crash between writes; ranges, sizes and modes that change. After every step no address is
// in two journals, none is given twice, none of a living pod is held nowhere. In the end every free address can be had.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { everyday, everything, play, type Play, scarce, trouble, v4, v4Floating, v6 } from "./testing/events.ts";
import type { World } from "./testing/world.ts";

const hardship = [...everyday, ...everyday, ...trouble];

/** Pods of one node take every free address, whichever node has it now; then all pods go, and all is quiet. */
function finish(world: World): void {
  world.config = { ...world.config, wanted: true, mayGrant: true };
  world.settle();
  expect(world.isPlanned()).toBe(true);
  const greedy = world.nodes.at(-1)!;
  for (let i = 0; i < 150; i++) world.addPod(greedy);
  world.settle();
  expect(greedy.waiting.length).toBeGreaterThan(0);
  expect(world.unused()).toEqual([]);
  for (const name of world.pods.keys()) world.removePod(name);
  world.settle();
  world.config = { ...world.config, wanted: false };
  world.settle();
  expect(world.store.slices.size).toBe(0);
  expect(world.store.status.allocations).toEqual([]);
}

describe("any number of things go wrong, and every step leaves it right", () => {
  it.each<[string, Play, number]>([
    ["everyday life", { events: everyday, configs: [v4[0]!], steps: 400 }, 20],
    ["trouble", { events: hardship, configs: [v4[1]!], steps: 400 }, 30],
    ["trouble, and most is lent", { events: hardship, configs: [scarce[0]!], steps: 600 }, 60],
    ["changes, and most is lent", { events: [...hardship, ...everything], configs: scarce, steps: 600 }, 40],
    ["trouble and changes", { events: everything, configs: v4, steps: 600 }, 30],
    ["trouble, changes and claims", { events: everything, configs: v4Floating, steps: 600 }, 30],
    ["in IPv6", { events: everything, configs: v6, steps: 400 }, 20],
  ])("%s", (_, story, numRuns) => {
    // A seed of hundreds of steps has no smaller case.
    fc.assert(
      fc.property(fc.noShrink(fc.integer()), (seed) => finish(play(story, seed))),
      { numRuns, endOnFailure: true },
    );
  });
});
