// One size of slice-scale: a cluster of so many nodes, each with a daemon and one pod that wants an address in each of ten networks.
//
// The order is that of a cluster in which fast IPAM is turned on: nodes and daemons are there, then the definitions come. Times count from
// the moment when they are all written.
import { join } from "node:path";

import { type Figures, rounded } from "../cni/figures.ts";
import type { BenchLab } from "../cni/lab.ts";
import { makeNodes, makePods } from "../cni/population.ts";
import { runController } from "../cni/stage.ts";
import { totalTraffic, trafficBetween } from "../cni/traffic.ts";
import { assertAudited } from "./audit.ts";
import { Bill } from "./bill.ts";
import type { Costs } from "./growth.ts";
import { Hosts } from "./hosts.ts";
import { define, knowDefinitions, slicedConfig, slicedNetworks } from "./networks.ts";
import { largestSlicePoolBytes } from "./slice-pools.ts";
import { SliceWatch } from "./slice-watch.ts";

export interface ScalePlan {
  readonly nodes: number;
  readonly networks: number;
  /** Pods that are attached side by side, over all nodes. */
  readonly atOnce: number;
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
  /** Of the whole, from the definitions until everything is mirrored. */
  readonly costs: Costs;
  /** Requests of the daemons in that time, by kind. */
  readonly daemonRequests: Readonly<Record<string, number>>;
  readonly controllerRequests: Readonly<Record<string, number>>;
  readonly memoryMiB: Readonly<Record<string, number>>;
  readonly daemonDescriptors: number;
  /** The largest NodeSlicePool, as JSON without the API server's own fields. */
  readonly slicePoolBytes: number;
  readonly audited: number;
}

export async function scale(lab: BenchLab, { nodes, networks: count, atOnce }: ScalePlan): Promise<ScaleResult> {
  await using stack = new AsyncDisposableStack();
  await knowDefinitions(lab);
  const controller = stack.use(await runController(lab, join(lab.cluster.folder, "controller")));
  const names = Array.from({ length: nodes }, (_, index) => `scale-${index}`);
  await makeNodes(lab, names);
  const pods = await makePods(lab, { prefix: "scale", count: nodes, on: names });
  lab.log(`${nodes} daemons start`);
  const startingMs = performance.now();
  const hosts = stack.use(await Hosts.start(lab, names));
  const daemonsUpMs = performance.now() - startingMs;
  const watch = stack.use(new SliceWatch(lab));
  const bill = new Bill(lab, controller, hosts);
  const before = await bill.reading();
  const networks = slicedNetworks(count);
  lab.log(`${count} definitions`);
  await define(lab, networks);
  const definedMs = performance.now();
  await watch.granted(nodes, count);
  const grantedMs = performance.now() - definedMs;
  await watch.taken(nodes * count);
  const takenMs = performance.now() - definedMs;
  lab.log(`every node has its slices: granted after ${seconds(grantedMs)}, taken after ${seconds(takenMs)}`);
  const configs = networks.map((network) => ({ name: network.name, config: slicedConfig(network) }));
  const rolled = await hosts.roll(pods, configs, atOnce);
  lab.log(`${rolled.figures.count} addresses after ${seconds(rolled.wallMs)}, ${rolled.refused} refused`);
  const rolledMs = performance.now();
  await watch.mirrored(rolled.held.length);
  const mirroredMs = performance.now() - rolledMs;
  const after = await bill.reading();
  const mirrors = await SliceWatch.mirrors(lab);
  const journals = await hosts.end();
  assertAudited(`${nodes} nodes`, { answers: rolled.held, journals, mirrors });
  const traffic = trafficBetween(before.traffic, after.traffic);
  return {
    nodes,
    networks: count,
    daemonsUpMs: rounded(daemonsUpMs, 0),
    grantedMs: rounded(grantedMs, 0),
    takenMs: rounded(takenMs, 0),
    allAddressesMs: rounded(rolled.wallMs, 0),
    add: rolled.figures,
    refused: rolled.refused,
    problems: rolled.problems,
    mirroredMs: rounded(mirroredMs, 0),
    costs: bill.costs(before, after, totalTraffic(traffic)),
    daemonRequests: Object.fromEntries(Object.entries(traffic).map(([kind, { requests }]) => [kind, requests])),
    controllerRequests: bill.controllerRequests(before, after),
    memoryMiB: bill.memory(after),
    daemonDescriptors: after.daemons.descriptors,
    slicePoolBytes: await largestSlicePoolBytes(lab),
    audited: journals.length,
  };
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
