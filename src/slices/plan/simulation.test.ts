// The rule of docs/decisions/0013 under everything that goes wrong: daemons that lag, stop, are cut off, are made anew; two leaders that
// sleep and crash between any two writes; ranges, sizes and modes that change. After every step no address is in two journals, none is
// given twice, none of a living pod is held nowhere; in the end, everything that is free can be had by whoever asks.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { IntervalSet } from "../../net/interval-set.ts";
import { parseBlock } from "../../net/interval.ts";
import { parsePrefix } from "../../net/prefix.ts";
import type { PoolConfig } from "./testing/leader.ts";
import type { SimNode } from "./testing/node.ts";
import { World } from "./testing/world.ts";

interface Turn {
  readonly kind: number;
  readonly pick: number;
}

function configOf(range: string, sliceLength: number, useful: string, floatingLength?: number): PoolConfig {
  return {
    range: parsePrefix(range),
    sliceLength,
    useful: IntervalSet.of([parseBlock(useful)]),
    wanted: true,
    mayGrant: true,
    ...(floatingLength !== undefined && { floatingLength }),
  };
}

const v4: readonly PoolConfig[] = [
  configOf("10.0.0.0/26", 29, "10.0.0.1-10.0.0.62"),
  configOf("10.0.0.0/26", 28, "10.0.0.0/26"),
  configOf("10.0.0.0/25", 29, "10.0.0.0/25"),
  configOf("10.0.0.64/26", 29, "10.0.0.70-10.0.0.119"),
  configOf("10.0.0.0/26", 30, "10.0.0.1-10.0.0.62"),
];
const v4Floating: readonly PoolConfig[] = [...v4, configOf("10.0.0.0/26", 29, "10.0.0.0/26", 28)];
const v6: readonly PoolConfig[] = [
  configOf("fd00::/122", 125, "fd00::1-fd00::3f"),
  configOf("fd00::/121", 125, "fd00::/121"),
  configOf("fd00::/122", 124, "fd00::/122"),
];

/** What may happen, each as often as it stands here. */
type Event = (world: World, node: SimNode, pick: number, configs: readonly PoolConfig[]) => void;

const leads: Event = (world, _, pick) => world.stepLeader(pick % 2);
const runs: Event = (world) => world.runLeader();
const adds: Event = (world, node, pick) => {
  for (let i = 0; i <= pick % 5; i++) world.addPod(node);
};
const removes: Event = (world, _, pick) => {
  const names = [...world.pods.keys()];
  for (let i = 0; i <= pick % 4; i++) world.removePod(names[(pick + i) % Math.max(1, names.length)] ?? "");
};
const syncs: Event = (world, node) => {
  node.sync(world.store, world.config.useful);
  world.serve(node);
};
const speaks: Event = (world, node) => node.speak(world.store, world.config.useful);
const mirrors: Event = (world, node) => node.mirror(world.store);
const keeps: Event = (world, node, pick, configs) => {
  syncs(world, node, pick, configs);
  speaks(world, node, pick, configs);
};

const everyday: readonly Event[] = [
  { event: leads, times: 8 },
  { event: runs, times: 1 },
  { event: adds, times: 2 },
  { event: removes, times: 1 },
  { event: syncs, times: 2 },
  { event: speaks, times: 2 },
  { event: keeps, times: 3 },
  { event: mirrors, times: 1 },
].flatMap(({ event, times }) => Array<Event>(times).fill(event));

const trouble: readonly Event[] = [
  (world, _, pick) => world.crashLeader(pick % 2),
  (_, node) => (node.isPartitioned = true),
  (_, node) => (node.isPartitioned = false),
  (_, node) => (node.isRunning = false),
  (world, node) => {
    if (!node.isRunning && !node.isFenced && !(node.isVoid && node.isPartitioned)) node.start(world.store);
  },
  (world, node) => {
    world.killPodsOf(node);
    node.reimage(world.store);
  },
  (_, node) => (node.exists = false),
  (_, node) => (node.exists = true),
  // It is off, and somebody says so; then it comes back.
  (world, node) => {
    if (node.isRunning) return;
    world.killPodsOf(node);
    Object.assign(node, { isFenced: true, isVoid: true });
  },
  (world, node) => {
    if (!node.isFenced) return;
    Object.assign(node, { isFenced: false, isPartitioned: false });
    node.start(world.store);
  },
  (world) => world.collect(),
  (world, node) => world.addClaim(node),
];

const changes: readonly Event[] = [
  (world, _, pick, configs) => (world.config = configs[pick % configs.length]!),
  (world, _, pick) => (world.config = { ...world.config, wanted: pick % 3 !== 0 }),
  (world, _, pick) => (world.config = { ...world.config, mayGrant: pick % 3 !== 0 }),
];

const everything: readonly Event[] = [...Array<readonly Event[]>(8).fill(everyday).flat(), ...trouble, ...changes];

function play(world: World, events: readonly Event[], turns: readonly Turn[], configs: readonly PoolConfig[]): void {
  for (const { kind, pick } of turns) {
    const node = world.nodes[pick % world.nodes.length]!;
    events[kind % events.length]!(world, node, pick >>> 4, configs);
    world.check();
  }
}

/** Every free address is had by pods of one node, whoever has it now; then all pods go, and all is quiet. */
function finish(world: World, pick: number): void {
  world.config = { ...world.config, wanted: true, mayGrant: true };
  world.settle();
  expect(world.isPlanned()).toBe(true);
  const greedy = world.nodes[pick % world.nodes.length]!;
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

const turn = fc.record({ kind: fc.nat({ max: 1 << 20 }), pick: fc.nat({ max: 1 << 20 }) });
const turns = fc.array(turn, { minLength: 50, maxLength: 600, size: "max" });

describe("any number of things go wrong", () => {
  it.each<[string, readonly Event[], readonly PoolConfig[], number]>([
    ["everyday life", everyday, [v4[0]!], 40],
    ["with trouble", [...everyday, ...everyday, ...everyday, ...trouble], [v4[1]!], 60],
    ["with trouble and changes", everything, v4, 60],
    ["with trouble, changes and claims", everything, v4Floating, 60],
    ["in IPv6", everything, v6, 40],
  ])("%s", (_, events, configs, numRuns) => {
    fc.assert(
      fc.property(turns, fc.integer({ min: 1, max: 9 }), fc.nat({ max: 999 }), (steps, nodes, pick) => {
        const world = new World({ config: configs[0]!, nodes });
        play(world, events, steps, configs);
        finish(world, pick);
      }),
      { numRuns },
    );
  });
});
