// A leader falls asleep between two writes, and wakes when the slice that it was about to grant is another node's.
import { expect, it } from "vitest";

import { IntervalSet } from "../../net/interval-set.ts";
import { parseBlock } from "../../net/interval.ts";
import { parsePrefix } from "../../net/prefix.ts";
import type { WriteOrder } from "./testing/leader.ts";
import { World } from "./testing/world.ts";

const config = {
  range: parsePrefix("10.0.0.0/30"),
  sliceLength: 30,
  useful: IntervalSet.of([parseBlock("10.0.0.0/30")]),
  wanted: true,
  mayGrant: true,
};

/** A leader assigns the only slice to node-0 and sleeps; node-0 is fenced, node-1 gets the slice; all wake up. */
function sleepAfter(steps: number, order: WriteOrder): World {
  const world = new World({ config, nodes: 2, order });
  const [first, second] = [world.nodes[0]!, world.nodes[1]!];
  for (let i = 0; i < steps; i++) world.stepLeader(0);
  Object.assign(first, { isRunning: false, isFenced: true, isVoid: true });
  for (let i = 0; i < 3; i++) world.runLeader();
  second.sync(world.store, config.useful);
  first.isFenced = false;
  first.start(world.store);
  for (let i = 0; i < 10; i++) world.stepLeader(0);
  first.sync(world.store, config.useful);
  second.sync(world.store, config.useful);
  return world;
}

const moments = Array.from({ length: 10 }, (_, i) => i);

it.each(moments)("asleep after %i steps: the slice is one node's", (steps) => {
  const world = sleepAfter(steps, "objects-first");
  world.check();
  expect(world.nodes.filter(({ journal }) => journal.grants.size > 0)).toHaveLength(1);
});

it("with the status before the objects it would be two nodes': that is why", () => {
  const broken = moments.filter((steps) => {
    try {
      sleepAfter(steps, "status-first").check();
      return false;
    } catch {
      return true;
    }
  });
  expect(broken.length).toBeGreaterThan(0);
});
