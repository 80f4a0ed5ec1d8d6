// One real node: kubelet and containerd in namespaces of their own, with one pid as init. Killing it is a power cut.
//
// What is on the node's disk survives kill() and restart(); what was in its memory, its network and its /run does not.
import { readFileSync } from "node:fs";
import { join } from "node:path";

import type { KubeBinaries } from "../../tools/kube/build.ts";
import { makeCgroups, removeCgroup } from "./cgroup.ts";
import { type CommandOptions, run, script } from "./command.ts";
import { Component, ComponentError } from "./component.ts";
import type { LabImages } from "./images.ts";
import { bridgeAddress, joinNode, type LabNetwork, setCable } from "./network.ts";
import type { NodeFacts } from "./node-files.ts";
import { mountCommands } from "./node-mounts.ts";
import { asNewNode, insideOf, type Place } from "./place.ts";
import { type ProcessIdentity, sendSignal, withDescendants } from "./process.ts";
import type { Rest } from "./rest.ts";
import { answers } from "./socket.ts";
import type { StateFile } from "./state.ts";
import { until } from "./wait.ts";

export interface NodePlan extends NodeFacts {
  readonly folder: string;
  readonly binaries: KubeBinaries;
  readonly images: LabImages;
  readonly network: LabNetwork;
  readonly state: StateFile;
  readonly rest: Rest;
  readonly kubeconfig: string;
  /** Its control groups in every hierarchy. */
  readonly cgroups: readonly string[];
}

interface NodeObject {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

export class LabNode {
  readonly name: string;
  readonly index: number;
  readonly address: string;
  readonly folder: string;
  readonly #plan: NodePlan;
  readonly #init: Component;
  #containerd: Component | undefined;
  #kubelet: Component | undefined;
  #paused: ProcessIdentity[] = [];
  #imagesLoaded = false;

  constructor(plan: NodePlan) {
    this.#plan = plan;
    this.name = plan.name;
    this.index = plan.index;
    this.address = plan.address;
    this.folder = plan.folder;
    this.#init = this.#component("init", [plan.images.pause], asNewNode, async () => this.#hasBegun());
  }

