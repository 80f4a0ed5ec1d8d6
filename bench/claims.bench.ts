// Persistent addresses of VMs: 1,000 VMs through their lives, with claims and without; a restart with 10,000 claims
//
//   npm run bench -- claims [--vms 1000] [--count 100] [--claims 10000] [--nodes 8] [--at-once 64] [--restarts 3]
//                           [--no-fsync]
//
// The real API server and etcd, the real controller (a process), the daemon's own code for each node (two processes),
// and a load that plays KubeVirt, the kubelet and Multus: VM, VMI, launcher pods, CNI calls. Networks differ in
// `allowPersistentIPs` only: the peer of a VM with a claim is the very same VM on the other one; beside them the same
// with ordinary pods. First --count of each one at a time, in turn; then --vms of each, --at-once at once, phase by
// phase; at the end stopped VMs fill up to --claims, and the controller is started anew --restarts times: there, among
// all those VMs and pods, and in a cluster that has only the --claims VMs. No claim is there before its VM. An address
// that its VM's claim does not hold, that differs at a later start, or that two have, ends the benchmark.
// kubevirt/ipam-extensions runs where PEER_IPAM_EXTENSIONS names it; OVN-Kubernetes cannot be installed here.
import { parseArgs } from "node:util";

import { assertClaimsAudited } from "./claims/audit.ts";
import { goals, judge } from "./claims/goals.ts";
import { heldOf } from "./claims/held.ts";
import { ipamExtensions } from "./claims/ipam-extensions.ts";
import { nic } from "./claims/machine.ts";
import { networks, persistent, plain, podsOnly, type VmNetwork } from "./claims/networks.ts";
import { answersOf, phases, type PhaseRun } from "./claims/phases.ts";
import { differences, type PhaseTable } from "./claims/report.ts";
import { fill, restart } from "./claims/restart.ts";
import { ClaimStage } from "./claims/stage.ts";
import { storm } from "./claims/storm.ts";
import { inTurns, showTurns } from "./claims/turns.ts";
import { isPresent } from "./cni/contestant.ts";
import { BenchLab } from "./cni/lab.ts";
import { machine } from "./cni/machine.ts";
import { against } from "./cni/ratio.ts";
import { progress } from "./cni/table.ts";
import { close } from "./measure.ts";

const { values } = parseArgs({
  allowNegative: true,
  options: {
    vms: { type: "string", default: "1000" },
    count: { type: "string", default: "100" },
    claims: { type: "string", default: "10000" },
    nodes: { type: "string", default: "8" },
    "at-once": { type: "string", default: "64" },
    restarts: { type: "string", default: "3" },
    fsync: { type: "boolean", default: true },
  },
});
const vms = Number(values.vms);
const count = Number(values.count);
const atOnce = Number(values["at-once"]);
/** Of each network, before anything counts: pools are made, code is compiled. */
const warmUps = 10;

const log = progress("claims");
const host = machine();

async function run() {
  await using lab = await BenchLab.start({ fsync: values.fsync, log });
  await using stage = await ClaimStage.set(lab, Number(values.nodes));
  const runs: PhaseRun[] = [];
  log("warming up");
  runs.push(...(await inTurns(stage, "warm", warmUps)).runs);
  log(`one at a time, in turn: ${count} VMs on each network`);
  const turns = await inTurns(stage, "turn", count);
  showTurns(turns);
  const stormed = await storm({
    lab,
    bill: stage.bill,
    watch: stage.watch,
    nodes: stage.nodes,
    atOnce,
    groups: networks.map((network) => ({ network, machines: stage.machines(`vm-${network.name}`, network, vms) })),
    quiet: () => stage.quiet(),
  });
  runs.push(...turns.runs, ...stormed.runs);
  await verify(stage, runs);
  const memoryMiB = stage.bill.memory(await stage.bill.reading({ collect: true }));
  const filled = await fill(stage, Number(values.claims));
  const { ends } = stage.controller;
  const restartsAmongOthers = await restart(stage, Number(values.restarts));
  await verify(stage, runs);
  return { turns, stormed, memoryMiB, filled, restartsAmongOthers, controllerEnds: ends };
}

