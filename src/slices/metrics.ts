// What the leader measures of sliced ranges, for Prometheus. Gauges are numbers: an IPv6 range is told to 53 bits.
import type { Registry } from "prom-client";

import { measuresIn } from "../kube/process/measures.ts";
import type { SlicePlan } from "./plan/facts.ts";
import type { PoolTarget } from "./ranges/pool-targets.ts";

type Row = readonly [name: string, help: string, read: (plan: SlicePlan, target: PoolTarget) => number];

const gauges: readonly Row[] = [
  ["holdfast_slices_total", "Slices that the range has room for.", ({ totals }) => Number(totals.total)],
  ["holdfast_slices_assigned", "Slices of which a node has at least a part.", ({ totals }) => Number(totals.assigned)],
  ["holdfast_slices_free", "Slices that no node has.", ({ totals }) => Number(totals.free)],
  ["holdfast_slice_nodes_waiting", "Nodes that have no slice of the range.", ({ waiting }) => waiting.size],
  [
    "holdfast_slice_pieces_borrowed",
    "Pieces of slices that other nodes gave up.",
    ({ grants }, { sliceLength }) => grants.filter(({ block }) => block.length > sliceLength).length,
  ],
  [
    "holdfast_slices_draining",
    "Slices that are drained or returned.",
    ({ grants }) => grants.filter(({ grant }) => grant.phase !== "active").length,
  ],
  [
    "holdfast_slices_exhausted",
    "1 while a node needs addresses and none are to be had.",
    ({ exhausted }) => (exhausted === undefined ? 0 : 1),
  ],
];

export type SliceMetrics = ReturnType<typeof sliceMetrics>;

export function sliceMetrics(registry: Registry) {
  const { counter, gauge } = measuresIn(registry);
  const made = gauges.map(([name, help, read]) => ({ gauge: gauge(name, help, "namespace", "pool", "network"), read }));
  const failed = "Looks at pools, leases of nodes and the state that failed and are tried again.";
  const errors = counter("holdfast_slice_reconcile_errors_total", failed, "what");
  return {
    /** Undefined: the pool is gone. */
    pool: (target: PoolTarget, plan: SlicePlan | undefined): void => {
      const labels = { namespace: target.namespace, pool: target.name, network: target.network };
      for (const { gauge: own, read } of made) {
        if (plan === undefined) own.remove(labels);
        else own.set(labels, read(plan, target));
      }
    },
    failed: (what: "pool" | "lease" | "state"): void => errors.inc({ what }),
  };
}
