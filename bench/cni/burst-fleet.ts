// Many daemons at once: one ADD on each of 100 and 1,000, and the pods of a deployment over 20.
import { join } from "node:path";

import { Fleet } from "./fleet.ts";
import type { BenchLab } from "./lab.ts";
import { makeNodes, makePods } from "./population.ts";
import { roll, type Rollout, rolloutFigures, type RolloutPlan } from "./rollout.ts";
import { settle } from "./settle.ts";
import { runController } from "./stage.ts";
import { showLoad } from "./table.ts";

type RolloutFigures = ReturnType<typeof rolloutFigures>;

interface FleetBurst {
  readonly daemons: number;
  readonly range: string;
  /** The first ADD of each daemon on this range: what the leader knows of it must be read first. */
  readonly cold: RolloutFigures;
  /** The second, right after: what each knows of the range is from before the first. */
  readonly warm: RolloutFigures;
}

/** A wide range, and the smallest with room for both rounds: 1,000 daemons fill a /21 to 98 %, 125 a /24. */
const rangesFor = (daemons: number) => ["10.72.0.0/16", `10.73.0.0/${32 - Math.ceil(Math.log2(2 * daemons + 2))}`];

export async function burstOnFleet(lab: BenchLab, size: number): Promise<FleetBurst[]> {
  await using stack = new AsyncDisposableStack();
  stack.use(await runController(lab, join(lab.cluster.folder, "controller")));
  const names = await nodesOf(lab, "fleet", size);
  const pods = await makePods(lab, { prefix: "fleet", count: size, on: names });
  const bursts: FleetBurst[] = [];
  const networks = rangesFor(size).map((range, index) => ({ range, network: `fleet-${index}` }));
  for (const network of networks) await settle(lab, network);
  lab.log(`${size} daemons start`);
  await using fleet = await Fleet.start(lab, names);
  for (const { range, network } of networks) {
    const plan = { what: `${size} daemons at once, ${range}`, pods, range, networks: [network] };
    const cold = await shown(lab, fleet, plan);
    const warm = await shown(lab, fleet, { ...plan, what: `${plan.what}, again`, firstInterface: 2, earlier: [cold] });
    bursts.push({ daemons: size, range, cold: rolloutFigures(cold), warm: rolloutFigures(warm) });
  }
  return bursts;
}

const rolloutDaemons = 20;
const rolloutPods = 1000;

/** 1,000 pods over 20 daemons: with one network, and with ten. */
export async function rollOut(lab: BenchLab) {
  await using stack = new AsyncDisposableStack();
  stack.use(await runController(lab, join(lab.cluster.folder, "controller")));
  const range = "10.74.0.0/16";
  const plans = [1, 10].map((count) => Array.from({ length: count }, (_, index) => `rollout${count}-${index}`));
  for (const network of plans.flat()) await settle(lab, { range, network });
  const names = await nodesOf(lab, "rollout", rolloutDaemons);
  const pods = await makePods(lab, { prefix: "rollout", count: rolloutPods, on: names });
  await using fleet = await Fleet.start(lab, names);
  const rollouts = [];
  for (const networks of plans) {
    const count = networks.length;
    const what = `${rolloutPods} pods, ${count} networks, ${rolloutDaemons} daemons`;
    rollouts.push({ what, ...rolloutFigures(await shown(lab, fleet, { what, pods, range, networks })) });
  }
  return rollouts;
}

/** What a kubelet starts side by side, about. */
const nodeAtOnce = 16;

/** 200 pods on each of three daemons, all on one range: how often do they get in each other's way? */
export async function fillByThree(lab: BenchLab) {
  await using stack = new AsyncDisposableStack();
  stack.use(await runController(lab, join(lab.cluster.folder, "controller")));
  const names = await nodesOf(lab, "three", 3);
  const pods = await makePods(lab, { prefix: "three", count: 600, on: names });
  await using fleet = await Fleet.start(lab, names);
  const rows = [];
  for (const [index, atOnce] of [1, nodeAtOnce].entries()) {
    const [range, network] = [`10.${76 + index}.0.0/16`, `three-${index}`];
    await settle(lab, { range, network });
    const what = `600 pods on 3 daemons, ${atOnce} at once on each, ${range}`;
    rows.push({ what, ...rolloutFigures(await shown(lab, fleet, { what, pods, range, networks: [network], atOnce })) });
  }
  return rows;
}

async function nodesOf(lab: BenchLab, prefix: string, count: number): Promise<string[]> {
  const names = Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
  await makeNodes(lab, names);
  return names;
}

async function shown(lab: BenchLab, fleet: Fleet, plan: RolloutPlan): Promise<Rollout> {
  lab.log(plan.what);
  const rollout = await roll(lab, fleet, plan);
  showLoad(plan.what, rollout.load);
  const { conflicts, conflictShare, throttled, requestsPerAdd, writesPerAdd, load, cpuPerAdd } = rollout;
  console.log(
    `${"".padEnd(44)} all after ${(load.wallMs / 1000).toFixed(2)} s, ${conflicts} conflicts (${(100 * conflictShare).toFixed(1)} % of POSTs), ${throttled} answers 429, ` +
      `${requestsPerAdd} requests and ${writesPerAdd} writes per ADD, ` +
      `CPU ms per ADD: daemons ${cpuPerAdd.selfMs}, API server ${cpuPerAdd.apiserverMs}, etcd ${cpuPerAdd.etcdMs}`,
  );
  return rollout;
}
