// 10,000 claims with addresses, most of stopped VMs, and a controller that starts anew: how long until it is caught up.
//
// Caught up: it has made the claim of a VM that came while nobody led, and looked at all others; from its start on.
import { formatDomain } from "../../src/api/pools/domain.ts";
import { ReservationLedger } from "../../src/ledger/reservation/reservation-ledger.ts";
import { previous } from "../../src/net/address.ts";
import { parseCidr } from "../../src/net/prefix.ts";
import { until } from "../../test/lab/wait.ts";
import { rounded } from "../cni/figures.ts";
import { podNamespace, systemNamespace } from "../cni/lab.ts";
import { eachAtOnce } from "../cni/population.ts";
import { poolOf } from "../cni/settle.ts";
import { runController } from "../cni/stage.ts";
import { usageOf } from "../slices/usage.ts";
import { type Machine, nic } from "./machine.ts";
import { persistent } from "./networks.ts";
import { lookAt, quiet } from "./quiet.ts";
import { ClaimStage } from "./stage.ts";

export interface FillResult {
  readonly claims: number;
  /** From the first VM until the last claim is there; they are made side by side. */
  readonly madeMs: number;
  /** From the first hold until the last claim says its address. */
  readonly boundMs: number;
}

/** Stopped VMs up to so many claims, made by the controller. Each has had a VMI and has a hold, as if it had run. */
export async function fill(stage: ClaimStage, count: number): Promise<FillResult> {
  const { lab, watch } = stage;
  const before = watch.list().length;
  const machines = stage.machines("filled", persistent, Math.max(0, count - before));
  lab.log(`${machines.length} stopped VMs, for ${count} claims in all`);
  const startedMs = performance.now();
  await eachAtOnce(machines, (machine) => machine.create("Halted"));
  await watch.counted(before + machines.length);
  const madeMs = performance.now() - startedMs;
  lab.log(`${before + machines.length} claims after ${rounded(madeMs / 1000, 1)} s; now their addresses`);
  // A claim whose VM has run is not the claim that was made: the controller has written on it which VMI it was.
  await eachAtOnce(machines, (machine) => machine.createInstance());
  await stage.quiet();
  await eachAtOnce(machines, (machine) => machine.removeInstance());
  await hold(stage, machines);
  await watch.bound(watch.list().length);
  await stage.quiet();
  return {
    claims: watch.list().length,
    madeMs: rounded(madeMs, 0),
    boundMs: rounded(performance.now() - startedMs - madeMs, 0),
  };
}

/** The first of the range that are free, from above: one after the other where somebody has one. */
async function hold({ lab, watch }: ClaimStage, machines: readonly Machine[]): Promise<void> {
  const ledger = new ReservationLedger({ client: lab.admin, namespace: systemNamespace, now: Date.now });
  const domain = formatDomain({ scope: "network", network: persistent.name });
  const note = { pool: poolOf({ range: persistent.range, network: persistent.name }) };
  const uids = new Map(watch.list().map(({ name, uid }) => [name, uid]));
  let next = previous(parseCidr(persistent.range).prefix.last);
  await eachAtOnce(machines, async ({ claimName: name, uid: vm }) => {
    const owner = { kind: "claim", uid: uids.get(name) ?? "", namespace: podNamespace, name } as const;
    for (let outcome = ""; outcome !== "taken";) {
      const address = next;
      if (address === undefined) throw new Error(`${persistent.range} is full`);
      next = previous(address);
      ({ outcome } = await ledger.take({ domain, address, owner, note: { ...note, identity: `${vm}/${nic}` } }));
    }
  });
}

export interface RestartResult {
  /** How long the one before took to end: it gives the lease back, unless its work does not end in time. */
  readonly endedMs: number;
  /** It says that it is ready: everything is listed. */
  readonly readyMs: number;
  /** It has the lease. */
  readonly leadsMs: number;
  /** The claim of a VM that came while nobody led is there. */
  readonly probeMs: number;
  /** And every VM was looked at: no key of a claim waits. */
  readonly caughtUpMs: number;
  /** And no other controller has a key either: pools are pictures of what is held, and drawn at their leisure. */
  readonly restsMs: number;
  /** Since its start. */
  readonly cpuMs: number;
  readonly rssMiB: number;
  readonly peakRssMiB: number;
  /** Of the controller, since its start. */
  readonly requests: number;
}

interface Running extends AsyncDisposable {
  readonly pid: number;
  readonly metricsPort: number;
}

const mebibyte = 2 ** 20;
const caughtUpLimitMs = 600_000;
/** Each answer takes milliseconds of the process that is measured. */
const askEveryMs = 50;

/** The controller of the stage ends for good; each round starts another. */
export async function restart(stage: ClaimStage, rounds: number): Promise<RestartResult[]> {
  const { lab } = stage;
  const results: RestartResult[] = [];
  let running: Running = stage.controller;
  for (const probe of stage.machines("probe", persistent, rounds)) {
    const endingMs = performance.now();
    await running[Symbol.asyncDispose]();
    const endedMs = rounded(performance.now() - endingMs, 0);
    await probe.create("Halted");
    const startedMs = performance.now();
    const next = await runController(lab, ClaimStage.controllerFolder(lab));
    running = next;
    try {
      results.push({ endedMs, ...(await caughtUp(stage, next, probe, startedMs)) });
      lab.log(`started anew: ${JSON.stringify(results.at(-1))}`);
      await quiet(() => next.metricsPort);
    } catch (error) {
      await next[Symbol.asyncDispose]();
      throw error;
    }
  }
  await running[Symbol.asyncDispose]();
  return results;
}

/** It has just said that it is ready. */
async function caughtUp({ watch }: ClaimStage, running: Running, probe: Machine, startedMs: number) {
  const readyMs = performance.now() - startedMs;
  const { metricsPort, pid } = running;
  const wait = (what: string, isSo: () => Promise<boolean>) =>
    until(isSo, { what: `the controller to ${what}`, everyMs: askEveryMs, timeoutMs: caughtUpLimitMs });
  await wait("lead", async () => leads(await metricsOf(metricsPort)));
  const leadsMs = performance.now() - startedMs;
  const probeMs = (await watch.come(probe.claimName)) - startedMs;
  await wait("have no claim left to look at", async () => (await lookAt(metricsPort, "claims")) === 0);
  const caughtUpMs = performance.now() - startedMs;
  await wait("have no key left", async () => (await lookAt(metricsPort)) === 0);
  const restsMs = performance.now() - startedMs;
  const { cpuMs, rssBytes, peakRssBytes } = usageOf(pid);
  return {
    readyMs: rounded(readyMs, 0),
    leadsMs: rounded(leadsMs, 0),
    probeMs: rounded(probeMs, 0),
    caughtUpMs: rounded(caughtUpMs, 0),
    restsMs: rounded(restsMs, 0),
    cpuMs,
    rssMiB: rounded(rssBytes / mebibyte, 0),
    peakRssMiB: rounded(peakRssBytes / mebibyte, 0),
    requests: requestsIn(await metricsOf(metricsPort)),
  };
}

function leads(metrics: string): boolean {
  return /^leader_election_master_status\{[^}]*\} 1$/m.test(metrics);
}

async function metricsOf(port: number): Promise<string> {
  return (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
}

function requestsIn(metrics: string): number {
  const samples = metrics.matchAll(/^rest_client_requests_total\{[^}]*\} (\S+)$/gm);
  return Array.from(samples, ([, value = "0"]) => Number(value)).reduce((sum, each) => sum + each, 0);
}
