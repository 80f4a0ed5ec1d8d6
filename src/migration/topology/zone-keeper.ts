// Keeps one zone as it should be: switches, routers and rows of VMs, whoever has changed what they are made from or the
// rows themselves. It is the only writer of the topology of its zone.
//
// Promised: a row of ours that somebody changes or removes is put back. Not promised: what others write beside it stays
// as it is. Beside OVN-Kubernetes nothing is written.
import type { ReconcilerOptions } from "../../cluster/reconciler-options.ts";
import type { KubeObject } from "../../kube/meta.ts";
import { Controller } from "../../kube/queue/controller.ts";
import { featuresOf } from "../../ovn/zone/features.ts";
import { isOvsdbError } from "../../ovsdb/error.ts";
import type { NorthboundDatabase } from "../northbound/database.ts";
import type { NorthboundWriter } from "../northbound/northbound-writer.ts";
import type { TopologyMetrics } from "./metrics.ts";
import type { ZoneSource } from "./zone-source.ts";

export interface ZoneKeeperOptions extends Pick<
  ReconcilerOptions,
  "clock" | "log" | "nodes" | "events" | "kubeMetrics"
> {
  readonly zone: string;
  readonly source: ZoneSource;
  readonly database: Pick<NorthboundDatabase, "northbound" | "handle">;
  readonly writer: Pick<NorthboundWriter, "repair">;
  /** OVN-Kubernetes was looked for, and does not run. */
  readonly mayWrite: () => boolean;
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

export class ZoneKeeper {
  readonly #options: ZoneKeeperOptions;
  readonly #controller: Controller;
  /** Node -> why it is not in the zone, since when, and whether that was told. */
  readonly #left = new Map<string, { readonly why: string; readonly sinceMs: number; isTold: boolean }>();
  /** When the next look may begin. */
  #nextMs = Number.NEGATIVE_INFINITY;

  constructor(options: ZoneKeeperOptions) {
    this.#options = options;
    const { clock, log, kubeMetrics, mayWrite } = options;
    this.#controller = new Controller({
      name: "topology",
      clock,
      reconcile: async (_, { signal }) => (mayWrite() ? await this.#repair(signal) : { requeueAfterMs: restMs }),
      onError: (error, zone) => {
        if (isOvsdbError(error, "aborted")) return;
        log.warn("the OVN topology could not be brought up to date; it is tried again", { zone, error });
      },
      ...(kubeMetrics && { observer: kubeMetrics.controller("topology") }),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { source, database } = this.#options;
    const wake = () => this.#wake();
    const ends = [source.follow(wake), database.handle(wake)];
    signal.addEventListener("abort", () => ends.forEach((end) => end()), { once: true });
    wake();
    await this.#controller.run(signal);
  }

  #wake(): void {
    const { zone, clock } = this.#options;
    this.#controller.enqueueAfter(zone, Math.max(lookAfterMs, this.#nextMs - clock.monotonicMs()));
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
