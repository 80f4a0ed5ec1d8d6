// One size of slice-scale: a cluster of so many nodes, each with a daemon and one pod with an address in ten networks.
//
// The order is that of a cluster that turns fast IPAM on: nodes and daemons are there, then the definitions come. Times
// count from the moment when they are all written.
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { type Figures, rounded } from "../cni/figures.ts";
import type { BenchLab } from "../cni/lab.ts";
import { makeNodes, makePods } from "../cni/population.ts";
import { assertAudited } from "./audit.ts";
import { Bill } from "./bill.ts";
import { type Costs, type Idle, withoutIdle } from "./growth.ts";
import { Hosts } from "./hosts.ts";
import { KeptController } from "./kept-controller.ts";
import { define, knowDefinitions, slicedConfig, type SlicedNetwork, slicedNetworks } from "./networks.ts";
import { largestSlicePoolBytes } from "./slice-pools.ts";
import { SliceWatch } from "./slice-watch.ts";

export interface ScalePlan {
  readonly nodes: number;
  readonly networks: number;
  /** Pods that are attached side by side, over all nodes. */
  readonly atOnce: number;
  /** How long the idle cluster is watched, to know what that costs; 60 s are one renewal of every Lease. */
  readonly idleMs: number;
}

export interface ScaleResult {
  readonly nodes: number;
  readonly networks: number;
  readonly daemonsUpMs: number;
  /** From the definitions until the Lease of every node names a slice of every network. */
  readonly grantedMs: number;
  /** From the definitions until every node has said that it has them on its disk. */
  readonly takenMs: number;
  /** From the first ADD until every pod has an address in every network. */
  readonly allAddressesMs: number;
  readonly add: Figures;
  readonly refused: number;
  readonly problems: readonly string[];
  /** From the last answer until the objects of the slices name every address. */
  readonly mirroredMs: number;
  /** From the definitions until everything is mirrored, without what that time would have cost anyway. */
  readonly costs: Costs;
  /** What a minute costs in which nothing happens. */
  readonly idleCostsPerMinute: Costs;
  /** All requests of the daemons from the definitions until everything is mirrored, by kind. */
  readonly daemonRequests: Readonly<Record<string, number>>;
  readonly controllerRequests: Readonly<Record<string, number>>;
  /** The controller's last words at each end before a restart, as by a Deployment. Its costs are then those since. */
  readonly controllerEnds: readonly string[];
  readonly memoryMiB: Readonly<Record<string, number>>;
  readonly daemonDescriptors: number;
  /** The largest NodeSlicePool, as JSON without the API server's own fields. */
  readonly slicePoolBytes: number;
  readonly audited: number;
}

export async function scale(
  lab: BenchLab,
  { nodes, networks: count, atOnce, idleMs }: ScalePlan,
): Promise<ScaleResult> {
  await using stack = new AsyncDisposableStack();
  const { bill, controller, hosts, pods, daemonsUpMs } = await populate(lab, nodes, stack);
  const watch = stack.use(new SliceWatch(lab));
  const before = await bill.reading();
  const networks = slicedNetworks(count);
  const sliced = await turnOn(lab, watch, networks, nodes);
  const configs = networks.map((network) => ({ name: network.name, config: slicedConfig(network) }));
  const rolled = await hosts.roll(pods, configs, atOnce);
  lab.log(`${rolled.figures.count} addresses after ${seconds(rolled.wallMs)}, ${rolled.refused} refused`);
  const mirroredMs = await took(() => watch.mirrored(rolled.held.length));
  const after = await bill.reading();
  await sleep(idleMs);
  const rested = await bill.reading();
  const idle = { elapsedMs: rested.atMs - after.atMs, costs: bill.costs(after, rested) };
  const atEnd = await bill.reading({ collect: true });
  const mirrors = await SliceWatch.mirrors(lab);
  const journals = await hosts.end();
  assertAudited(`${nodes} nodes`, { answers: rolled.held, journals, mirrors });
  return {
    nodes,
    networks: count,
    daemonsUpMs,
    ...sliced,
    allAddressesMs: rounded(rolled.wallMs, 0),
    add: rolled.figures,
    refused: rolled.refused,
    problems: rolled.problems,
    mirroredMs,
    costs: withoutIdle(bill.costs(before, after), after.atMs - before.atMs, idle),
    idleCostsPerMinute: perMinute(idle),
    daemonRequests: bill.daemonRequests(before, after),
    controllerRequests: bill.controllerRequests(before, after),
    controllerEnds: controller.ends,
    memoryMiB: bill.memory(atEnd),
    daemonDescriptors: atEnd.daemons.descriptors,
    slicePoolBytes: await largestSlicePoolBytes(lab),
    audited: journals.length,
  };
}

/** The cluster before slices: controller, nodes, pods, and every daemon ready. */
async function populate(lab: BenchLab, count: number, stack: AsyncDisposableStack) {
  await knowDefinitions(lab);
  const controller = stack.use(await KeptController.start(lab, join(lab.cluster.folder, "controller")));
  const nodes = Array.from({ length: count }, (_, index) => `scale-${index}`);
  await makeNodes(lab, nodes);
  const pods = await makePods(lab, { prefix: "scale", count, on: nodes });
  lab.log(`${count} daemons start`);
  const startingMs = performance.now();
  const hosts = stack.use(await Hosts.start(lab, nodes));
  const daemonsUpMs = rounded(performance.now() - startingMs, 0);
  return { bill: new Bill(lab, controller, hosts), controller, hosts, pods, daemonsUpMs };
}

/** The definitions come; until every node has a slice of each. */
async function turnOn(lab: BenchLab, watch: SliceWatch, networks: readonly SlicedNetwork[], nodes: number) {
  lab.log(`${networks.length} definitions`);
  await define(lab, networks);
  const grantedMs = await took(() => watch.granted(nodes, networks.length));
  const takenMs = grantedMs + (await took(() => watch.taken(nodes * networks.length)));
  lab.log(`every node has its slices: granted after ${seconds(grantedMs)}, taken after ${seconds(takenMs)}`);
  return { grantedMs, takenMs };
}

async function took(run: () => Promise<void>): Promise<number> {
  const startedMs = performance.now();
  await run();
  return rounded(performance.now() - startedMs, 0);
}

function perMinute({ elapsedMs, costs }: Idle): Costs {
  return Object.fromEntries(
    Object.entries(costs).map(([name, cost]) => [name, rounded((cost / elapsedMs) * 60_000, 1)]),
  );
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
