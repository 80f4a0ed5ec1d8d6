// What is measured of the topology, for Prometheus.
import { Counter, Gauge, type Registry } from "prom-client";

import type { Applied } from "../../ovn/northbound.ts";
import type { OvnVersion } from "../../ovn/zone/features.ts";

export class TopologyMetrics {
  readonly #nodes: Gauge<"state">;
  readonly #rows: Counter<"change">;
  readonly #connected: Gauge;
  readonly #version: Gauge<"version">;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#nodes = new Gauge({
      name: "holdfast_ovn_nodes",
      help: "Nodes in the OVN topology, and those that are not in it yet.",
      labelNames: ["state"],
      registers,
    });
    this.#rows = new Counter({
      name: "holdfast_ovn_rows_total",
      help: "Northbound rows that were set right by a look at the whole zone: nodes that changed, rows that others changed.",
      labelNames: ["change"],
      registers,
    });
    this.#connected = new Gauge({
      name: "holdfast_ovn_connected",
      help: "1 while the northbound database is followed.",
      registers,
    });
    this.#version = new Gauge({
      name: "holdfast_ovn_version",
      help: "1, with the version that ovn-northd tells.",
      labelNames: ["version"],
      registers,
    });
  }

  readonly nodes = (ready: number, waiting: number): void => {
    this.#nodes.set({ state: "ready" }, ready);
    this.#nodes.set({ state: "waiting" }, waiting);
  };
  readonly rows = ({ inserted, updated, deleted }: Pick<Applied, "inserted" | "updated" | "deleted">): void => {
    this.#rows.inc({ change: "inserted" }, inserted);
    this.#rows.inc({ change: "updated" }, updated);
    this.#rows.inc({ change: "deleted" }, deleted);
  };
  readonly connected = (is: boolean): void => this.#connected.set(is ? 1 : 0);
  readonly version = (version: OvnVersion | undefined): void => {
    this.#version.reset();
    const text = version === undefined ? "unknown" : `${version.major}.${String(version.minor).padStart(2, "0")}`;
    this.#version.set({ version: text }, 1);
  };
}