/** Claims, and what they are for: what the goal speaks of. */
async function runClaimsAlone() {
  log("a cluster with claims and nothing else");
  await using lab = await BenchLab.start({ fsync: values.fsync, log });
  await using stage = await ClaimStage.set(lab, 1);
  // One that runs: its first start makes the pool, which shows whatever is held from then on.
  const [first] = stage.machines("first", persistent, 1);
  await first!.create();
  await first!.ran(await first!.start(stage.nodes[0]!));
  const { claims } = await fill(stage, Number(values.claims));
  return { claims, restarts: await restart(stage, Number(values.restarts)) };
}

async function verify({ lab, watch }: ClaimStage, runs: readonly PhaseRun[]): Promise<void> {
  const answers = answersOf(runs);
  const held = await heldOf(lab, persistent);
  assertClaimsAudited({ answers, held, claims: watch.list(), claimOf: (vm) => `${vm}.${nic}` });
  log(`${answers.length} answers to VMs with claims are what their claims hold`);
}

const { turns, stormed, memoryMiB, filled, restartsAmongOthers, controllerEnds } = await run();
const { claims, restarts } = await runClaimsAlone();
const peer = await ipamExtensions({ vms, atOnce, fsync: values.fsync, log });
const p50Of = (phase: "start" | "migrate", { name }: VmNetwork) => turns.groups[name]![phase].call.p50Ms;
const tables: PhaseTable[] = [...Object.values(turns.groups), ...Object.values(stormed.groups)];
const refused = tables.flatMap((table) => phases.map((phase) => table[phase]?.refused ?? 0));
const judged = judge({
  start: { withClaim: p50Of("start", persistent), plain: p50Of("start", plain), pod: p50Of("start", podsOnly) },
  migrate: { withClaim: p50Of("migrate", persistent), plain: p50Of("migrate", plain), pod: p50Of("migrate", podsOnly) },
  refused: refused.reduce((sum, each) => sum + each, 0),
  claims,
  caughtUpMs: restarts.map(({ caughtUpMs }) => caughtUpMs),
});
/** What a claim costs beside the same VM without one, and beside an ordinary pod. */
const costOf = ({ groups }: { readonly groups: Readonly<Record<string, PhaseTable>> }) => ({
  besidePlain: differences(groups[persistent.name] ?? {}, groups[plain.name] ?? {}),
  besidePods: differences(groups[persistent.name] ?? {}, groups[podsOnly.name] ?? {}),
});

const ourClaim = stormed.groups[persistent.name]?.first?.claim;
close({
  bench: "claims",
  ...against(p50Of("start", persistent), p50Of("start", plain), { better: "lower", reason: undefined }),
  unit: "ms, p50 of the ADD of a VM whose claim exists, one at a time; the peer is the same VM on a network without persistence",
  differences: { oneAtATime: costOf(turns), atOnce: costOf(stormed) },
  oneAtATime: turns.groups,
  atOnce: { vms, atOnce, ...stormed.groups },
  memoryMiB,
  controllerEnds,
  filled,
  restarts,
  restartsAmongOthers,
  timeToClaim: {
    ours: ourClaim ?? null,
    ipamExtensions: isPresent(peer) ? peer.claim : null,
    ...(isPresent(peer) ? {} : { reason: peer.reason }),
  },
  ovnKubernetes: {
    peer: null,
    reason: "OVN-Kubernetes cannot be installed here: it needs Open vSwitch in the kernel of every node",
  },
  ...judged,
  goals,
  goalsMet: Object.values(judged.met).every((each) => each !== false) && controllerEnds.length === 0,
  fsync: values.fsync,
  machine: host,
});
