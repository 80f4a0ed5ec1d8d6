// The events of the simulation, and a world to which they happen.
import { IntervalSet } from "../../../net/interval-set.ts";
import { parseBlock } from "../../../net/interval.ts";
import { parsePrefix } from "../../../net/prefix.ts";
import type { PoolConfig, WriteOrder } from "./leader.ts";
import type { SimNode } from "./node.ts";
import { World } from "./world.ts";

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

export const v4: readonly PoolConfig[] = [
  configOf("10.0.0.0/26", 29, "10.0.0.1-10.0.0.62"),
  configOf("10.0.0.0/26", 28, "10.0.0.0/26"),
  configOf("10.0.0.0/25", 29, "10.0.0.0/25"),
  configOf("10.0.0.64/26", 29, "10.0.0.70-10.0.0.119"),
  configOf("10.0.0.0/26", 30, "10.0.0.1-10.0.0.62"),
];
/** Four slices or two: most nodes live on lent pieces. */
export const scarce: readonly PoolConfig[] = [
  configOf("10.0.0.0/28", 30, "10.0.0.0/28"),
  configOf("10.0.0.0/28", 29, "10.0.0.1-10.0.0.14"),
];
export const v4Floating: readonly PoolConfig[] = [...v4, configOf("10.0.0.0/26", 29, "10.0.0.0/26", 28)];
export const v6: readonly PoolConfig[] = [
  configOf("fd00::/122", 125, "fd00::1-fd00::3f"),
  configOf("fd00::/121", 125, "fd00::/121"),
  configOf("fd00::/122", 124, "fd00::/122"),
];

/** Each event, as often as it stands here. */
export type Event = (world: World, node: SimNode, pick: number, configs: readonly PoolConfig[]) => void;

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

export const everyday: readonly Event[] = [
  { event: leads, times: 8 },
  { event: runs, times: 1 },
  { event: adds, times: 2 },
  { event: removes, times: 1 },
  { event: syncs, times: 2 },
  { event: speaks, times: 2 },
  { event: keeps, times: 3 },
  { event: mirrors, times: 1 },
].flatMap(({ event, times }) => Array<Event>(times).fill(event));

export const trouble: readonly Event[] = [
  (world, _, pick) => world.crashLeader(pick % 2),
  (_, node) => (node.isPartitioned = true),
  (_, node) => (node.isPartitioned = false),
  (_, node) => (node.isRunning = false),
  (world, node) => {
    if (!node.isRunning && !node.isFenced && !(node.isVoid && node.isPartitioned)) node.start(world.store);
  },
  (world, node) => {
    if (node.isFenced) return;
    world.killPodsOf(node);
    node.reimage(world.store);
  },
  (_, node) => (node.exists = false),
  (_, node) => (node.exists = true),
  // The node is off, and somebody says so; then it comes back.
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

export const everything: readonly Event[] = [
  ...Array<readonly Event[]>(8).fill(everyday).flat(),
  ...trouble,
  ...changes,
];

/** A whole number from 0 to below the bound, from a seed (mulberry32): hundreds of steps that one number repeats. */
function randomOf(seed: number): (bound: number) => number {
  let state = seed;
  return (bound) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * bound);
  };
}

export interface Play {
  readonly events: readonly Event[];
  readonly configs: readonly PoolConfig[];
  readonly steps: number;
  readonly order?: WriteOrder;
}

/** A world after so many steps, each of which left it right. */
export function play({ events, configs, steps, order = "objects-first" }: Play, seed: number): World {
  const random = randomOf(seed);
  const world = new World({ config: configs[0]!, nodes: 1 + random(9), order });
  for (let i = 0; i < steps; i++) {
    const node = world.nodes[random(world.nodes.length)]!;
    events[random(events.length)]!(world, node, random(1 << 16), configs);
    world.check();
  }
  return world;
}