  /** The pid of its init as the machine sees it: `nsenter --target PID --mount --pid --net --uts`. */
  get pid(): number {
    if (this.#init.pid === undefined || !this.#init.running) throw new Error(`${this.name} is not running`);
    return this.#init.pid;
  }

  get kubelet(): Component {
    if (this.#kubelet === undefined) throw new Error(`${this.name} was never started`);
    return this.#kubelet;
  }

  get containerd(): Component {
    if (this.#containerd === undefined) throw new Error(`${this.name} was never started`);
    return this.#containerd;
  }

  /** Resolves when kubelet runs; waitReady() says when the API server takes it for Ready. */
  async start(signal?: AbortSignal): Promise<void> {
    await this.#clearCgroups(signal);
    await this.#init.start(signal);
    const place = insideOf(this.pid);
    await joinNode(this.#plan.network, this.index, this.pid);
    await run(place.wrap(script([...mountCommands(this.folder), ...this.#networkCommands()])), { signal });

    const containerd = ["containerd", `--config=${join(this.folder, "containerd.toml")}`];
    const runSocket = join(`/proc/${this.pid}/root`, containerdSocket);
    this.#containerd = this.#component("containerd", containerd, place, () => answers(runSocket));
    await this.#containerd.start(signal);
    await this.#loadImages(signal);

    const podSocket = join(this.folder, kubeletSocket);
    this.#kubelet = this.#component("kubelet", this.#kubeletCommand(), place, () => answers(podSocket));
    await this.#startKubelet(this.#kubelet, signal);
  }

  /**
   * containerd listens before it has gone through the sandboxes on its disk, and kubelet ends where it meets it then.
   * On a machine of its own systemd starts it again.
   */
  async #startKubelet(kubelet: Component, signal: AbortSignal | undefined): Promise<void> {
    for (let round = 1; ; round++) {
      try {
        await kubelet.start(signal);
        return;
      } catch (error) {
        const early = error instanceof ComponentError && error.message.includes("server is not initialized");
        if (!early || round === kubeletTries) throw error;
      }
    }
  }

  /** Once: they are on the node's disk. */
  async #loadImages(signal: AbortSignal | undefined): Promise<void> {
    if (this.#imagesLoaded) return;
    await this.exec(["ctr", "--namespace=k8s.io", "images", "import", this.#plan.images.archive], { signal });
    this.#imagesLoaded = true;
  }

  /** After a power cut there are none; kubelet would wait 3 s for each that it takes for a container. */
  async #clearCgroups(signal: AbortSignal | undefined): Promise<void> {
    for (const folder of this.#plan.cgroups) {
      await until(async () => (removeCgroup(folder), true), { what: `${folder} to be empty`, everyMs: 10, signal });
    }
    makeCgroups(this.#plan.cgroups);
  }

  /** Before it becomes `pause`, the init still mounts its own /proc, and what is mounted below it would be hidden. */
  #hasBegun(): boolean {
    return readFileSync(`/proc/${this.pid}/comm`, "utf8").trim() === "pause";
  }

  #networkCommands(): string[][] {
    return [
      ["hostname", this.name],
      ["ip", "link", "set", "lo", "up"],
      ["ip", "addr", "add", `${this.address}/24`, "dev", "eth0"],
      ["ip", "link", "set", "eth0", "up"],
      ["ip", "route", "add", "default", "via", bridgeAddress],
      [
        "sysctl",
        "-eqw",
        "net.ipv4.ip_forward=1",
        "net.ipv4.conf.all.send_redirects=0",
        "net.bridge.bridge-nf-call-iptables=0",
      ],
    ];
  }

  #kubeletCommand(): string[] {
    const { binaries, kubeconfig } = this.#plan;
    return [
      binaries.path("kubelet"),
      `--config=${join(this.folder, "kubelet.json")}`,
      `--kubeconfig=${kubeconfig}`,
      `--hostname-override=${this.name}`,
      `--node-ip=${this.address}`,
    ];
  }

  #component(name: string, command: readonly string[], place: Place, isReady: () => Promise<boolean>): Component {
    const logFile = join(this.folder, `${name}.log`);
    return new Component({ name: `${this.name}/${name}`, command, place, logFile, isReady }, this.#plan.state);
  }

  /** Resolves when the API server says that this node is Ready, or, with `ready: false`, that it is not. */
  async waitReady(options: { ready?: boolean; timeoutMs?: number; signal?: AbortSignal } = {}): Promise<void> {
    const { ready = true, ...rest } = options;
    const what = `${this.name} to be ${ready ? "Ready" : "NotReady"}`;
    await until(async () => ((await this.#readyCondition()) === "True") === ready, { what, everyMs: 100, ...rest });
  }

  async #readyCondition(): Promise<string | undefined> {
    const { status } = await this.#plan.rest.get<NodeObject>(`/api/v1/nodes/${this.name}`);
    return status?.conditions?.find(({ type }) => type === "Ready")?.status;
  }

  /** Runs a command on the node, in all its namespaces. */
  exec(command: readonly string[], options: CommandOptions = {}): Promise<string> {
    return run(insideOf(this.pid).wrap(command), options);
  }

  /** What its kernel has in sandboxes: a line `@ NAMESPACE`, then `INTERFACE ADDRESS` for each but link-local ones. */
  sandboxAddresses(): Promise<string> {
    return this.exec([this.#plan.images.addresses]);
  }

  /** A power cut: everything on it ends at once. */
  async kill(): Promise<void> {
    await this.#init.kill();
    await Promise.all([this.#containerd?.kill(), this.#kubelet?.kill()]);
    this.#paused = [];
  }

  /** A power cut, then the same machine with the same disk again. */
  async restart(signal?: AbortSignal): Promise<void> {
    await this.kill();
    await this.start(signal);
  }

  /** Everything on it stands still, pods included, until resume(). */
  pause(): void {
    const roots = [this.pid, ...[this.#containerd, this.#kubelet].flatMap((each) => each?.pid ?? [])];
    // Whoever is stopped cannot fork; whoever forked in between is found in the next round.
    for (;;) {
      const known = new Set(this.#paused.map(({ pid }) => pid));
      const found = withDescendants(roots).filter(({ pid }) => !known.has(pid));
      if (found.length === 0) return;
      for (const process of found) sendSignal(process, "SIGSTOP");
      this.#paused.push(...found);
    }
  }

  resume(): void {
    for (const process of this.#paused) sendSignal(process, "SIGCONT");
    this.#paused = [];
    this.containerd.resume();
    this.kubelet.resume();
  }

  /** Its cable is pulled: everything on it runs on, and reaches nobody. */
  partition(): Promise<void> {
    return setCable(this.#plan.network, this.index, "down");
  }

  heal(): Promise<void> {
    return setCable(this.#plan.network, this.index, "up");
  }
}

/** A try takes a quarter of a second, and a hundred sandboxes take containerd less than two. */
const kubeletTries = 40;
const containerdSocket = "run/containerd/containerd.sock";
/** The last thing that kubelet opens when it starts, below what the node sees as /var/lib/kubelet. */
const kubeletSocket = "kubelet/pod-resources/kubelet.sock";
