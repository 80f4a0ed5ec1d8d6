// CNI ADD with 0, 1,000 and 8,000 addresses held in its range, exec to exit: flat for holdfast; two peers beside it
//
//   npm run bench -- cni-fill [--count 100] [--fills 0,1000,8000] [--no-fsync]
//
// Each fill is a network of its own, held from the lowest address on by pods of other nodes, and a daemon that has just
// started. Its first ADD, when it knows nothing of the network yet, is told apart from those that follow. host-local's
// folder and whereabouts' pool (a binary given as PEER_WHEREABOUTS) hold as many.
import { parseArgs } from "node:util";

import type { BenchPod } from "./cni/attachment.ts";
import { type Contestant, isPresent } from "./cni/contestant.ts";
import { countRequests } from "./cni/counted.ts";
import { rounded } from "./cni/figures.ts";
import { hold, lowestOf } from "./cni/held.ts";
import { hostLocal } from "./cni/host-local.ts";
import { BenchLab } from "./cni/lab.ts";
import { machine } from "./cni/machine.ts";
import { byShim, configOf } from "./cni/ours.ts";
import { findPeers, type Peers } from "./cni/peers.ts";
import { makeNodes, makePods } from "./cni/population.ts";
import { against, reasonOf } from "./cni/ratio.ts";
import { mapped, settle } from "./cni/settle.ts";
import { runController, Stage } from "./cni/stage.ts";
import { progress, showLoad } from "./cni/table.ts";
import { inTurns } from "./cni/turns.ts";
import { fillWhereabouts } from "./cni/whereabouts-fill.ts";
import { close } from "./measure.ts";

const { values } = parseArgs({
  allowNegative: true,
  options: {
    count: { type: "string", default: "100" },
    fills: { type: "string", default: "0,1000,8000" },
    fsync: { type: "boolean", default: true },
  },
});
const count = Number(values.count);
const fills = values.fills.split(",").map(Number);
/** Flat: not more than this above the empty one, which leaves room for the machine's own unrest. */
const goals = { p50Ratio: 1.25, writesPerAdd: 1 };
const warmUps = 10;
const counted = 50;
/** whereabouts at a second a call and 8,000 held: 100 turns of ADD are cut off after this. */
const limitMs = 120_000;
/** Where the holders' pods are. */
const otherNodes = Array.from({ length: 10 }, (_, index) => `bench-other-${index}`);

const log = progress("cni-fill");
const host = machine();
await using lab = await BenchLab.start({ fsync: values.fsync, log });
await using stack = new AsyncDisposableStack();
stack.use(await runController(lab, `${lab.cluster.folder}/controller`));
await makeNodes(lab, otherNodes);
log(`${Math.max(...fills)} pods that hold`);
const holders = await makePods(lab, { prefix: "holder", count: Math.max(...fills), on: otherNodes });
const peers = await findPeers(lab, { optimistic: true });

/** The peers with as much held; those that cannot hold as much are left out, with the reason. */
async function peersWith(held: readonly BenchPod[], { upstream, fork }: Peers, octet: number) {
  const contestants: Contestant[] = [];
  const reasons: string[] = [];
  const range = `10.${octet}.0.0/16`;
  const addresses = lowestOf(range, held.length).map(String);
  const anchor = hostLocal({
    folder: `${lab.cluster.folder}/peers/host-local-${held.length}`,
    subnet: range,
    held: addresses,
  });
  if (isPresent(anchor)) contestants.push(anchor);
  else reasons.push(anchor.reason);
  for (const peer of [upstream, fork].filter(isPresent)) {
    const reason = await fillWhereabouts(lab, { namespace: peer.namespace, range, pods: held });
    if (reason === undefined) contestants.push(peer.on(range));
    else reasons.push(`${peer.name} with ${held.length} held: ${reason}`);
  }
  return { contestants, reasons };
}

const rows = [];
for (const [index, fill] of fills.entries()) {
  const held = holders.slice(0, fill);
  const network = `fill-${fill}`;
  const range = `10.${80 + index}.0.0/16`;
  log(`${fill} held`);
  await settle(lab, { range, network });
  await hold(lab.admin, { network, range, pods: held });
  log("held; the leader follows");
  await mapped(lab, { range, network }, fill);
  await using stage = await Stage.set(lab, { controller: false, node: network });
  const pods = await makePods(lab, { prefix: network, count: Math.max(count, counted), on: [stage.node] });
  const ours = byShim(stage.shim, stage.socket, configOf({ range, network }));
  const others = await peersWith(held, peers, 90 + index);
  const contestants = [ours, ...others.contestants];
  const first = await inTurns({ contestants: [ours], pods: pods.slice(0, 1), prefix: "first", limitMs });
  await inTurns({ contestants, pods: pods.slice(0, warmUps), prefix: "warm", limitMs });
  const results = await inTurns({ contestants, pods: pods.slice(0, count), prefix: "timed", limitMs });
  for (const [name, { add }] of results) showLoad(`${name} ADD, ${fill} held`, add);
  const cost = await countRequests(lab, ours, pods.slice(0, counted));
  rows.push({
    held: fill,
    firstAddMs: rounded(first.get(ours.name)!.add.figures.maxMs),
    refused: results.get(ours.name)!.add.refused,
    add: Object.fromEntries([...results].map(([name, { add }]) => [name, add.figures])),
    writesPerAdd: cost.writesPerAdd,
    readsPerAdd: cost.readsPerAdd,
    requests: cost.addRequests,
    ...(others.reasons.length > 0 && { reasons: others.reasons }),
  });
}

const [empty] = rows;
const full = rows.at(-1)!;
const p50Of = (row: typeof full, name: string) => row.add[name]?.p50Ms;
const p50Ratio = rounded(p50Of(full, "holdfast")! / p50Of(empty!, "holdfast")!);
close({
  bench: "cni-fill",
  ...against(p50Of(full, "holdfast")!, p50Of(full, "whereabouts"), {
    better: "lower",
    reason: reasonOf(peers.upstream) ?? full.reasons?.join("; "),
  }),
  unit: `ms, p50 of one ADD with ${full.held} addresses held`,
  p50Ratio,
  rows,
  goals,
  goalsMet:
    p50Ratio <= goals.p50Ratio &&
    rows.every(({ writesPerAdd, refused }) => Math.round(writesPerAdd) <= goals.writesPerAdd && refused === 0),
  fork: reasonOf(peers.fork) ?? "in rows",
  fsync: values.fsync,
  machine: host,
});
