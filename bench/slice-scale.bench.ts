// Node slices as the cluster grows: 100 to 5,000 daemons x 10 networks x 1 pod, from definitions to ten addresses a pod
//
//   npm run bench -- slice-scale [--sizes 100,256,1000,5000] [--networks 10] [--at-once 64] [--idle-seconds 60]
//                                [--no-peer] [--no-fsync]
//
// The real API server and etcd, the real controller (a process), and the daemon's own code: some hundred daemons per
// process, each with its client, token, connections, socket and journal on the disk. Every size has its own cluster;
// one beyond the machine's memory is left out, with the reason. At its end all answers, journals and mirrors are
// compared: an address twice in any, or not in all, ends it. whereabouts (PEER_WHEREABOUTS=file) runs at 256 nodes, as
// far as it gets.
import { parseArgs } from "node:util";

import { rounded } from "./cni/figures.ts";
import { BenchLab } from "./cni/lab.ts";
import { machine } from "./cni/machine.ts";
import { against } from "./cni/ratio.ts";
import { progress, showFigures } from "./cni/table.ts";
import { close } from "./measure.ts";
import { growthOf, perNode, whyNotFitting } from "./slices/growth.ts";
import { scalePeer } from "./slices/peer-scale.ts";
import { scale, type ScaleResult } from "./slices/scale.ts";
import { availableBytes } from "./slices/usage.ts";

const { values } = parseArgs({
  allowNegative: true,
  options: {
    sizes: { type: "string", default: "100,256,1000,5000" },
    networks: { type: "string", default: "10" },
    "at-once": { type: "string", default: "64" },
    "idle-seconds": { type: "string", default: "60" },
    peer: { type: "boolean", default: true },
    fsync: { type: "boolean", default: true },
  },
});
const sizes = values.sizes.split(",").map(Number);
const networks = Number(values.networks);
/** Pods attached at once. On their own nodes all would be; here 5,000 would only wait for the same two cores. */
const atOnce = Number(values["at-once"]);
const idleMs = Number(values["idle-seconds"]) * 1000;
/** Half as much again per node in the largest cluster is the machine's noise; growth with the cluster is fiftyfold. */
const goals = { nodes: 5000, p99Ms: 1000, flatRatio: 1.5 };
/** The design paper's failing case. */
const peerNodes = 256;

const log = progress("slice-scale");
const host = machine();
const results: ScaleResult[] = [];
const leftOut: string[] = [];

for (const nodes of sizes) {
  const reason = whyNotFitting(nodes, lastUse(), availableBytes());
  if (reason !== undefined) {
    log(reason);
    leftOut.push(reason);
    break;
  }
  await using lab = await BenchLab.start({ fsync: values.fsync, log });
  const result = await scale(lab, { nodes, networks, atOnce, idleMs });
  results.push(result);
  show(result);
}
const peer = values.peer ? await scalePeer({ nodes: peerNodes, networks, fsync: values.fsync, log }) : undefined;

function lastUse() {
  const last = results.at(-1);
  if (last === undefined) return undefined;
  const { daemons = 0, controllerPeak = 0, apiserverPeak = 0, etcd = 0 } = last.memoryMiB;
  return { nodes: last.nodes, usedBytes: (daemons + controllerPeak + apiserverPeak + etcd) * 2 ** 20 };
}

function show(result: ScaleResult): void {
  const { nodes, grantedMs, takenMs, allAddressesMs, mirroredMs, daemonsUpMs, refused, problems } = result;
  showFigures(`${nodes} nodes x ${networks} networks, ADD`, result.add);
  const s = (ms: number) => `${rounded(ms / 1000, 1)} s`;
  console.log(
    `  daemons up in ${s(daemonsUpMs)}; slices granted ${s(grantedMs)}, taken ${s(takenMs)}; all pods ${s(allAddressesMs)}; mirrored ${s(mirroredMs)} after`,
  );
  console.log(`  per node: ${JSON.stringify(perNode(result))}`);
  console.log(`  idle, all nodes, per minute: ${JSON.stringify(result.idleCostsPerMinute)}`);
  console.log(`  MiB: ${JSON.stringify(result.memoryMiB)}; largest NodeSlicePool ${result.slicePoolBytes} bytes`);
  for (const words of result.controllerEnds) console.log(`  the controller ended and was started again: ${words}`);
  if (refused > 0) console.log(`  ${refused} refused: ${problems.join(" | ")}`);
}

const largest = results.at(-1);
const besidePeer = results.find(({ nodes }) => nodes === peerNodes);
const growth = growthOf(results, goals.flatRatio);
close({
  bench: "slice-scale",
  ...against(besidePeer?.add.perSecond ?? 0, peer?.add?.perSecond, {
    better: "higher",
    reason: peer === undefined ? "not run: --no-peer" : peer.reason,
  }),
  unit: `ADD/s over ${peerNodes} nodes, ${networks} networks and one pod on each`,
  results: results.map((result) => ({ ...result, perNode: perNode(result) })),
  growth: growth ?? null,
  leftOut,
  whereabouts: peer ?? null,
  atOnce,
  goals,
  goalsMet:
    largest !== undefined &&
    largest.nodes >= goals.nodes &&
    results.every(({ refused, add }) => refused === 0 && add.p99Ms < goals.p99Ms) &&
    results.every(({ controllerEnds }) => controllerEnds.length === 0) &&
    growth?.isFlat !== false &&
    leftOut.length === 0,
  fsync: values.fsync,
  machine: host,
});
