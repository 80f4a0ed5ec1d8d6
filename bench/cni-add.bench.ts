// CNI ADD and DEL one at a time, exec to exit: holdfast against host-local, and whereabouts where PEER_WHEREABOUTS names it
//
//   npm run bench -- cni-add [--count 300] [--no-fsync] [--no-controller]
//
// The native shim, the real daemon (a process of its own under its service account) and leader, kube-apiserver with etcd that waits for the disk. The pool
// exists and every contestant is warm. Contestants call in turn. The daemon's own time is that of the same frame on its socket,
// without a process; what the shim adds is the difference of the medians.
import { parseArgs } from "node:util";

import { isPresent } from "./cni/contestant.ts";
import { countRequests } from "./cni/counted.ts";
import { rounded } from "./cni/figures.ts";
import { hostLocal } from "./cni/host-local.ts";
import { BenchLab } from "./cni/lab.ts";
import { machine } from "./cni/machine.ts";
import { bySocket, byShim, configOf } from "./cni/ours.ts";
import { makePods } from "./cni/population.ts";
import { against } from "./cni/ratio.ts";
import { startOurs } from "./cni/stage.ts";
import { progress, showLoad } from "./cni/table.ts";
import { inTurns } from "./cni/turns.ts";
import { whereabouts } from "./cni/whereabouts.ts";
import { close } from "./measure.ts";

const { values } = parseArgs({
  allowNegative: true,
  options: {
    count: { type: "string", default: "300" },
    fsync: { type: "boolean", default: true },
    controller: { type: "boolean", default: true },
  },
});
const count = Number(values.count);
/** A tenth of whereabouts' figures on such a machine: 100 ms and 147 ms. */
const goals = { p50Ms: 10, p99Ms: 14.7, shimMs: 3, writesPerAdd: 1 };
const warmUps = 20;
/** Two peers at 0.1 s a call, 300 calls: 60 s. Ten times that is a machine in trouble. */
const limitMs = 600_000;
const counted = 50;

const log = progress("cni-add");
const host = machine();
await using lab = await BenchLab.start({ fsync: values.fsync, log });
await using ours = await startOurs(lab, { controller: values.controller });
const config = configOf({ range: "10.64.0.0/16" });
const folder = `${lab.cluster.folder}/peers`;
const shim = byShim(ours.shim, ours.socket, config);
const daemon = bySocket(ours.socket, config);
const anchor = hostLocal({ folder: `${folder}/host-local`, subnet: "10.65.0.0/16" });
const upstream = await whereabouts(lab, {
  name: "whereabouts",
  variable: "PEER_WHEREABOUTS",
  folder: `${folder}/whereabouts`,
  range: "10.66.0.0/16",
});
const fork = await whereabouts(lab, {
  name: "whereabouts-fork",
  variable: "PEER_WHEREABOUTS_FORK",
  folder: `${folder}/fork`,
  range: "10.67.0.0/16",
  optimistic: true, // its faster mode here
});
const contestants = [shim, daemon, anchor, upstream, fork].filter(isPresent);

const pods = await makePods(lab, { prefix: "add", count: Math.max(count, warmUps, counted), on: [ours.node] });
log(`warming ${contestants.map(({ name }) => name).join(", ")}`);
await inTurns({ contestants, pods: pods.slice(0, warmUps), limitMs });
log(`${count} ADD and DEL each`);
const results = await inTurns({ contestants, pods: pods.slice(0, count), limitMs });
for (const [name, { add, del }] of results) {
  showLoad(`${name} ADD`, add);
  showLoad(`${name} DEL`, del);
}

log("counting requests");
const requests: Record<string, Awaited<ReturnType<typeof countRequests>>> = {};
for (const contestant of [shim, upstream, fork].filter(isPresent)) {
  const cost = await countRequests(lab, contestant, pods.slice(0, counted));
  requests[contestant.name] = cost;
  console.log(
    `${contestant.name}: writes/reads per ADD ${cost.writesPerAdd}/${cost.readsPerAdd}, per DEL ${cost.writesPerDel}/${cost.readsPerDel}`,
  );
}

const mine = results.get(shim.name)!;
const inside = results.get(daemon.name)!;
const of = (name: string) => {
  const result = results.get(name);
  return result === undefined ? null : { add: result.add.figures, del: result.del.figures, refused: result.add.refused };
};
const shimMs = rounded(mine.add.figures.p50Ms - inside.add.figures.p50Ms);
const { p50Ms, p99Ms } = mine.add.figures;
const refused = mine.add.refused + mine.del.refused;
const writesPerAdd = requests[shim.name]!.writesPerAdd;
close({
  bench: "cni-add",
  ...against(p50Ms, upstream, results.get(upstream.name)?.add.figures.p50Ms),
  unit: "ms, p50 of one ADD, exec to exit",
  add: mine.add.figures,
  del: mine.del.figures,
  refused,
  shimMs,
  daemon: of(daemon.name),
  hostLocal: isPresent(anchor) ? of(anchor.name) : anchor.reason,
  whereabouts: isPresent(upstream) ? of(upstream.name) : null,
  fork: isPresent(fork) ? of(fork.name) : fork.reason,
  requests,
  goals,
  goalsMet:
    p50Ms <= goals.p50Ms && p99Ms <= goals.p99Ms && shimMs <= goals.shimMs && refused === 0 && Math.round(writesPerAdd) <= 1,
  fsync: values.fsync,
  machine: host,
});
