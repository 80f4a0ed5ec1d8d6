// What the leader measures of pools and leaks, for Prometheus.
import { Counter, Gauge, type Registry } from "prom-client";

import { networkOf, type PoolRange } from "./membership.ts";
import type { PoolTotals } from "./mirror/pool-status.ts";

const poolLabels = ["namespace", "pool", "network"] as const;

export class PoolMetrics {
  readonly #ofPool: Readonly<Record<keyof PoolTotals, Gauge<(typeof poolLabels)[number]>>>;
  readonly #suspected: Counter<"reason">;
  readonly #freed: Counter<"reason">;
  readonly #writes: Counter<"what">;
  readonly #heldBack: Gauge;
  readonly #coexistence: Gauge;
  readonly #stray: Gauge;

  constructor(registry: Registry) {
    const registers = [registry];
    const ofPool = (name: string, help: string) => new Gauge({ name, help, labelNames: [...poolLabels], registers });
    this.#ofPool = {
      used: ofPool("holdfast_pool_used", "Addresses of the pool that are held."),
      free: ofPool("holdfast_pool_free", "Addresses of the pool that nobody holds."),
      total: ofPool("holdfast_pool_total", "Addresses of the pool that can be handed out."),
    };
    const counter = <T extends string>(name: string, help: string, label: T) =>
      new Counter({ name, help, labelNames: [label], registers });
    const gauge = (name: string, help: string) => new Gauge({ name, help, registers });
    const suspected = "Holds that looked leaked at a first look, by reason.";
    this.#suspected = counter("holdfast_leaks_suspected_total", suspected, "reason");
    this.#freed = counter("holdfast_leaks_freed_total", "Leaked addresses that were freed, by reason.", "reason");
    const wrote = "Writes of pools and their free maps, by what was written.";
    this.#writes = counter("holdfast_mirror_writes_total", wrote, "what");
    const heldBack = "1 while too much looks leaked at once, and nothing is freed.";
    this.#heldBack = gauge("holdfast_leaks_held_back", heldBack);
    const both = "1 while every take is also written where whereabouts looks.";
    this.#coexistence = gauge("holdfast_coexistence", both);
    const stray = "1 while whereabouts is seen, and coexistence is not on for it.";
    this.#stray = gauge("holdfast_whereabouts_unexpected", stray);
  }

  /** Gauges are numbers: an IPv6 range is told to 53 bits. Undefined: the pool is gone. */
  readonly totals = (pool: PoolRange, totals: PoolTotals | undefined): void => {
    const labels = { namespace: pool.namespace, pool: pool.name, network: networkOf(pool) };
    for (const key of ["used", "free", "total"] as const) {
      if (totals === undefined) this.#ofPool[key].remove(labels);
      else this.#ofPool[key].set(labels, Number(totals[key]));
    }
  };

  readonly suspected = (reason: string): void => this.#suspected.inc({ reason });
  readonly freed = (reason: string): void => this.#freed.inc({ reason });
  readonly wrote = (what: string): void => this.#writes.inc({ what });
  readonly heldBack = (isHeldBack: boolean): void => this.#heldBack.set(isHeldBack ? 1 : 0);
  readonly stray = (isSeen: boolean): void => this.#stray.set(isSeen ? 1 : 0);
  readonly coexistence = (isOn: boolean): void => this.#coexistence.set(isOn ? 1 : 0);
}
