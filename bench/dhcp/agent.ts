// The agent as the controller's Deployment starts it, a process of its own on an interface of a namespace; and what the
// kernel says of its memory.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { agentDeployment } from "../../src/vmnet/agents/deployment.ts";
import { freePort } from "../../test/lab/port.ts";
import { until } from "../../test/lab/wait.ts";
import { network, poolKey, poolSpec, systemNamespace } from "../dhcp-pool/plan.ts";
import { shippedEnvironment, type ShippedProgram } from "../shipped-program.ts";
import { type Usage, usageOf } from "../slices/usage.ts";

/** At rest: it used less than a twentieth of it of processor time; long enough to give back what V8 kept. */
const restMs = 8000;
const limitMs = 300_000;

interface Variable {
  readonly name: string;
  readonly value?: string;
}

/** What the Deployment sets to a value; the pod's name is the cluster's to give. */
function deployedEnvironment(): Readonly<Record<string, string>> {
  const [namespace = "", name = ""] = poolKey.split("/");
  const pool = { apiVersion: "", kind: "", metadata: { namespace, name }, spec: poolSpec };
  const plan = { pool, network, placement: { tolerations: [], nodeCount: 1 } };
  const { containers } = agentDeployment(plan, { systemNamespace, image: "none", replicas: 2 }).spec.template.spec;
  const set = (containers[0]!["env"] as readonly Variable[]).flatMap(({ name: key, value }) =>
    value === undefined ? [] : [[key, value] as const],
  );
  return Object.fromEntries(set);
}

export interface AgentPlace {
  readonly name: string;
  readonly netns: string;
  readonly folder: string;
  readonly program: ShippedProgram;
  readonly kubeconfig: string;
  /** In place of the Deployment's NODE_OPTIONS. */
  readonly nodeOptions: string | undefined;
}

export class AgentProcess implements AsyncDisposable {
  readonly name: string;
  readonly #port: number;
  readonly #child: ChildProcess;
  #printed = "";
  /** By performance.now; undefined: not yet. */
  heldAtMs: number | undefined;

  private constructor({ name, netns, folder, program, kubeconfig, nodeOptions }: AgentPlace, port: number) {
    this.name = name;
    this.#port = port;
    const where = [`--pool=${poolKey}=eth0`, `--netns=${netns}`, `--state=${join(folder, `state-${name}`)}`];
    const health = [`--metrics-port=${port}`, "--metrics-host=127.0.0.1", "--log-format=json"];
    const self = [`--kubeconfig=${kubeconfig}`, `--agent-name=${name}`, `--system-namespace=${systemNamespace}`];
    const [node, ...words] = [...program, "agent", ...where, ...health, ...self] as const;
    const env = { ...deployedEnvironment(), ...(nodeOptions !== undefined && { NODE_OPTIONS: nodeOptions }) };
    this.#child = spawn(node, words, { stdio: ["ignore", "ignore", "pipe"], env: shippedEnvironment(env) });
    this.#child.stderr?.on("data", (text) => {
      this.#printed = (this.#printed + String(text)).slice(-20_000);
      if (this.#printed.includes('"answering at the server')) this.heldAtMs ??= performance.now();
    });
  }

  /** Ready: it has listed everything. */
  static async start(place: AgentPlace): Promise<AgentProcess> {
    const agent = new AgentProcess(place, await freePort());
    try {
      await agent.until("be ready", async () => (await fetch(`${agent.#url}/readyz`)).ok);
      return agent;
    } catch (error) {
      await agent[Symbol.asyncDispose]();
      throw error;
    }
  }

  get #url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async until(what: string, isSo: () => Promise<boolean>): Promise<void> {
    const ask = async () => {
      if (this.#hasEnded) throw new Error(`agent ${this.name} ended: ${this.#printed.slice(-1000)}`);
      return isSo().catch(() => false);
    };
    await until(ask, { what: `agent ${this.name} to ${what}`, everyMs: 10, timeoutMs: limitMs });
  }

  async holds(): Promise<void> {
    await this.until("answer at the server's address", async () => this.heldAtMs !== undefined);
  }

  /** Until it has nothing to do. */
  async rest(): Promise<Usage> {
    await this.until("come to rest", async () => {
      const before = usageOf(this.#child.pid ?? 0).cpuMs;
      await sleep(restMs);
      return usageOf(this.#child.pid ?? 0).cpuMs - before < restMs / 20;
    });
    return usageOf(this.#child.pid ?? 0);
  }

  async kill(): Promise<void> {
    await this.#end("SIGKILL");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end("SIGTERM");
  }

  get #hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    if (this.#hasEnded) return;
    const gone = once(this.#child, "exit");
    this.#child.kill(signal);
    const killer = setTimeout(() => this.#child.kill("SIGKILL"), 15_000);
    await gone;
    clearTimeout(killer);
  }
}
