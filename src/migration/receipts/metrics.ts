// What is measured of migrations, for Prometheus.
import { Counter, Gauge, Histogram, type Registry } from "prom-client";

import type { Receipt } from "./receipt.ts";

export class MigrationMetrics {
  readonly #ended: Counter<"end" | "trigger">;
  readonly #wrongSigns: Counter;
  readonly #switches: Histogram;
  readonly #gaps: Histogram;
  readonly #failures: Counter;
  readonly #ovnkube: Gauge;
  readonly #open: Gauge;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#ended = new Counter({
      name: "holdfast_migrations_total",
      help: "Live migrations that are over, by how they ended and by what told where the guest is.",
      labelNames: ["end", "trigger"],
      registers,
    });
    this.#wrongSigns = new Counter({
      name: "holdfast_migration_wrong_signs_total",
      help: "Signs that a guest had moved which were taken back.",
      registers,
    });
    this.#switches = new Histogram({
      name: "holdfast_migration_switch_seconds",
      help: "From the look at a VM whose guest has moved to its last row written.",
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5],
      registers,
    });
    this.#gaps = new Histogram({
      name: "holdfast_migration_gap_seconds",
      help: "The longest silence of a migrating VM, as its node's daemon measured it.",
      buckets: [0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 60],
      registers,
    });
    this.#failures = new Counter({
      name: "holdfast_migration_failures_total",
      help: "Looks at a VM that failed and are tried again.",
      registers,
    });
    this.#ovnkube = new Gauge({
      name: "holdfast_migration_ovnkube",
      help: "1 while OVN-Kubernetes runs in this cluster, and nothing is written beside it.",
      registers,
    });
    this.#open = new Gauge({ name: "holdfast_migrations", help: "Live migrations that go on.", registers });
  }

  readonly ended = ({ end, steps, gapMs }: Receipt): void => {
    const last = steps.findLast((each) => each.step === "switched");
    const trigger = last?.step === "switched" ? (last.trigger ?? "") : "";
    this.#ended.inc({ end: end ?? "", trigger });
    if (gapMs !== undefined) this.#gaps.observe(gapMs / 1000);
    for (const each of steps) {
      if (each.step === "switched") this.#switches.observe(each.tookMs / 1000);
      if (each.step === "switched-back" && end !== "failed-after-ready") this.#wrongSigns.inc();
    }
  };
  readonly open = (count: number): void => this.#open.set(count);
  readonly failed = (): void => this.#failures.inc();
  readonly ovnkube = (isThere: boolean): void => this.#ovnkube.set(isThere ? 1 : 0);
}
