// Ours: `holdfast node` as a process of its own, under its service account, and the native shim in front of it.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { writeKubeconfig } from "../../test/lab/credentials.ts";
import type { Access } from "../../test/lab/rest.ts";
import { until } from "../../test/lab/wait.ts";
import { root, systemNamespace } from "./lab.ts";

export interface ProcessPlan {
  /** Also names its files. */
  readonly name: string;
  readonly args: readonly string[];
  readonly folder: string;
}

/** After SIGTERM; then SIGKILL. */
const drainMs = 10_000;

/** One command of ./holdfast that runs until it is stopped. BENCH_CPU_PROF=folder leaves a profile of it there. */
export class HoldfastProcess implements AsyncDisposable {
  readonly plan: ProcessPlan;
  readonly logFile: string;
  readonly #child: ChildProcess;

  constructor(plan: ProcessPlan) {
    this.plan = plan;
    mkdirSync(plan.folder, { recursive: true });
    this.logFile = join(plan.folder, `${plan.name}.log`);
    const log = openSync(this.logFile, "a");
    const profile = process.env["BENCH_CPU_PROF"];
    const node = profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profile}`];
    const args = [...node, join(root, "bin", "holdfast.ts"), ...plan.args];
    this.#child = spawn(process.execPath, args, { stdio: ["ignore", log, log], cwd: root });
    closeSync(log);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Asks until it is ready, and not longer than it runs. */
  async ready(isReady: () => Promise<boolean>): Promise<void> {
    const { name } = this.plan;
    try {
      await until(async () => this.#hasEnded || (await isReady()), { what: `${name} to be ready`, everyMs: 20 });
    } catch (cause) {
      await this[Symbol.asyncDispose]();
      throw new Error(`${name} is not ready; its last words:\n${this.logTail()}`, { cause });
    }
    if (this.#hasEnded) throw new Error(`${name} ended at once; its last words:\n${this.logTail()}`);
  }

  /** Resolves when it has ended, of itself or because it was told to. */
  async ended(): Promise<void> {
    if (!this.#hasEnded) await once(this.#child, "exit");
  }

  logTail(lines = 15): string {
    return readFileSync(this.logFile, "utf8").trimEnd().split("\n").slice(-lines).join("\n");
  }

  get #hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#hasEnded) return;
    const gone = once(this.#child, "exit");
    this.#child.kill("SIGTERM");
    const limit = setTimeout(() => this.#child.kill("SIGKILL"), drainMs);
    await gone;
    clearTimeout(limit);
  }
}

export interface ServicePlan {
  readonly access: Access;
  readonly folder: string;
  readonly metricsPort: number;
}

export interface DaemonPlan extends ServicePlan {
  readonly node: string;
  readonly socket: string;
}

/** `state`: where it keeps what must survive it. */
export function startDaemon(plan: DaemonPlan): HoldfastProcess & { readonly state: string } {
  const { node, socket, folder } = plan;
  const state = join(folder, "state");
  const options = { "node-name": node, socket, state };
  const args = ["node", ...asArgs(options), ...serviceArgs(plan)];
  return Object.assign(new HoldfastProcess({ name: "node", args, folder }), { state });
}

export function startController(plan: ServicePlan): HoldfastProcess {
  return new HoldfastProcess({ name: "controller", args: ["controller", ...serviceArgs(plan)], folder: plan.folder });
}

function serviceArgs({ access, folder, metricsPort }: ServicePlan): string[] {
  mkdirSync(folder, { recursive: true });
  const kubeconfig = writeKubeconfig(join(folder, "kubeconfig"), access, systemNamespace);
  return asArgs({
    kubeconfig,
    "system-namespace": systemNamespace,
    "metrics-port": String(metricsPort),
    "log-level": "warn",
    "log-format": "text",
  });
}

function asArgs(options: Readonly<Record<string, string>>): string[] {
  return Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
}
