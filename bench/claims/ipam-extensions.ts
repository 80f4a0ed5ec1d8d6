// The peer that makes claims for KubeVirt today: kubevirt/ipam-extensions, a binary given by its path, run for real on
// an API server of its own with the same VMs at the same pace. It only makes claims; addresses are OVN-Kubernetes'
// work, which cannot be installed here. So the time from the request for a VM until its claim is there is compared.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { makeAuthority, makeServerCertificate } from "../../src/kube/admission/certificate.ts";
import { freePort } from "../../test/lab/port.ts";
import { until } from "../../test/lab/wait.ts";
import { type Absent, whyNotExecutable } from "../cni/contestant.ts";
import { type Figures, figuresOf } from "../cni/figures.ts";
import { BenchLab } from "../cni/lab.ts";
import { runLoad } from "../cni/load.ts";
import { ClaimWatch } from "./claim-watch.ts";
import { Machine } from "./machine.ts";
import { define, persistent } from "./networks.ts";
import { knowKinds } from "./stage.ts";

const name = "ipam-extensions";
const variable = "PEER_IPAM_EXTENSIONS";
const hourMs = 3_600_000;
const limitMs = 600_000;

export interface PeerPlan {
  readonly vms: number;
  readonly atOnce: number;
  readonly fsync: boolean;
  readonly log: (line: string) => void;
}

export interface PeerResult {
  /** From the request for the VM until a bystander sees its claim. */
  readonly claim: Figures;
}

export async function ipamExtensions({ vms, atOnce, fsync, log }: PeerPlan): Promise<PeerResult | Absent> {
  const file = process.env[variable];
  if (file === undefined || file === "") {
    return { name, reason: `${variable} is not set: give it the path of the manager's binary to run it beside ours` };
  }
  const reason = whyNotExecutable(file);
  if (reason !== undefined) return { name, reason: `${variable}: ${reason}` };
  log(`${name}: ${vms} VMs, ${atOnce} at once`);
  await using lab = await BenchLab.start({ fsync, log });
  await knowKinds(lab);
  await define(lab, persistent);
  await using watch = await ClaimWatch.start(lab);
  await using _ = await startManager(lab, file);
  return { claim: await claimTimes(lab, watch, vms, atOnce) };
}

/** VM and VMI of each, as in the first start of ours; no pod, since no address would come. */
async function claimTimes(lab: BenchLab, watch: ClaimWatch, vms: number, atOnce: number): Promise<Figures> {
  const call = () => Promise.reject(new Error("nothing is attached here"));
  const machines = Array.from(
    { length: vms },
    (__, index) => new Machine({ lab, call, network: persistent, name: `peer-${index}` }),
  );
  const tookMs: number[] = [];
  const one = async (index: number) => {
    const machine = machines[index]!;
    await machine.create();
    await machine.createInstance();
    const ms = (await watch.come(machine.claimName)) - machine.createdMs;
    tookMs.push(ms);
    return { tookMs: ms, addresses: [] };
  };
  const { wallMs } = await runLoad({ count: vms, atOnce, limitMs, call: one });
  return figuresOf(tookMs, wallMs);
}

/** Its webhook's server must have a certificate; nobody calls it here. */
async function startManager(lab: BenchLab, file: string): Promise<AsyncDisposable> {
  const folder = join(lab.cluster.folder, name);
  mkdirSync(folder);
  const now = Date.now();
  const validity = { notBeforeMs: now - hourMs, notAfterMs: now + 24 * hourMs };
  const pair = makeServerCertificate(makeAuthority(name, validity), ["localhost"], validity);
  writeFileSync(join(folder, "tls.crt"), pair.cert);
  writeFileSync(join(folder, "tls.key"), pair.key, { mode: 0o600 });
  const port = await freePort();
  const args = [
    `--kubeconfig=${lab.cluster.kubeconfig}`,
    `--certificates-dir=${folder}`,
    `--health-probe-bind-address=127.0.0.1:${port}`,
  ];
  const logFile = join(folder, "manager.log");
  const output = openSync(logFile, "a");
  const child = spawn(file, args, { stdio: ["ignore", output, output] });
  closeSync(output);
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  const end = async () => {
    if (hasEnded()) return;
    const gone = once(child, "exit");
    child.kill("SIGTERM");
    await gone;
  };
  try {
    const isReady = async () => hasEnded() || (await fetch(`http://127.0.0.1:${port}/readyz`)).ok;
    await until(isReady, { what: `${name} to be ready` });
    if (hasEnded()) throw new Error(`${name} ended at once: ${readFileSync(logFile, "utf8").slice(-1000)}`);
    return { [Symbol.asyncDispose]: end };
  } catch (error) {
    await end();
    throw error;
  }
}
