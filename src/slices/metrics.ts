// What the leader measures of sliced ranges, for Prometheus.
import { Counter, Gauge, type Registry } from "prom-client";

import type { SlicePlan } from "./plan/facts.ts";
import type { Target } from "./target.ts";

const poolLabels = ["namespace", "pool", "network"] as const;
type PoolGauge = Gauge<(typeof poolLabels)[number]>;

export class SliceMetrics {
  readonly #total: PoolGauge;
  readonly #assigned: PoolGauge;
  readonly #free: PoolGauge;
  readonly #waiting: PoolGauge;
  readonly #borrowed: PoolGauge;
  readonly #draining: PoolGauge;
  readonly #exhausted: PoolGauge;
  readonly #errors: Counter<"what">;

  constructor(registry: Registry) {
    const registers = [registry];
    const ofPool = (name: string, help: string) => new Gauge({ name, help, labelNames: [...poolLabels], registers });
    this.#total = ofPool("holdfast_slices_total", "Slices that the range has room for.");
    this.#assigned = ofPool("holdfast_slices_assigned", "Slices of which a node has at least a part.");
    this.#free = ofPool("holdfast_slices_free", "Slices that no node has.");
    this.#waiting = ofPool("holdfast_slice_nodes_waiting", "Nodes that have no slice of the range.");
    this.#borrowed = ofPool("holdfast_slice_pieces_borrowed", "Pieces of slices that other nodes gave up.");
    this.#draining = ofPool("holdfast_slices_draining", "Slices that are drained or returned.");
    this.#exhausted = ofPool("holdfast_slices_exhausted", "1 while a node needs addresses and none are to be had.");
    this.#errors = new Counter({
      name: "holdfast_slice_reconcile_errors_total",
      help: "Looks at pools, leases of nodes and the state that failed and are tried again.",
      labelNames: ["what"],
      registers,
    });
  }

  /** Gauges are numbers: an IPv6 range is told to 53 bits. Undefined: the pool is gone. */
  readonly pool = (target: Target, plan: SlicePlan | undefined): void => {
    const labels = { namespace: target.namespace, pool: target.name, network: target.network };
    const gauges = [
      this.#total,
      this.#assigned,
      this.#free,
      this.#waiting,
      this.#borrowed,
      this.#draining,
      this.#exhausted,
    ];
    if (plan === undefined) {
      for (const gauge of gauges) gauge.remove(labels);
      return;
    }
    this.#total.set(labels, Number(plan.totals.total));
    this.#assigned.set(labels, Number(plan.totals.assigned));
    this.#free.set(labels, Number(plan.totals.free));
    this.#waiting.set(labels, plan.waiting.size);
    this.#borrowed.set(labels, plan.grants.filter(({ block }) => block.length > target.sliceLength).length);
    this.#draining.set(labels, plan.grants.filter(({ grant }) => grant.phase !== "active").length);
    this.#exhausted.set(labels, plan.exhausted === undefined ? 0 : 1);
  };

  readonly failed = (what: "pool" | "lease" | "state"): void => this.#errors.inc({ what });
}
