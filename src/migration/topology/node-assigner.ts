// Tells Nodes their numbers and their subnets, as they are assigned: one process of a cluster does, under the lease.
// Beside OVN-Kubernetes nothing is told.
import type { ReconcilerOptions } from "../../cluster/reconciler-options.ts";
import { isApiError } from "../../kube/errors.ts";
import { Controller } from "../../kube/queue/controller.ts";
import { tellingsOf } from "./assignments.ts";
import type { ClusterNetwork } from "./cluster-network.ts";
import { factsText, readNodeFacts } from "./node-facts.ts";
import { tellNode } from "./node-writer.ts";
import type { SubnetPools } from "./subnet-pools.ts";

export interface NodeAssignerOptions extends Pick<
  ReconcilerOptions,
  "client" | "clock" | "log" | "nodes" | "kubeMetrics"
> {
  readonly pools: SubnetPools;
  readonly network: ClusterNetwork;
  /** OVN-Kubernetes was looked for, and does not run. */
  readonly mayWrite: () => boolean;
}

/** Changes of one moment are one look. */
const lookAfterMs = 50;
/** Asked again while nothing may be written, or pools have not been listed. */
const restMs = 1000;
/** What no event tells: a patch that lost against another writer's is tried again. */
const againMs = 200;
/** Every node is looked at together: no two may have one number. */
const everyNode = "nodes";

export class NodeAssigner {
  readonly #options: NodeAssignerOptions;
  readonly #controller: Controller;

  constructor(options: NodeAssignerOptions) {
    this.#options = options;
    const { clock, log, kubeMetrics } = options;
    this.#controller = new Controller({
      name: "node-subnets",
      clock,
      reconcile: (_, { signal }) => this.#assign(signal),
      onError: (error) => {
        if (!isApiError(error, "conflict"))
          log.warn("nodes could not be told their numbers and subnets; it is tried again", { error });
      },
      ...(kubeMetrics && { observer: kubeMetrics.controller("node-subnets") }),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { nodes, pools } = this.#options;
    const wake = () => this.#controller.enqueueAfter(everyNode, lookAfterMs);
    const ends = [
      nodes.handle((event) => {
        if (event.type !== "update" || factsText(event.previous) !== factsText(event.object)) wake();
      }),
      pools.handle(wake),
    ];
    signal.addEventListener("abort", () => ends.forEach((end) => end()), { once: true });
    wake();
    await this.#controller.run(signal);
  }

  async #assign(signal: AbortSignal): Promise<{ requeueAfterMs: number } | undefined> {
    const { client, nodes, pools, network, log, mayWrite } = this.#options;
    const assigned = pools.list();
    if (assigned === undefined || !mayWrite()) return { requeueAfterMs: restMs };
    const facts = [...nodes.cache.list()].map(readNodeFacts);
    let isWhole = true;
    for (const { subnets, ...telling } of tellingsOf(facts, assigned, network)) {
      const node = nodes.cache.get(telling.node);
      const told = { ...telling, ...(subnets && { subnets }) };
      if (node === undefined || !(await tellNode(client, node, told, signal))) isWhole = false;
      else log.info("told a node what it has of the default network", { ...telling, subnets: subnets?.map(String) });
    }
    return isWhole ? undefined : { requeueAfterMs: againMs };
  }
}
