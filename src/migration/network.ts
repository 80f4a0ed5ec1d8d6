// The default network on OVN, put together for the leader of a cluster with one zone: the northbound database, the
// topology, and live migration. Followed on every replica, written under the lease.
import type { Registry } from "prom-client";

import type { ReconcilerOptions } from "../cluster/reconciler-options.ts";
import type { Runnable } from "../kube/process/stages.ts";
import { MigrationLeader } from "./leader/leader.ts";
import type { MigrationOptions } from "./leader/options.ts";
import { oneZone } from "./leader/placement-writer.ts";
import { type DatabaseOptions, NorthboundDatabase } from "./northbound/database.ts";
import { NorthboundWriter } from "./northbound/northbound-writer.ts";
import { MigrationMetrics } from "./receipts/metrics.ts";
import type { ClusterNetwork } from "./topology/cluster-network.ts";
import { DnsService } from "./topology/dns-service.ts";
import { TopologyMetrics } from "./topology/metrics.ts";
import { SubnetPools } from "./topology/subnet-pools.ts";
import { TopologyTerm } from "./topology/term.ts";
import { ZoneSource } from "./topology/zone-source.ts";

/** What an operator says; the rest is the controller's. */
export interface OvnOptions extends Pick<
  MigrationOptions,
  "addresses" | "onMove" | "ovnkubeNamespaces" | "lookEveryMs"
> {
  readonly northbound: Pick<DatabaseOptions, "endpoints" | "tls" | "dial">;
  readonly network: ClusterNetwork;
  /** network_name of the definition that cuts the cluster's subnets into slices of nodes; empty: it has none. */
  readonly networkName: string;
  readonly dnsService: { readonly namespace: string; readonly name: string };
}

export interface OvnNetworkOptions
  extends
    OvnOptions,
    Pick<ReconcilerOptions, "client" | "clock" | "log" | "systemNamespace" | "nodes" | "events" | "kubeMetrics"> {
  readonly registry?: Registry;
}

export class OvnNetwork {
  readonly #options: OvnNetworkOptions;
  readonly #dns: DnsService;
  readonly #pools: SubnetPools;
  readonly #source: ZoneSource;
  readonly #metrics: { readonly migration?: MigrationMetrics; readonly topology?: TopologyMetrics };
  readonly #database: NorthboundDatabase;
  readonly #writer: NorthboundWriter;
  readonly migration: MigrationLeader;

  constructor(options: OvnNetworkOptions) {
    this.#options = options;
    const { client, clock, log, nodes, network, networkName, dnsService: service, registry } = options;
    const onError = (error: Error) => log.warn("following what the default network needs", { error });
    const following = { client, clock, onError };
    this.#metrics = registry
      ? { migration: new MigrationMetrics(registry), topology: new TopologyMetrics(registry) }
      : {};
    this.#dns = new DnsService({ ...following, service });
    this.#pools = new SubnetPools({ ...following, systemNamespace: options.systemNamespace, network, networkName });
    this.#source = new ZoneSource({ nodes, dns: this.#dns, network });
    const zones = oneZone();
    const [zone] = zones.all();
    this.#database = new NorthboundDatabase({
      ...options.northbound,
      clock,
      onStatus: ({ kind }) => {
        this.#metrics.topology?.connected(kind === "connected");
        log.info(`northbound database: ${kind}`, { endpoints: options.northbound.endpoints });
      },
      onError: (error) => log.warn("the northbound database", { error }),
    });
    const { northbound, ready } = this.#database;
    this.#writer = new NorthboundWriter(new Map([[zone!, { northbound, ready, zone: this.#source.zone }]]));
    const { migration: metrics } = this.#metrics;
    this.migration = new MigrationLeader({ ...options, writer: this.#writer, zones, ...(metrics && { metrics }) });
  }

  /** On every replica. */
  get informers() {
    return [...this.migration.informers, this.#dns.informer] as const;
  }

  get follows(): readonly Runnable[] {
    return [...this.migration.follows, this.#pools.follow];
  }

  /** Under the lease: only who writes needs the database's rows. */
  readonly lead: Runnable = {
    name: "ovn",
    run: async (signal) => {
      const { topology: metrics } = this.#metrics;
      const topology = new TopologyTerm({
        ...this.#options,
        zone: "global",
        source: this.#source,
        pools: this.#pools,
        database: this.#database,
        writer: this.#writer,
        mayWrite: () => this.migration.mayWrite,
        ...(metrics && { metrics }),
      });
      await Promise.all([this.#database.run(signal), this.migration.lead.run(signal, () => {}), topology.run(signal)]);
    },
  };
}
