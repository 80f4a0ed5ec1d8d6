// Kubernetes client: creates/s, p50/p99 at 16 writers, informer sync time and memory, against @kubernetes/client-node
//
//   npm run bench -- kube-client [--objects 50000] [--creates 1000] [--writers 16] [--rounds 5]
//
// Each measurement is a process of its own, ours and the peer's in turn, so that neither pays for the other. Creates
// are the median of the rounds; the ratio is the median of each round's own, because a neighbour takes the machine from
// both. Both run with a young generation of 4 MB: V8 grows it to 128 MB while a list is read and never gives it back,
// which would hide the clients' need. The memory that counts is a process' peak: a container's limit must allow for it.
import { spawnSync } from "node:child_process";
import { parseArgs } from "node:util";

import type { CreateFigures, InformerFigures } from "./kube-client/workload.ts";

const { values } = parseArgs({
  options: {
    objects: { type: "string", default: "50000" },
    creates: { type: "string", default: "1000" },
    writers: { type: "string", default: "16" },
    rounds: { type: "string", default: "5" },
    child: { type: "string" },
    measure: { type: "string" },
  },
});
const objects = Number(values.objects);
const creates = Number(values.creates);
const writers = Number(values.writers);
const log = (line: string) => console.error(`kube-client: ${line}`);

if (values.child === undefined) await onCluster(orchestrate);
else await measure(values.child, values.measure ?? "");

/** On the cluster that KUBECONFIG names, else on its own control plane: etcd and the real kube-apiserver. */
async function onCluster(run: () => Promise<void>): Promise<void> {
  if (process.env["KUBECONFIG"] !== undefined) return run();
  const { cluster } = await import("../test/lab/start.ts");
  await using lab = await cluster({ log });
  process.env["KUBECONFIG"] = lab.kubeconfig;
  await run();
}

async function orchestrate(): Promise<void> {
  const { clearCreates, prepare } = await import("./kube-client/cluster.ts");
  await prepare(objects, log);
  const rounds: { ours: CreateFigures; peer: CreateFigures }[] = [];
  for (let round = 0; round < Number(values.rounds); round++) {
    const ours = inChild("ours", "creates") as CreateFigures;
    const peer = inChild("peer", "creates") as CreateFigures;
    rounds.push({ ours, peer });
    log(`round ${round + 1}: ours ${ours.perSecond.toFixed(0)}/s, peer ${peer.perSecond.toFixed(0)}/s`);
    await clearCreates();
  }
  const ours = median(rounds.map((round) => round.ours));
  const peer = median(rounds.map((round) => round.peer));
  const informer = {
    ours: inChild("ours", "informer") as InformerFigures,
    peer: inChild("peer", "informer") as InformerFigures,
  };
  const ratios = rounds.map((round) => round.ours.perSecond / round.peer.perSecond).sort((a, b) => a - b);
  report(ours, peer, informer, ratios[Math.floor(ratios.length / 2)]!);
}

function row(what: string, a: number, b: number): void {
  const cells = [a.toFixed(2).padStart(10), b.toFixed(2).padStart(10), (a / b).toFixed(2).padStart(8)];
  console.log(`${what.padEnd(34)} ${cells.join(" ")}`);
}

function report(
  ours: CreateFigures,
  peer: CreateFigures,
  informer: { ours: InformerFigures; peer: InformerFigures },
  ratio: number,
): void {
  console.log(`${"".padEnd(34)} ${"ours".padStart(10)} ${"peer".padStart(10)} ${"ratio".padStart(8)}`);
  row(`creates/s, ${writers} writers`, ours.perSecond, peer.perSecond);
  row("create p50, ms", ours.p50Ms, peer.p50Ms);
  row("create p99, ms", ours.p99Ms, peer.p99Ms);
  row("client CPU per create, ms", ours.cpuMs, peer.cpuMs);
  row("RSS while creating, MB", ours.rssMb, peer.rssMb);
  row(`sync of ${objects} objects, ms`, informer.ours.syncMs, informer.peer.syncMs);
  row("RSS when synced, MB", informer.ours.rssMb, informer.peer.rssMb);
  row("RSS at most, MB", informer.ours.peakRssMb, informer.peer.peakRssMb);
  row("heap when synced, MB", informer.ours.heapMb, informer.peer.heapMb);
  const line = {
    bench: "kube-client",
    ours: rounded(ours.perSecond),
    peer: rounded(peer.perSecond),
    ratio: rounded(ratio),
    unit: "creates/s",
    writers,
    creates,
    p50Ms: { ours: rounded(ours.p50Ms), peer: rounded(peer.p50Ms) },
    p99Ms: { ours: rounded(ours.p99Ms), peer: rounded(peer.p99Ms) },
    cpuMs: { ours: rounded(ours.cpuMs), peer: rounded(peer.cpuMs) },
    memoryRatio: rounded(informer.ours.peakRssMb / informer.peer.peakRssMb),
    informer: { objects, ours: roundedAll(informer.ours), peer: roundedAll(informer.peer) },
  };
  console.log(JSON.stringify(line));
}

function inChild(child: string, measured: string): unknown {
  const args = [
    "--expose-gc",
    "--max-semi-space-size=4",
    import.meta.filename,
    "--child",
    child,
    "--measure",
    measured,
  ];
  const sizes = ["--objects", values.objects, "--creates", values.creates, "--writers", values.writers];
  const run = spawnSync(process.execPath, [...args, ...sizes], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  if (run.status !== 0)
    throw new Error(`The ${child} process that measures ${measured} ended with ${run.status ?? run.signal}.`);
  return JSON.parse(run.stdout);
}

async function measure(child: string, measured: string): Promise<void> {
  const { measureCreates, measureInformer } = await import("./kube-client/workload.ts");
  const contestant =
    child === "ours"
      ? await (await import("./kube-client/ours.ts")).ours()
      : await (await import("./kube-client/peer.ts")).peer();
  const figures =
    measured === "creates"
      ? await measureCreates(contestant, creates, writers)
      : await measureInformer(contestant, objects);
  console.log(JSON.stringify(figures));
  await contestant.close();
  process.exit(0); // the peer leaves its watch open for a while
}

function median(figures: readonly CreateFigures[]): CreateFigures {
  return [...figures].sort((a, b) => a.perSecond - b.perSecond)[Math.floor(figures.length / 2)]!;
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}

function roundedAll(figures: InformerFigures): Record<string, number> {
  return Object.fromEntries(Object.entries(figures).map(([key, value]) => [key, rounded(value as number)]));
}
