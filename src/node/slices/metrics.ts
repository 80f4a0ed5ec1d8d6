// What a daemon measures of its slices, for Prometheus: docs/node.md has a line for each.
import { Counter, Gauge, type Registry } from "prom-client";

import type { SliceAgent } from "./agent.ts";

type Figures = SliceAgent["figures"];

const gauges: readonly (readonly [name: string, help: string, read: (figures: Figures) => number])[] = [
  ["holdfast_slices", "Slices and pieces that this node has.", ({ slices }) => slices],
  ["holdfast_slice_holds", "Addresses that this node's journal holds.", ({ holds }) => holds],
  ["holdfast_slice_usable_addresses", "Addresses that may be handed out of slices.", ({ usable }) => usable],
  ["holdfast_slices_behind", "Slices whose IPPool is behind the journal.", ({ behind }) => behind],
  [
    "holdfast_slices_behind_seconds",
    "For how long the oldest of them has been behind.",
    ({ oldestMs }) => oldestMs / 1000,
  ],
  [
    "holdfast_slice_authority_seconds",
    "How long this node still hands out of its slices without hearing from the API server.",
    ({ authorityLeftMs }) => authorityLeftMs / 1000,
  ],
  ["holdfast_journal_bytes", "Size of the journal.", ({ bytes }) => bytes],
  ["holdfast_journal_fsyncs_total", "Flushes of the journal since the start.", ({ fsyncs }) => fsyncs],
  ["holdfast_journal_broken", "1 while the journal cannot be written.", ({ broken }) => (broken === "" ? 0 : 1)],
];

export class SliceMetrics {
  readonly #registry: Registry;
  readonly #orphans: Counter;

  constructor(registry: Registry) {
    this.#registry = registry;
    registry.removeSingleMetric(orphansName);
    this.#orphans = new Counter({
      name: orphansName,
      help: "Addresses of slices that were freed since their pods are gone.",
      registers: [registry],
    });
  }

  readonly orphan = (): void => this.#orphans.inc();

  /** Read when somebody looks. */
  watch(agent: Pick<SliceAgent, "figures">): void {
    const gauge = (name: string, help: string, read: (figures: Figures) => number) =>
      new Gauge({
        name,
        help,
        registers: [this.#registry],
        collect() {
          this.set(read(agent.figures));
        },
      });
    for (const [name, help, read] of gauges) {
      this.#registry.removeSingleMetric(name); // of a daemon that ran before in this process
      gauge(name, help, read);
    }
  }
}

const orphansName = "holdfast_slice_orphans_total";
