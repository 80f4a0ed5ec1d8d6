// What the leader measures of pools and leaks, for Prometheus.
import type { Registry } from "prom-client";

import { measuresIn } from "../kube/process/measures.ts";
import { networkOf, type PoolRange } from "./membership.ts";
import type { PoolTotals } from "./mirror/pool-status.ts";

export type PoolMetrics = ReturnType<typeof poolMetrics>;

export function poolMetrics(registry: Registry) {
  const { counter, gauge } = measuresIn(registry);
  const ofPool = (name: string, help: string) => gauge(name, help, "namespace", "pool", "network");
  const gauges = {
    used: ofPool("holdfast_pool_used", "Addresses of the pool that are held."),
    free: ofPool("holdfast_pool_free", "Addresses of the pool that nobody holds."),
    total: ofPool("holdfast_pool_total", "Addresses of the pool that can be handed out."),
  };
  const counted = (name: string, help: string, label: "reason" | "what") => {
    const own = counter(name, help, label);
    return (value: string): void => own.inc({ [label]: value });
  };
  const flag = (name: string, help: string) => {
    const own = gauge(name, help);
    return (isOn: boolean): void => own.set(isOn ? 1 : 0);
  };
  const suspected = "Holds that looked leaked at a first look, by reason.";
  const wrote = "Writes of pools and their free maps, by what was written.";
  const stray = "1 while whereabouts is seen, and coexistence is not on for it.";
  return {
    /** Gauges are numbers: an IPv6 range is told to 53 bits. Undefined: the pool is gone. */
    totals: (pool: PoolRange, totals: PoolTotals | undefined): void => {
      const labels = { namespace: pool.namespace, pool: pool.name, network: networkOf(pool) };
      for (const key of ["used", "free", "total"] as const) {
        if (totals === undefined) gauges[key].remove(labels);
        else gauges[key].set(labels, Number(totals[key]));
      }
    },
    suspected: counted("holdfast_leaks_suspected_total", suspected, "reason"),
    freed: counted("holdfast_leaks_freed_total", "Leaked addresses that were freed, by reason.", "reason"),
    wrote: counted("holdfast_mirror_writes_total", wrote, "what"),
    heldBack: flag("holdfast_leaks_held_back", "1 while too much looks leaked at once, and nothing is freed."),
    stray: flag("holdfast_whereabouts_unexpected", stray),
    coexistence: flag("holdfast_coexistence", "1 while every take is also written where whereabouts looks."),
  };
}
