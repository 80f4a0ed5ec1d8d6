// The agent's measures of itself, for Prometheus.
import { Counter, Gauge, type Registry } from "prom-client";

import type { Wire } from "../dhcp/socket/wire.ts";
import type { Findings } from "./compile/finding.ts";
import type { NetworkAgent } from "./network-agent.ts";

export interface WatchedAgent {
  readonly networks: () => Iterable<NetworkAgent>;
  readonly wire: () => Wire | undefined;
  readonly findings: Findings;
}

type Counted = "received" | "replies" | "silences" | "faults";

const counted: readonly (readonly [Counted, name: string, label: string, help: string])[] = [
  ["received", "holdfast_dhcp_messages_total", "type", "Messages of clients, by network and type."],
  ["replies", "holdfast_dhcp_replies_total", "type", "Replies, by network and type."],
  ["silences", "holdfast_dhcp_silences_total", "reason", "Messages without a reply, by network and reason."],
  ["faults", "holdfast_dhcp_faults_total", "fault", "Messages that could not be read, by network and fault."],
];

export class AgentMetrics {
  readonly #registry: Registry;
  readonly #found: Counter<"network">;
  readonly #foreign: Counter<"network">;

  constructor(registry: Registry) {
    this.#registry = registry;
    const counter = (name: string, help: string) =>
      new Counter({ name, help, labelNames: ["network"] as const, registers: [registry] });
    this.#found = counter("holdfast_dhcp_conflicts_total", "Addresses that another host was found to use.");
    this.#foreign = counter("holdfast_dhcp_foreign_server_total", "Clients that took the offer of another server.");
  }

  count(what: "conflict" | "foreign-server", network: string): void {
    (what === "conflict" ? this.#found : this.#foreign).inc({ network });
  }

  /** Read at each scrape. */
  watch({ networks, wire, findings }: WatchedAgent): void {
    const gauge = (name: string, help: string, labelNames: string[], collect: (gauge: Gauge) => void | Promise<void>) =>
      new Gauge({
        name,
        help,
        labelNames,
        registers: [this.#registry],
        async collect() {
          this.reset();
          await collect(this);
        },
      });
    gauge("holdfast_dhcp_bindings", "Bindings that are served, by pool.", ["network", "pool"], (own) => {
      for (const { name: network, served } of networks()) {
        for (const { name: pool } of served.pools) own.set({ network, pool }, 0);
        for (const { definition } of served.bindings) own.inc({ network, pool: definition.pool });
      }
    });
    const holder = "1 where this agent answers at the pool's server address.";
    gauge("holdfast_dhcp_server_address_held", holder, ["network", "pool"], (own) => {
      for (const network of networks()) {
        for (const { name: pool } of network.served.pools) {
          own.set({ network: network.name, pool }, network.isHolder(pool) ? 1 : 0);
        }
      }
    });
    gauge("holdfast_dhcp_findings", "Pools and Holds that are not served as they are written.", [], (own) => {
      own.set(findings.size);
    });
    gauge("holdfast_dhcp_checks_pending", "Addresses that are to be asked about on the wire.", [], (own) => {
      for (const network of networks()) own.inc(network.checksPending);
    });
    for (const [what, name, label, help] of counted) this.#countWire(wire, what, name, label, help);
  }

  /** Counted by the wire's thread since it was opened; a new wire begins at zero, as a new process does. */
  #countWire(wire: () => Wire | undefined, what: Counted, name: string, label: string, help: string): void {
    const counter = new Counter({
      name,
      help,
      labelNames: ["network", label],
      registers: [],
      async collect() {
        const counters = await wire()?.counters();
        if (counters === undefined) return;
        this.reset();
        for (const [network, each] of counters.networks) {
          for (const [value, count] of each[what] as ReadonlyMap<string, number>) {
            this.inc({ network, [label]: value }, count);
          }
        }
      },
    });
    this.#registry.registerMetric(counter);
  }
}
