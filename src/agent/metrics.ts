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

/** `holdfast_dhcp_NAME`, and `holdfast_dhcpv6_NAME`. The pool is that of the client; none for messages of nobody's. */
const counted: readonly (readonly [Counted, name: string, label: string, help: string])[] = [
  ["received", "messages_total", "type", "Messages of clients, by network, pool and type."],
  ["replies", "replies_total", "type", "Replies, by network, pool and type."],
  ["silences", "silences_total", "reason", "Messages without a reply, by network, pool and reason."],
  ["faults", "faults_total", "fault", "Messages that could not be read, by network and fault."],
];

/** Of one network and one pool, which is empty for messages of nobody's. */
interface Counts {
  readonly network: string;
  readonly pool: string;
  readonly counts: Readonly<Record<Counted, ReadonlyMap<string, number>>>;
}

/** Undefined: nothing can be read now. */
type ReadCounts = () => Promise<readonly Counts[] | undefined>;

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
        for (const { definition } of served.v4.told) own.inc({ network, pool: definition.pool });
      }
    });
    gauge("holdfast_dhcpv6_bindings", "Bindings of IPv6 that are served, by pool.", ["network", "pool"], (own) => {
      for (const { name: network, served } of networks()) {
        for (const { name: pool } of served.poolsV6) own.set({ network, pool }, 0);
        for (const { definition } of served.v6.told) own.inc({ network, pool: definition.pool });
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
    const advertised = "Router advertisements that were sent, by network and pool.";
    this.#counter("holdfast_dhcpv6_router_advertisements_total", advertised, [], async (add) => {
      for (const { name: network, served, v6 } of networks()) {
        for (const { name: pool } of served.poolsV6) add({ network, pool }, v6.advertised(pool));
      }
    });
    for (const [what, name, label, help] of counted) {
      this.#countMessages(`holdfast_dhcp_${name}`, help, what, label, () => countsOfWire(wire()));
      this.#countMessages(`holdfast_dhcpv6_${name}`, `DHCPv6: ${help}`, what, label, async () =>
        countsOfV6(networks()),
      );
    }
  }

  #countMessages(name: string, help: string, what: Counted, label: string, read: ReadCounts): void {
    this.#counter(name, help, [label], async (add) => {
      for (const { network, pool, counts } of (await read()) ?? []) {
        for (const [value, count] of counts[what]) add({ network, pool, [label]: value }, count);
      }
    });
  }

  /** Read since the wire was opened; a new one begins at zero, as a new process does. */
  #counter(
    name: string,
    help: string,
    labels: readonly string[],
    collect: (add: (of: Readonly<Record<string, string>>, count: number) => void) => Promise<void>,
  ): void {
    const counter = new Counter({
      name,
      help,
      labelNames: ["network", "pool", ...labels],
      registers: [],
      async collect() {
        const found: (readonly [Readonly<Record<string, string>>, number])[] = [];
        await collect((of, count) => found.push([of, count]));
        this.reset();
        for (const [of, count] of found) this.inc(of, count);
      },
    });
    this.#registry.registerMetric(counter);
  }
}

async function countsOfWire(wire: Wire | undefined): Promise<readonly Counts[] | undefined> {
  const counters = await wire?.counters();
  return counters && [...counters.networks].flatMap(([network, { pools }]) => countsOf(network, pools));
}

function countsOfV6(networks: Iterable<NetworkAgent>): readonly Counts[] {
  return [...networks].flatMap(({ name, v6 }) => countsOf(name, v6.network.tallies));
}

function countsOf(network: string, pools: ReadonlyMap<string, Counts["counts"]>): Counts[] {
  return Array.from(pools, ([pool, counts]) => ({ network, pool, counts }));
}
