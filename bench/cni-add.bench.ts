// CNI ADD and DEL one at a time, exec to exit: holdfast, host-local, and whereabouts where PEER_WHEREABOUTS names it
//
//   npm run bench -- cni-add [--count 300] [--no-fsync] [--no-controller]
//
// The native shim, the real daemon and the leader, each a process with its own service account, on kube-apiserver with
// an etcd that waits for the disk. The pool exists, every contestant is warm, and they call in turn. `daemon` is the
// same frame on the daemon's socket without a process, and `processStart` is /bin/true, executed in the same way: the
// shim adds the difference of the medians, and `shimOwnMs` is the rest of it without the start of a process.
// `bareWrite` is the one write of an ADD alone.
import { parseArgs } from "node:util";

import { bareWrites } from "./cni/bare-write.ts";
import { isPresent } from "./cni/contestant.ts";
import { countRequests, type Counted } from "./cni/counted.ts";
import { rounded } from "./cni/figures.ts";
import { hostLocal } from "./cni/host-local.ts";
import { BenchLab } from "./cni/lab.ts";
import { machine } from "./cni/machine.ts";
import { byShim, bySocket, configOf, processStart } from "./cni/ours.ts";
import { findPeers, peersOn } from "./cni/peers.ts";
import { makePods } from "./cni/population.ts";
import { against, reasonOf } from "./cni/ratio.ts";
import { Stage } from "./cni/stage.ts";
import { progress, showFigures, showLoad } from "./cni/table.ts";
import { inTurns } from "./cni/turns.ts";
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
/** A tenth of whereabouts' 100 ms and 147 ms on such a machine. */
const goals = { p50Ms: 10, p99Ms: 14.7, shimOwnMs: 3, writesPerAdd: 1 };
const warmUps = 20;
const counted = 50;
/** Two peers at 0.1 s a call, 300 calls: 60 s. Ten times that is a machine in trouble. */
const limitMs = 600_000;

const log = progress("cni-add");
const host = machine();
await using lab = await BenchLab.start({ fsync: values.fsync, log });
await using stage = await Stage.set(lab, { controller: values.controller });
const config = configOf({ range: "10.64.0.0/16" });
const shim = byShim(stage.shim, stage.socket, config);
const daemon = bySocket(stage.socket, config);
const anchor = hostLocal({ folder: `${lab.cluster.folder}/peers/host-local`, subnet: "10.65.0.0/16" });
const peers = await findPeers(lab, { optimistic: true });
const others = peersOn(peers, 66);
const start = processStart(config);
const contestants = [shim, daemon, start, ...(isPresent(anchor) ? [anchor] : []), ...others];

const pods = await makePods(lab, { prefix: "add", count: Math.max(count, warmUps, counted), on: [stage.node] });
log(`warming ${contestants.map(({ name }) => name).join(", ")}`);
await inTurns({ contestants, pods: pods.slice(0, warmUps), prefix: "warm", limitMs });
log(`${count} ADD, then ${count} DEL, each`);
const results = await inTurns({ contestants, pods: pods.slice(0, count), prefix: "timed", limitMs });
for (const [name, { add, del }] of results) {
  showLoad(`${name} ADD`, add);
  showLoad(`${name} DEL`, del);
}
const bareWrite = await bareWrites(stage.access, pods.slice(0, count), "10.68.0.0/16");
showFigures("one bare write", bareWrite);

log("counting requests");
const requests: Record<string, Counted> = {};
for (const contestant of [shim, ...others]) {
  const cost = await countRequests(lab, contestant, pods.slice(0, counted));
  requests[contestant.name] = cost;
  console.log(
    `${contestant.name}: writes and reads per ADD ${cost.writesPerAdd} + ${cost.readsPerAdd}, per DEL ${cost.writesPerDel} + ${cost.readsPerDel}`,
  );
}

const figuresOf = (name: string) => {
  const result = results.get(name);
  return (
    result && { add: result.add.figures, del: result.del.figures, refused: result.add.refused + result.del.refused }
  );
};
const mine = figuresOf(shim.name)!;
const shimMs = rounded(mine.add.p50Ms - figuresOf(daemon.name)!.add.p50Ms);
const shimOwnMs = rounded(shimMs - figuresOf(start.name)!.add.p50Ms);
console.log(`the shim adds ${shimMs} ms, of it ${shimOwnMs} ms its own, the rest the start of a process (/bin/true)`);
const { writesPerAdd } = requests[shim.name]!;
close({
  bench: "cni-add",
  ...against(mine.add.p50Ms, figuresOf("whereabouts")?.add.p50Ms, {
    better: "lower",
    reason: reasonOf(peers.upstream),
  }),
  unit: "ms, p50 of one ADD, exec to exit",
  ...mine,
  shimMs,
  shimOwnMs,
  processStart: figuresOf(start.name)!.add,
  daemon: figuresOf(daemon.name),
  bareWrite,
  hostLocal: figuresOf("host-local") ?? reasonOf(anchor),
  whereabouts: figuresOf("whereabouts") ?? null,
  fork: figuresOf("whereabouts-fork") ?? reasonOf(peers.fork),
  requests,
  goals,
  goalsMet:
    mine.refused === 0 &&
    mine.add.p50Ms <= goals.p50Ms &&
    mine.add.p99Ms <= goals.p99Ms &&
    shimOwnMs <= goals.shimOwnMs &&
    Math.round(writesPerAdd) <= goals.writesPerAdd,
  controller: values.controller,
  fsync: values.fsync,
  machine: host,
});
