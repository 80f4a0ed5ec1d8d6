// One term of the topology's only writer: nodes get their numbers and subnets, and each zone's switches, routers and
// rows of VMs are what they should be, whoever has changed what they are made from or the rows themselves.
//
// Promised: a row of ours that somebody changes or removes is put back. Not promised: what others write beside it stays
// as it is. Beside OVN-Kubernetes nothing is written, no row and no annotation.
import type { ReconcilerOptions } from "../../cluster/reconciler-options.ts";
import { isApiError } from "../../kube/errors.ts";
import type { KubeObject } from "../../kube/meta.ts";
import { Controller } from "../../kube/queue/controller.ts";
import { featuresOf } from "../../ovn/zone/features.ts";
import { isOvsdbError } from "../../ovsdb/error.ts";
import type { NorthboundDatabase } from "../northbound/database.ts";
import type { NorthboundWriter } from "../northbound/northbound-writer.ts";
import { tellingsOf } from "./assignments.ts";
import type { ClusterNetwork } from "./cluster-network.ts";
import type { TopologyMetrics } from "./metrics.ts";
import { tellNode } from "./node-writer.ts";
import type { SubnetPools } from "./subnet-pools.ts";
import type { ZoneSource } from "./zone-source.ts";

export interface TopologyOptions extends Pick<
  ReconcilerOptions,
  "client" | "clock" | "log" | "nodes" | "events" | "kubeMetrics"
> {
  readonly zone: string;
  readonly source: ZoneSource;
  readonly pools: SubnetPools;
  readonly network: ClusterNetwork;
  readonly database: Pick<NorthboundDatabase, "northbound" | "handle">;
  readonly writer: Pick<NorthboundWriter, "repair">;
  /** OVN-Kubernetes was looked for, and does not run. */
  readonly mayWrite: () => boolean;
  /** One process of a cluster tells nodes their numbers and subnets. Default: this one. */
  readonly assigns?: boolean;
  readonly metrics?: TopologyMetrics;
}

/** Changes of one moment are one look. */
const lookAfterMs = 50;
/** A look at a zone with 1,000 VMs takes some 130 ms, in which nothing is written: a tenth of the time at most. */
const lookEveryMs = 1000;
const restFactor = 10;
const longestRestMs = 30_000;
/** Asked again while nothing may be written. */
const restMs = 1000;
/** A node that joins is told its number and its subnets first: what does not last is not told. */
const patienceMs = 3000;
/** What no event tells: a patch that lost against another writer's is tried again. */
const againMs = 200;

const assignKey = "nodes";

export class TopologyTerm {
  readonly #options: TopologyOptions;
  readonly #controller: Controller;
  /** Node -> why it is not in the zone, since when, and whether that was told. */
  readonly #left = new Map<string, { readonly why: string; readonly sinceMs: number; isTold: boolean }>();
  /** When the next look may begin. */
  #nextMs = Number.NEGATIVE_INFINITY;

  constructor(options: TopologyOptions) {
    this.#options = options;
    const { clock, log, kubeMetrics, mayWrite } = options;
    this.#controller = new Controller({
      name: "topology",
      concurrency: 2,
      clock,
      reconcile: async (key, { signal }) => {
        if (!mayWrite()) return { requeueAfterMs: restMs };
        return key === assignKey ? await this.#assign(signal) : await this.#repair(signal);
      },
      onError: (error) => {
        if (isApiError(error, "conflict") || isOvsdbError(error, "aborted")) return;
        log.warn("the OVN topology could not be brought up to date; it is tried again", { error });
      },
      ...(kubeMetrics && { observer: kubeMetrics.controller("topology") }),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { source, pools, database, assigns = true } = this.#options;
    const assign = () => assigns && this.#controller.enqueueAfter(assignKey, lookAfterMs);
    const ends = [
      source.follow((what) => {
        if (what === "nodes") assign();
        this.wake();
      }),
      pools.handle(() => void assign()),
      database.handle(() => this.wake()),
    ];
    signal.addEventListener("abort", () => ends.forEach((end) => end()), { once: true });
    assign();
    this.wake();
    await this.#controller.run(signal);
  }

  /** The zone is looked at, soon. */
  wake(): void {
    const { zone, clock } = this.#options;
    this.#controller.enqueueAfter(`zone ${zone}`, Math.max(lookAfterMs, this.#nextMs - clock.monotonicMs()));
  }

  async #assign(signal: AbortSignal): Promise<{ requeueAfterMs: number } | undefined> {
    const { client, nodes, source, pools, network, log } = this.#options;
    const assigned = pools.list();
    if (assigned === undefined) return { requeueAfterMs: restMs };
    let isWhole = true;
    for (const telling of tellingsOf(source.facts, assigned, network)) {
      const node = nodes.cache.get(telling.node);
      if (node === undefined || !(await tellNode(client, node, telling, signal))) isWhole = false;
      else
        log.info("told a node what it has of the default network", {
          ...telling,
          subnets: telling.subnets?.map(String),
        });
    }
    return isWhole ? undefined : { requeueAfterMs: againMs };
  }

  async #repair(signal: AbortSignal): Promise<{ requeueAfterMs: number } | undefined> {
    const { writer, zone, source, database, clock, log, metrics } = this.#options;
    const beganMs = clock.monotonicMs();
    this.#nextMs = beganMs + lookEveryMs;
    const applied = await writer.repair(zone, signal);
    const endedMs = clock.monotonicMs();
    this.#nextMs = endedMs + Math.min(longestRestMs, Math.max(lookEveryMs, restFactor * (endedMs - beganMs)));
    // The zone was not swept yet; that begins without us.
    if (applied === undefined) return { requeueAfterMs: restMs };
    const { version } = database.northbound;
    const { zone: found, left } = source.of(featuresOf(version));
    metrics?.version(version);
    metrics?.nodes(found.nodes.length, left.size);
    const isWaiting = this.#tell(left);
    if (applied.transactions > 0) {
      metrics?.rows(applied);
      const { inserted, updated, deleted, conflicts } = applied;
      log.info("set the zone's northbound rows right", { zone, inserted, updated, deleted });
      if (conflicts.length > 0) log.warn("rows that two nodes or VMs have in common", { zone, conflicts });
    }
    return isWaiting ? { requeueAfterMs: patienceMs } : undefined;
  }

  /** True: there is something to tell that may pass. */
  #tell(left: ReadonlyMap<string, string>): boolean {
    const nowMs = this.#options.clock.monotonicMs();
    for (const name of this.#left.keys()) if (!left.has(name)) this.#left.delete(name);
    for (const [name, why] of left) {
      const known = this.#left.get(name);
      if (known?.why !== why) this.#left.set(name, { why, sinceMs: nowMs, isTold: false });
      else if (!known.isTold && nowMs - known.sinceMs >= patienceMs) {
        known.isTold = true;
        this.#tellOf(name, why);
      }
    }
    return [...this.#left.values()].some(({ isTold }) => !isTold);
  }

  #tellOf(name: string, why: string): void {
    const { events, log, nodes } = this.#options;
    log.warn(why, { node: name });
    const { uid } = nodes.cache.get(name)?.metadata ?? {};
    const about: KubeObject = { apiVersion: "v1", kind: "Node", metadata: { name, ...(uid !== undefined && { uid }) } };
    events?.record(about, "Warning", "NotInTopology", why);
  }
}
