// What the leader measures of managed DHCP, for Prometheus: under Harvester's names, which dashboards know, and ours.
// Gauges are asked for when somebody scrapes, of what is there then: a series goes with its object. Those of NICs are
// as many as NICs, and are never kept.
import { Counter, Gauge, type Registry } from "prom-client";

import { type Sample, StreamedGauge } from "../../kube/process/streamed-gauge.ts";

interface PoolFigures {
  /** namespace/name */
  readonly pool: string;
  readonly cidr: string;
  readonly network: string;
  readonly used: number;
  readonly available: number;
  readonly cooling: number;
}

interface NicFigures {
  /** namespace/name */
  readonly config: string;
  readonly network: string;
  readonly mac: string;
  readonly ip: string;
  readonly state: string;
}

export interface VmnetFigures {
  pools(): Iterable<PoolFigures>;
  /** Those of one network config in a row. */
  nics(): Iterable<NicFigures>;
}

type Did = "create" | "merge" | "release-stray";

export class VmnetMetrics {
  #figures: VmnetFigures = { pools: () => [], nics: () => [] };
  readonly #steps: Counter<"kind">;
  readonly #failures: Counter;
  readonly #heldBack: Gauge;

  constructor(registry: Registry) {
    const registers = [registry];
    const ofPool = (name: string, help: string, figure: (pool: PoolFigures) => number) => {
      const all = () => this.#figures.pools();
      return new Gauge({
        name,
        help,
        labelNames: ["ippool", "cidr", "network"],
        registers,
        collect() {
          this.reset();
          for (const pool of all())
            this.set({ ippool: pool.pool, cidr: pool.cidr, network: pool.network }, figure(pool));
        },
      });
    };
    ofPool("vmdhcpcontroller_ippool_used", "Addresses of the pool that VMs have.", ({ used }) => used);
    ofPool("vmdhcpcontroller_ippool_available", "Addresses of the pool that could be given.", (pool) => pool.available);
    ofPool(
      "holdfast_vm_pool_cooling",
      "Released addresses of the pool that rest for the lease time.",
      (pool) => pool.cooling,
    );
    const nics = () => this.#figures.nics();
    const gauge = new StreamedGauge({
      name: "vmdhcpcontroller_vmnetcfg_status",
      help: "1 for each NIC of a network config, with its address and state.",
      registry,
      samples: () => nicSamples(nics()),
    });
    void gauge;
    this.#steps = new Counter({
      name: "holdfast_vm_network_steps_total",
      help: "What was done about network configs of VMs, by kind of step.",
      labelNames: ["kind"],
      registers,
    });
    this.#failures = new Counter({
      name: "holdfast_vm_network_failures_total",
      help: "Looks at VMs, network configs and managed pools that failed and are tried again.",
      registers,
    });
    this.#heldBack = new Gauge({
      name: "holdfast_vm_network_held_back",
      help: "1 while no stray address is released, since so many seem to be stray at once.",
      registers,
    });
  }

  /** Of the term that is, or was the last. */
  readonly figures = (figures: VmnetFigures): void => void (this.#figures = figures);
  readonly did = (kind: Did): void => this.#steps.inc({ kind });
  readonly failed = (): void => this.#failures.inc();
  readonly heldBack = (isHeldBack: boolean): void => this.#heldBack.set(isHeldBack ? 1 : 0);
}

type NicLabel = "vmnetcfg" | "network" | "mac" | "ip" | "state";

/** A status may name a NIC twice. A series has one value. */
function* nicSamples(nics: Iterable<NicFigures>): Iterable<Sample<NicLabel>> {
  const told = new Set<string>();
  let last = "";
  for (const { config: vmnetcfg, network, mac, ip, state } of nics) {
    if (vmnetcfg !== last) told.clear();
    last = vmnetcfg;
    const series = JSON.stringify([network, mac, ip, state]);
    if (told.has(series)) continue;
    told.add(series);
    yield { labels: { vmnetcfg, network, mac, ip, state }, value: 1 };
  }
}
