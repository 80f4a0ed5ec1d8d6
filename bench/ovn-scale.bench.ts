// Rows of 1,000 VMs on 20 nodes in a real ovsdb-server, then 100 migrations at once: transactions, time, memory
//
//   npm run bench -- ovn-scale [--vms 1000] [--nodes 20] [--migrations 100]
//
// The northbound database of Debian's OVN 25.03 on this machine, by a unix socket, on the disk; neither ovn-northd nor
// a chassis runs, so that what is measured is what the writer and the database take. Dual stack, one zone.
import { join } from "node:path";
import { parseArgs } from "node:util";

import { NorthboundWriter, type NorthboundZone } from "../src/migration/northbound/northbound-writer.ts";
import { Northbound, northboundTables } from "../src/ovn/northbound.ts";
import { printVm } from "../src/ovn/rows/marks.ts";
import type { VmPlacement } from "../src/ovn/vm/placement.ts";
import { featuresOf } from "../src/ovn/zone/features.ts";
import { Operations } from "../src/ovsdb/operations/operation.ts";
import { ovnNorthbound } from "../src/ovsdb/schema/ovn-northbound.ts";
import { LabClient } from "../test/lab/ovn/client.ts";
import { socketOf, startDatabase } from "../test/lab/ovn/database-server.ts";
import { ensureOvn } from "../test/lab/ovn/packages.ts";
import { onTheMachine } from "../test/lab/place.ts";
import { removeCluster } from "../test/lab/reaper.ts";
import { StateFile } from "../test/lab/state.ts";
import { figuresOf, rounded } from "./cni/figures.ts";
import { progress } from "./cni/table.ts";
import { close } from "./measure.ts";
import { scaleZone, type Step, vmAt } from "./ovn/scale-zone.ts";
import { usageOf } from "./slices/usage.ts";

const { values } = parseArgs({
  options: {
    vms: { type: "string", default: "1000" },
    nodes: { type: "string", default: "20" },
    migrations: { type: "string", default: "100" },
  },
});
const [vms, nodes, migrations] = [Number(values.vms), Number(values.nodes), Number(values.migrations)];
const version = "25.03";
const zoneName = "global";
/** The whole of it takes seconds. */
const signal = AbortSignal.timeout(10 * 60_000);
const log = progress("ovn-scale");
const nb = new Operations(ovnNorthbound);

const programs = await ensureOvn(version, log);
const state = new StateFile(`ovn-scale-${process.pid}`);
await using stack = new AsyncDisposableStack();
stack.defer(() => removeCluster(state.state));
const folder = join(state.folder, "central");
const server = await startDatabase({ name: "nb", folder, place: onTheMachine, programs, state }, signal);

let transactions = 0;
const { writer, client } = await follower();
// As ovn-northd would: what it can do is read from its version.
const words = new Map([["northd_internal_version", `${version}.0-20.41.0-78.6`]]);
await client.ovsdb.transact([nb.insert("NB_Global", { options: words })]);
await client.until("the version", () => new Northbound(client.ovsdb).version, signal);

const topology = await timed(() => writer.sweep(zoneName, new Map(), signal));
log(`topology of ${nodes} nodes: ${topology.tookMs} ms`);
const all = Array.from({ length: vms }, (_, number) => number);
const first = await writeEach(all, "home");
log(`${vms} VMs, one after another: ${first.tookMs} ms in ${first.transactions} transactions`);
const moving = all.slice(0, migrations);
const steps: Partial<Record<Step, Written>> = {};
for (const step of ["target waits", "target is ready", "source has ended"] as const) {
  steps[step] = await writeAtOnce(moving, step);
  log(`${step}, ${migrations} at once: ${steps[step].tookMs} ms in ${steps[step].transactions} transactions`);
}
const again = await timed(async () => {
  const fresh = await follower();
  await fresh.writer.sweep(zoneName, known(), signal);
  for (const [key, placement] of known()) await fresh.writer.write(zoneName, new Map([[key, placement]]), signal);
});
log(`a new writer finds all of it as it is to be: ${again.tookMs} ms, ${again.transactions} transactions`);

const switchOver = steps["target is ready"]!;
close({
  bench: "ovn-scale",
  ours: switchOver.tookMs,
  peer: null,
  ratio: null,
  unit: `ms until the switch-over of ${migrations} VMs is in the database`,
  reason:
    "OVN-Kubernetes' control process is not on this machine. It was recorded to write four transactions for the " +
    "switch-over of one VM in dual stack, where one is written here; a model of it would be no peer.",
  vms,
  nodes,
  migrations,
  transactionsPerSwitchOver: rounded(switchOver.transactions / migrations),
  topology,
  first,
  ...steps,
  again,
  rssMiB: { writer: mebibytes(process.pid), ovsdbServer: mebibytes(server.pid!) },
});

interface Written {
  readonly tookMs: number;
  readonly transactions: number;
}

async function timed(task: () => Promise<unknown>): Promise<Written> {
  const [startedMs, before] = [performance.now(), transactions];
  await task();
  return { tookMs: rounded(performance.now() - startedMs, 0), transactions: transactions - before };
}

/** One client, and a writer over it whose transactions are counted. */
async function follower() {
  const made = await LabClient.open(
    ovnNorthbound,
    `unix:${socketOf({ folder, name: "nb" })}`,
    northboundTables,
    signal,
  );
  stack.defer(() => made.close());
  const northbound = new Northbound(made.ovsdb);
  const counted: NorthboundZone["northbound"] = {
    get version() {
      return northbound.version;
    },
    vms: () => northbound.vms(),
    apply: async (desired, limit) => {
      const applied = await northbound.apply(desired, limit);
      transactions += applied.transactions;
      return applied;
    },
  };
  const zone = scaleZone(nodes, featuresOf({ major: 25, minor: 3 }));
  const zones = new Map<string, NorthboundZone>([[zoneName, { northbound: counted, zone: () => zone }]]);
  return { client: made, writer: new NorthboundWriter(zones) };
}

async function writeEach(
  numbers: readonly number[],
  step: Step,
): Promise<Written & { readonly p50Ms: number; readonly p95Ms: number }> {
  const tookMs: number[] = [];
  const whole = await timed(async () => {
    for (const number of numbers) tookMs.push((await timed(() => write(vmAt(number, nodes, step)))).tookMs);
  });
  const { p50Ms, p95Ms } = figuresOf(tookMs, whole.tookMs);
  return { ...whole, p50Ms, p95Ms };
}

async function writeAtOnce(numbers: readonly number[], step: Step): Promise<Written> {
  return await timed(() => Promise.all(numbers.map((number) => write(vmAt(number, nodes, step)))));
}

async function write(vm: VmPlacement): Promise<void> {
  await writer.write(zoneName, new Map([[printVm(vm), vm]]), signal);
}

function known(): ReadonlyMap<string, VmPlacement> {
  const placed = all.map((number) => vmAt(number, nodes, number < migrations ? "source has ended" : "home"));
  return new Map(placed.map((vm) => [printVm(vm), vm]));
}

function mebibytes(pid: number): number {
  return rounded(usageOf(pid).rssBytes / 2 ** 20, 0);
}
