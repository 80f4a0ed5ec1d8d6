// CNI ADDs at once: 64 on a node, 600 on three; 100 and 1,000 daemons; 1,000 pods x 1 and 10 networks, 20 daemons
//
//   npm run bench -- cni-burst [--only node,three,fleet,rollout] [--fleets 100,1000] [--no-fsync]
//
// On one node: 256 calls, 64 at once, exec to exit, in three rounds; the median round counts. Fleets: the daemon's
// code, many in this process, each with its own connections and a token of the service account bound to its own pod,
// without shim and socket; every answer is compared with the API server's objects: one duplicate ends the benchmark.
import { parseArgs } from "node:util";

import { burstOnFleet, fillByThree, rollOut } from "./cni/burst-fleet.ts";
import { burstOnNode } from "./cni/burst-node.ts";
import { BenchLab } from "./cni/lab.ts";
import { machine } from "./cni/machine.ts";
import { against } from "./cni/ratio.ts";
import { progress } from "./cni/table.ts";
import { close } from "./measure.ts";

const { values } = parseArgs({
  allowNegative: true,
  options: {
    only: { type: "string", default: "node,three,fleet,rollout" },
    fleets: { type: "string", default: "100,1000" },
    fsync: { type: "boolean", default: true },
  },
});
const parts = new Set(values.only.split(","));
/** Thirty times whereabouts' 9.2 a second on such a machine. */
const goals = { nodePerSecond: 276, nodeP99Ms: 1000, fleetP99Ms: 3000 };

const log = progress("cni-burst");
const host = machine();
const node = await onFreshLab("node", (lab) => burstOnNode(lab));
const three = (await onFreshLab("three", (lab) => fillByThree(lab))) ?? [];
const fleets = [];
for (const size of values.fleets.split(",")) {
  fleets.push(...((await onFreshLab("fleet", (lab) => burstOnFleet(lab, Number(size)))) ?? []));
}
const rollouts = (await onFreshLab("rollout", (lab) => rollOut(lab))) ?? [];

/** Each part on an API server of its own: daemons count the nodes there are, and nobody else's should be among them. */
async function onFreshLab<Result>(part: string, run: (lab: BenchLab) => Promise<Result>): Promise<Result | undefined> {
  if (!parts.has(part)) return undefined;
  await using lab = await BenchLab.start({ fsync: values.fsync, log });
  return await run(lab);
}

const ours = node?.ours;
const largest = fleets.at(-1);
const loads = [...three, ...fleets.flatMap(({ cold, warm }) => [cold, warm]), ...rollouts];
close({
  bench: "cni-burst",
  ...against(ours?.figures.perSecond ?? 0, node?.whereabouts?.figures.perSecond, {
    better: "higher",
    reason: node === undefined ? "not run: --only" : node.reason,
  }),
  unit: "ADD/s, 64 at once on one range and node, 256 in all",
  node,
  three,
  fleets,
  rollouts,
  goals,
  goalsMet:
    (ours === undefined ||
      (ours.refused === 0 && ours.figures.perSecond >= goals.nodePerSecond && ours.figures.p99Ms <= goals.nodeP99Ms)) &&
    (largest === undefined || Math.max(largest.cold.p99Ms, largest.warm.p99Ms) < goals.fleetP99Ms) &&
    loads.every(({ refused }) => refused === 0),
  fsync: values.fsync,
  machine: host,
});
