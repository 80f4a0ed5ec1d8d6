// The benchmark's cluster: KubeVirt's kinds, networks, nodes with the daemon's own code, the controller as a process.
import { join } from "node:path";

import { nodes as nodeKind } from "../../src/cluster/resources.ts";
import { install } from "../../test/claims/kubevirt/crds.ts";
import { until } from "../../test/lab/wait.ts";
import { type BenchLab, root } from "../cni/lab.ts";
import { eachAtOnce, makeNodes } from "../cni/population.ts";
import { Bill } from "../slices/bill.ts";
import { Hosts } from "../slices/hosts.ts";
import { KeptController } from "../slices/kept-controller.ts";
import { knowDefinitions } from "../slices/networks.ts";
import { claims, ClaimWatch } from "./claim-watch.ts";
import { Machine } from "./machine.ts";
import { define, networks, type VmNetwork } from "./networks.ts";
import { quiet } from "./quiet.ts";

export class ClaimStage implements AsyncDisposable {
  readonly lab: BenchLab;
  readonly nodes: readonly string[];
  readonly watch: ClaimWatch;
  readonly bill: Bill;
  readonly controller: KeptController;
  readonly #hosts: Hosts;
  readonly #stack: AsyncDisposableStack;

  private constructor(parts: {
    lab: BenchLab;
    nodes: readonly string[];
    watch: ClaimWatch;
    controller: KeptController;
    hosts: Hosts;
    stack: AsyncDisposableStack;
  }) {
    const { lab, nodes, watch, controller, hosts, stack } = parts;
    this.lab = lab;
    this.nodes = nodes;
    this.watch = watch;
    this.controller = controller;
    this.bill = new Bill(lab, controller, hosts);
    this.#hosts = hosts;
    this.#stack = stack;
  }

  static async set(lab: BenchLab, count: number): Promise<ClaimStage> {
    await using stack = new AsyncDisposableStack();
    await knowKinds(lab);
    for (const network of networks) await define(lab, network);
    const nodes = Array.from({ length: count }, (_, index) => `vms-${index}`);
    await makeNodes(lab, nodes);
    await eachAtOnce(nodes, (name) => ready(lab, name));
    const watch = stack.use(await ClaimWatch.start(lab));
    const controller = stack.use(await KeptController.start(lab, ClaimStage.controllerFolder(lab)));
    lab.log(`${count} daemons start`);
    const hosts = stack.use(await Hosts.start(lab, nodes));
    return new ClaimStage({ lab, nodes, watch, controller, hosts, stack: stack.move() });
  }

  static controllerFolder(lab: BenchLab): string {
    return join(lab.cluster.folder, "controller");
  }

  /** So many VMs that are not there yet. */
  machines(prefix: string, network: VmNetwork, count: number): Machine[] {
    const call = this.#hosts.call.bind(this.#hosts);
    return Array.from(
      { length: count },
      (_, index) => new Machine({ lab: this.lab, call, network, name: `${prefix}-${index}` }),
    );
  }

  async quiet(): Promise<void> {
    await quiet(() => this.controller.metricsPort);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack[Symbol.asyncDispose]();
  }
}

/** What a cluster with KubeVirt and Multus has before the controller starts, and the claims' kind. */
export async function knowKinds(lab: BenchLab): Promise<void> {
  await knowDefinitions(lab);
  await install(lab.admin);
  await lab.cluster.kubectl(["apply", "--server-side", "-f", join(root, "deploy", "ipamclaims")]);
  await until(async () => (await lab.admin.list(claims)).items.length === 0, {
    what: "the API server to serve ipamclaims",
  });
}

/** Without a kubelet nobody says it: a node that is not Ready counts as one that may still run what ended. */
async function ready(lab: BenchLab, name: string): Promise<void> {
  const body = { status: { conditions: [{ type: "Ready", status: "True" }] } };
  await lab.admin.patch(nodeKind, { name }, { type: "merge", body }, { subresource: "status" });
}
