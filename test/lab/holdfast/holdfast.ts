// Holdfast in the lab: `holdfast node` in every node, `holdfast controller` on the machine, the shim among the plugins.
//
// Promised: a daemon lives in its node's namespaces and dies with it; all of them run with the accounts and the rights
// of deploy/, never as the administrator; logs are files of the lab's folder. Not promised: a daemon by itself after a
// node's return: whoever starts the node starts its daemon, as the node's DaemonSet would.
import { mkdirSync } from "node:fs";
import { join } from "node:path";

import type { Cluster } from "../cluster.ts";
import { attempt, type CommandResult } from "../command.ts";
import type { Component } from "../component.ts";
import type { LabNode } from "../node.ts";
import { insideOf, onTheMachine } from "../place.ts";
import { together, until } from "../wait.ts";
import { kubeconfigOf } from "./accounts.ts";
import { holdfastCommand } from "./launch.ts";
import { applyManifests } from "./manifests.ts";
import { givesAddresses, statusEveryMs } from "./request.ts";

export interface HoldfastOptions {
  /** Whether upstream is there too; the lab has none, so `off` by default: nothing waits for the detection. */
  /** Default 30, as in production. */
  readonly cooldownSeconds?: number;
  /** More arguments for a node's `holdfast node`. */
  readonly nodeArgs?: (node: LabNode) => readonly string[];
  readonly controllerArgs?: readonly string[];
  /** A daemon counts as started when it gives addresses of sliced networks: it does so without an API server. */
  readonly sliced?: boolean;
  /** Also install the shim under the name of the one it replaces. */
  readonly alsoAs?: string;
}

interface Finding {
  readonly code: string;
  readonly message: string;
}

const socket = "/run/holdfast/cni.sock";
const systemNamespace = "kube-system";

export async function runHoldfast(lab: Cluster, options: HoldfastOptions = {}): Promise<LabHoldfast> {
  await applyManifests(lab);
  const folder = join(lab.folder, "holdfast");
  mkdirSync(folder);
  const account = (name: string, server: Cluster["serverForNodes"]) =>
    kubeconfigOf(lab.rest, { namespace: systemNamespace, name, server, file: join(folder, `${name}.kubeconfig`) });
  const kubeconfigs = {
    node: await account("holdfast-node", lab.serverForNodes),
    controller: await account("holdfast-controller", lab.access),
  };
  const holdfast = new LabHoldfast(lab, folder, kubeconfigs, options);
  await holdfast.controller.start();
  await together(lab.nodes.map((node) => () => holdfast.begin(node)));
  return holdfast;
}

export class LabHoldfast {
  readonly controller: Component;
  readonly #lab: Cluster;
  readonly #nodeKubeconfig: string;
  readonly #options: HoldfastOptions;
  /** Key: node name. */
  readonly #daemons = new Map<string, Component>();

  constructor(
    lab: Cluster,
    folder: string,
    kubeconfigs: { readonly node: string; readonly controller: string },
    options: HoldfastOptions,
  ) {
    this.#lab = lab;
    this.#nodeKubeconfig = kubeconfigs.node;
    this.#options = options;
    const command = holdfastCommand(
      "controller",
      `--kubeconfig=${kubeconfigs.controller}`,
      `--system-namespace=${systemNamespace}`,
      "--metrics-port=0",
      ...(options.controllerArgs ?? []),
    );
    const logFile = join(folder, "controller.log");
    this.controller = lab.component({
      name: "holdfast controller",
      command,
      place: onTheMachine,
      logFile,
      isReady: async () => true,
    });
  }

  daemon(node: LabNode): Component {
    const found = this.#daemons.get(node.name);
    if (found === undefined) throw new Error(`no daemon was started on ${node.name}`);
    return found;
  }

  /**
   * Puts the shim in place, and starts the daemon: after the node's first start, and after every return of it. `name`
   * is what the cluster calls the node now; another one where somebody renamed it.
   */
  async begin(node: LabNode, name = node.name): Promise<void> {
    const { alsoAs, sliced = false } = this.#options;
    const slicing = sliced ? { node_slice_size: "/28" } : {};
    const also = alsoAs === undefined ? [] : [`--also-as=${alsoAs}`];
    await node.exec(holdfastCommand("cni", "install", "--bin-dir=/opt/cni/bin", "--name=holdfast", ...also));
    const daemon = this.#lab.component({
      name: `${node.name}/holdfast`,
      command: this.#nodeCommand(node, name),
      place: insideOf(node.pid),
      logFile: join(node.folder, "holdfast.log"),
      isReady: () => givesAddresses(join(`/proc/${node.pid}/root`, socket), slicing),
      everyMs: statusEveryMs,
    });
    this.#daemons.set(node.name, daemon);
    await daemon.start();
  }

  #nodeCommand(node: LabNode, name: string): string[] {
    const { cooldownSeconds, nodeArgs } = this.#options;
    return holdfastCommand(
      "node",
      `--node-name=${name}`,
      `--kubeconfig=${this.#nodeKubeconfig}`,
      `--socket=${socket}`,
      "--state=/var/lib/holdfast",
      `--system-namespace=${systemNamespace}`,
      ...(cooldownSeconds === undefined ? [] : [`--cooldown-seconds=${cooldownSeconds}`]),
      ...(nodeArgs?.(node) ?? []),
    );
  }

  /** A command of ours, as the administrator runs it. */
  command(...args: readonly string[]): Promise<CommandResult> {
    return attempt(holdfastCommand(...args, `--kubeconfig=${this.#lab.kubeconfig}`));
  }

  /** What `holdfast check` finds, as the administrator runs it; none when all fits together. */
  async findings(): Promise<Finding[]> {
    const { status, stdout, stderr } = await this.command("check", "--output=json");
    if (status !== 0 && status !== 1) throw new Error(`holdfast check ended with ${status}: ${stderr}`);
    return (JSON.parse(stdout) as { findings: Finding[] }).findings;
  }

  /** Waits until it finds nothing but the codes that are expected: the mirror is a moment behind. */
  async waitClean(...expected: readonly string[]): Promise<void> {
    await until(
      async () => {
        const left = (await this.findings()).filter(({ code }) => !expected.includes(code));
        if (left.length === 0) return true;
        throw new Error(left.map(({ code, message }) => `${code}: ${message}`).join("\n"));
      },
      { what: "`holdfast check` to find nothing", everyMs: 1000 },
    );
  }

  /** The last lines of every program of ours: what a failed test prints. */
  lastWords(lines = 30): string {
    return [this.controller, ...this.#daemons.values()]
      .map((each) => `--- ${each.plan.name} (${each.plan.logFile})\n${each.logTail(lines)}`)
      .join("\n");
  }
}
