// All that writing one zone takes: its northbound database, the zone as it is now, and the writer. For the leader of a
// cluster with one zone, or for a node's daemon that writes its own.
import type { ReconcilerOptions } from "../../cluster/reconciler-options.ts";
import type { Runnable } from "../../kube/process/stages.ts";
import type { ClusterNetwork } from "../topology/cluster-network.ts";
import { DnsService } from "../topology/dns-service.ts";
import type { TopologyMetrics } from "../topology/metrics.ts";
import { ZoneKeeper, type ZoneKeeperOptions } from "../topology/zone-keeper.ts";
import { ZoneSource } from "../topology/zone-source.ts";
import { type DatabaseOptions, NorthboundDatabase } from "./database.ts";
import { NorthboundWriter } from "./northbound-writer.ts";

/** What an operator says of a zone. */
export interface ZonePlace {
  readonly northbound: Pick<DatabaseOptions, "endpoints" | "tls" | "dial">;
  readonly network: ClusterNetwork;
  readonly dnsService: { readonly namespace: string; readonly name: string };
}

export interface ZoneWritingOptions extends ZonePlace, Pick<ReconcilerOptions, "client" | "clock" | "log" | "nodes"> {
  readonly zone: string;
  /** The zone's only node, where zones are interconnected. */
  readonly localNode?: string;
  readonly metrics?: TopologyMetrics;
}

export class ZoneWriting {
  readonly zone: string;
  readonly dns: DnsService;
  readonly source: ZoneSource;
  readonly database: NorthboundDatabase;
  readonly writer: NorthboundWriter;

  constructor({ client, clock, log, nodes, northbound, network, dnsService, zone, ...rest }: ZoneWritingOptions) {
    const { localNode, metrics } = rest;
    const { endpoints } = northbound;
    this.zone = zone;
    const onError = (error: Error) => log.warn("following the DNS service", { error });
    this.dns = new DnsService({ client, clock, onError, service: dnsService });
    this.source = new ZoneSource({ nodes, dns: this.dns, network, localNode });
    this.database = new NorthboundDatabase({
      ...northbound,
      clock,
      onStatus: ({ kind }) => {
        metrics?.connected(kind === "connected");
        log.info(`northbound database: ${kind}`, { endpoints });
      },
      onError: (error) => log.warn("the northbound database", { error }),
    });
    const { northbound: rows } = this.database;
    // Rows without the DNS server for a moment, at each start, would be told to guests that ask then.
    const ready = async (signal: AbortSignal) => {
      await this.database.ready(signal);
      await this.dns.informer.synced(signal);
    };
    this.writer = new NorthboundWriter(new Map([[zone, { northbound: rows, ready, zone: this.source.zone }]]));
  }

  /** On every replica; nobody waits for it but who writes the zone. */
  get follow(): Runnable {
    return { name: "following the DNS service", run: (signal) => this.dns.informer.run(signal) };
  }

  /** Follows the database, and keeps the zone as it should be, until the signal aborts. */
  async run(
    options: Omit<ZoneKeeperOptions, "zone" | "source" | "database" | "writer">,
    signal: AbortSignal,
  ): Promise<void> {
    const { zone, source, database, writer } = this;
    const keeper = new ZoneKeeper({ ...options, zone, source, database, writer });
    await Promise.all([database.run(signal), keeper.run(signal)]);
  }
}
