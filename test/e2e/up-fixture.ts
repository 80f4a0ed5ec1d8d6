// Starts `holdfast up` as a person does, on a folder of its own, and everything that one uses beside it.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { ensureKubeBinaries } from "../../tools/kube/build.ts";
import { ensureShim } from "../../tools/shim/ensure.ts";
import { Running } from "../shim/invoke.ts";

const launcher = join(import.meta.dirname, "..", "..", "holdfast");

export interface Run {
  readonly child: ChildProcess;
  /** Resolves with all that was printed once a line contains the text, or when the process ends. */
  until(text: string): Promise<string>;
  readonly ended: Promise<number | null>;
}

export class UpFixture {
  readonly data = join(mkdtempSync(join(tmpdir(), "holdfast-up-")), "state");
  readonly kubeconfig = join(this.data, "kubeconfig");
  readonly #running = new Set<ChildProcess>();

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#running) await this.stop(child, "SIGKILL");
    rmSync(join(this.data, ".."), { recursive: true, force: true });
  }

  up(...args: string[]): Run {
    return this.#start("up", "--data", this.data, ...args);
  }

  /** A command that talks to the API of `up`: its exit code and all that it printed. */
  async holdfast(...args: string[]): Promise<{ code: number | null; printed: string }> {
    const run = this.#start(...args, "--kubeconfig", this.kubeconfig);
    const code = await run.ended;
    return { code, printed: await run.until("") };
  }

  /** A command that finds `up` by its folder. */
  async here(...args: string[]): Promise<{ code: number | null; printed: string }> {
    const run = this.#start(...args, "--data", this.data);
    return { code: await run.ended, printed: await run.until("") };
  }

  #start(...args: string[]): Run {
    return this.run(process.env, ...args);
  }

  /** Any command, in an environment of its own. */
  run(env: NodeJS.ProcessEnv, ...args: string[]): Run {
    const child = spawn(launcher, args, { stdio: ["ignore", "pipe", "pipe"], env });
    this.#running.add(child);
    let printed = "";
    const listeners = new Set<() => void>();
    const hear = (chunk: Buffer) => {
      printed += chunk.toString();
      for (const listener of listeners) listener();
    };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    const ended = new Promise<number | null>((resolve) => child.once("close", (code) => resolve(code)));
    const until = (text: string) =>
      new Promise<string>((resolve) => {
        const check = () => printed.includes(text) && resolve(printed);
        listeners.add(check);
        void ended.then(() => resolve(printed));
        check();
      });
    return { child, until, ended };
  }

  async stop(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
    this.#running.delete(child);
    if (child.exitCode !== null || child.signalCode !== null) return;
    const closed = new Promise((resolve) => child.once("close", resolve));
    child.kill(signal);
    await closed;
  }

  async kubectl(...args: string[]): Promise<string> {
    return this.kubectlWith("", ...args);
  }

  async kubectlWith(input: string, ...args: string[]): Promise<string> {
    const binaries = await ensureKubeBinaries({ only: ["kubectl"] });
    const env = { ...process.env, KUBECONFIG: this.kubeconfig, HOME: this.data };
    return execFileSync(binaries.path("kubectl"), args, { encoding: "utf8", env, input });
  }

  /** The plugin, asked for a pod of namespace example on network blue. */
  async cni(command: string, pod: string, containerId: string): Promise<{ status: number | null; answer: string }> {
    const { path } = await ensureShim({ native: false });
    const env = {
      CNI_COMMAND: command,
      CNI_CONTAINERID: containerId,
      CNI_IFNAME: "eth0",
      CNI_ARGS: `IgnoreUnknown=1;K8S_POD_NAME=${pod};K8S_POD_NAMESPACE=example`,
      CNI_NETNS: "/proc/self/ns/net",
      CNI_PATH: "/opt/cni/bin",
      HOLDFAST_SOCKET: join(this.data, "cni.sock"),
    };
    const ipam = { type: "holdfast", range: "10.77.0.0/24", gateway: "10.77.0.1" };
    const network = { cniVersion: "1.0.0", name: "blue", type: "bridge", ipam };
    const { status, stdout } = await new Running(path, { env, stdin: JSON.stringify(network) }).ended;
    return { status, answer: stdout.toString() };
  }
}
