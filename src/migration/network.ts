// The default network on OVN, put together for the leader of a cluster: topology and live migration. With one zone it
// writes the northbound database; where zones are interconnected each node's daemon writes its own (node-side/side.ts),
// and the leader says who has which number and subnets, and keeps the records. Followed on every replica, done under
// the lease.
import type { Registry } from "prom-client";

import type { ReconcilerOptions } from "../cluster/reconciler-options.ts";
import type { Runnable } from "../kube/process/stages.ts";
import { MigrationLeader } from "./leader/leader.ts";
import type { MigrationOptions } from "./leader/options.ts";
import { noRows, noZones, oneZone } from "./leader/placement-writer.ts";
import { type ZonePlace, ZoneWriting } from "./northbound/zone-writing.ts";
import { MigrationMetrics } from "./receipts/metrics.ts";
import { TopologyMetrics } from "./topology/metrics.ts";
import { NodeAssigner } from "./topology/node-assigner.ts";
import { SubnetPools } from "./topology/subnet-pools.ts";

/** What an operator says; the rest is the controller's. */
export interface OvnOptions
  extends
    Omit<ZonePlace, "northbound">,
    Partial<Pick<ZonePlace, "northbound">>,
    Pick<MigrationOptions, "addresses" | "onMove" | "ovnkubeNamespaces" | "lookEveryMs"> {
  /** network_name of the definition that cuts the cluster's subnets into slices of nodes; empty: it has none. */
  readonly networkName: string;
}

export interface OvnNetworkOptions
  extends
    OvnOptions,
    Pick<ReconcilerOptions, "client" | "clock" | "log" | "systemNamespace" | "nodes" | "events" | "kubeMetrics"> {
  readonly registry?: Registry;
}

export class OvnNetwork {
  readonly #options: OvnNetworkOptions;
  readonly #pools: SubnetPools;
  readonly #topologyMetrics: TopologyMetrics | undefined;
  /** Undefined: zones are interconnected. */
  readonly #zone: ZoneWriting | undefined;
  readonly migration: MigrationLeader;

  constructor(options: OvnNetworkOptions) {
    this.#options = options;
    const { client, clock, log, network, networkName, northbound, registry, systemNamespace } = options;
    const onError = (error: Error) => log.warn("following what the default network needs", { error });
    this.#pools = new SubnetPools({ client, clock, onError, systemNamespace, network, networkName });
    const migrationMetrics = registry && new MigrationMetrics(registry);
    this.#topologyMetrics = registry && new TopologyMetrics(registry);
    const zones = northbound === undefined ? noZones : oneZone();
    const [zone = ""] = zones.all();
    const metrics = this.#topologyMetrics;
    this.#zone = northbound && new ZoneWriting({ ...options, northbound, zone, ...(metrics && { metrics }) });
    this.migration = new MigrationLeader({
      ...options,
      writer: this.#zone?.writer ?? noRows,
      zones,
      ...(migrationMetrics && { metrics: migrationMetrics }),
    });
  }

  /** On every replica. */
  get informers() {
    return this.migration.informers;
  }

  get follows(): readonly Runnable[] {
    return [...this.migration.follows, this.#pools.follow, ...(this.#zone ? [this.#zone.follow] : [])];
  }

  /** Under the lease: only who writes needs the database's rows. */
  readonly lead: Runnable = {
    name: "ovn",
    run: async (signal) => {
      const metrics = this.#topologyMetrics;
      const mayWrite = () => this.migration.mayWrite;
      const assigner = new NodeAssigner({ ...this.#options, pools: this.#pools, mayWrite });
      const running = [this.migration.lead.run(signal, () => {}), assigner.run(signal)];
      await Promise.all([
        ...running,
        this.#zone?.run({ ...this.#options, mayWrite, ...(metrics && { metrics }) }, signal),
      ]);
    },
  };
}
