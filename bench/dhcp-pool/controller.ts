// The controller as it is shipped, a process of its own on this machine, and what the kernel says of its memory.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { freePort } from "../../test/lab/port.ts";
import { until } from "../../test/lab/wait.ts";
import { shippedEnvironment, type ShippedProgram } from "../shipped-program.ts";
import { usageOf } from "../slices/usage.ts";
import { systemNamespace } from "./plan.ts";
import { shippedController } from "./shipped.ts";

export interface Memory {
  readonly rssMiB: number;
  readonly peakMiB: number;
}

/** After SIGTERM; then SIGKILL. */
const drainMs = 10_000;
/** At rest: it used less than a tenth of it of processor time; long enough to give back what V8 kept. */
const restMs = 8000;
const restLimitMs = 900_000;
/** Replaced below: another place, and no image to read from a pod. */
const placeArgs = ["--system-namespace", "--metrics-port"];

export interface ControllerPlace {
  readonly folder: string;
  readonly program: ShippedProgram;
  readonly kubeconfig: string;
  /** In place of the Deployment's NODE_OPTIONS. */
  readonly nodeOptions: string | undefined;
}

export class ControllerProcess implements AsyncDisposable {
  readonly metricsPort: number;
  readonly startedMs = performance.now();
  readonly #child: ChildProcess;
  readonly #log: string;

  private constructor({ folder, program, kubeconfig, nodeOptions }: ControllerPlace, metricsPort: number) {
    this.metricsPort = metricsPort;
    this.#log = join(folder, "controller.log");
    const { args, env } = shippedController();
    const kept = args.filter((arg) => !placeArgs.some((name) => arg.startsWith(`${name}=`)));
    const place = [`--system-namespace=${systemNamespace}`, `--metrics-port=${metricsPort}`];
    const self = [`--kubeconfig=${kubeconfig}`, "--agent-image=none"];
    const [node, ...words] = [...program, ...kept, ...place, ...self] as const;
    const log = openSync(this.#log, "a");
    this.#child = spawn(node, words, {
      stdio: ["ignore", log, log],
      env: shippedEnvironment({ ...env, ...(nodeOptions !== undefined && { NODE_OPTIONS: nodeOptions }) }),
    });
    closeSync(log);
  }

  /** Ready: it has listed everything. */
  static async start(place: ControllerPlace): Promise<ControllerProcess> {
    const controller = new ControllerProcess(place, await freePort());
    try {
      await controller.until("be ready", async () => {
        return (await fetch(`http://127.0.0.1:${controller.metricsPort}/readyz`)).ok;
      });
      return controller;
    } catch (error) {
      await controller[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Milliseconds from its start. */
  async until(what: string, isSo: () => Promise<boolean>): Promise<number> {
    const ask = async () => this.#hasEnded || (await isSo());
    await until(ask, { what: `the controller to ${what}`, everyMs: 50, timeoutMs: restLimitMs });
    if (this.#hasEnded)
      throw new Error(`the controller ended; its last words: ${readFileSync(this.#log, "utf8").slice(-1000)}`);
    return performance.now() - this.startedMs;
  }

  /** Until it has nothing to do: by its processor time, since a scrape would cost memory of its own. */
  async rest(): Promise<number> {
    return this.until("come to rest", async () => {
      const before = this.cpuMs;
      await sleep(restMs);
      return this.cpuMs - before < restMs / 10;
    });
  }

  get cpuMs(): number {
    return usageOf(this.#child.pid ?? 0).cpuMs;
  }

  memory(): Memory {
    const { rssBytes, peakRssBytes } = usageOf(this.#child.pid ?? 0);
    const mebibytes = (bytes: number) => Math.round(bytes / 2 ** 20);
    return { rssMiB: mebibytes(rssBytes), peakMiB: mebibytes(peakRssBytes) };
  }

  /** Bytes of the answer: what Prometheus reads, every half minute as a rule. */
  async scrape(): Promise<number> {
    const answer = await fetch(`http://127.0.0.1:${this.metricsPort}/metrics`);
    return (await answer.arrayBuffer()).byteLength;
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
