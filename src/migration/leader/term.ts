// One term of a writer of migrations: a queue of VMs and what wakes them. It begins with a look at every VM, so what
// the last one left undone is finished; and with a sweep of each zone, so that nothing is left of VMs that are gone.
import { Ovnkube } from "../../cluster/ovnkube.ts";
import { stateReference } from "../../cluster/state.ts";
import { sleep } from "../../kube/clock.ts";
import { isApiError } from "../../kube/errors.ts";
import { Controller } from "../../kube/queue/controller.ts";
import { isLiving } from "../objects/launcher.ts";
import type { MigrationCaches } from "./caches.ts";
import type { KubevirtVersion } from "./kubevirt-version.ts";
import { Machines } from "./machines.ts";
import type { MigrationOptions } from "./options.ts";
import type { KnownVms } from "./placement-writer.ts";
import { Records } from "./records.ts";
import { ZoneRows } from "./zone-rows.ts";

/** They wait for the API server and for northbound databases. */
const concurrency = 8;
/** While OVN-Kubernetes or KubeVirt has not been looked for: asked again after. */
const unknownMs = 1000;
/** A zone whose sweep has failed is tried again. */
const sweepMs = 5000;

export class MigrationTerm {
  readonly machines: Machines;
  readonly records: Records;
  readonly rows: ZoneRows;
  readonly #options: MigrationOptions;
  readonly #caches: MigrationCaches;
  readonly #kubevirt: KubevirtVersion;
  readonly #ovnkube: Ovnkube;
  readonly #controller: Controller;
  #lifetime: AbortSignal = AbortSignal.abort();
  #wasThere = false;
  #toldOfKubevirt = "";

  constructor(options: MigrationOptions, caches: MigrationCaches, kubevirt: KubevirtVersion) {
    const { client, clock, log, metrics, kubeMetrics, ovnkubeNamespaces: namespaces, lookEveryMs } = options;
    this.#options = options;
    this.#caches = caches;
    this.#kubevirt = kubevirt;
    const { writer, zones } = options;
    this.rows = new ZoneRows({ writer, zones, known: () => this.#known() });
    // Another term, of this process or of another, may have written since this writer did.
    this.rows.forget();
    this.records = new Records(options, caches);
    this.machines = new Machines(options, { caches, rows: this.rows, records: this.records });
    this.#ovnkube = new Ovnkube({
      client,
      clock,
      ...(namespaces !== undefined && { namespaces }),
      ...(lookEveryMs !== undefined && { lookEveryMs }),
      onError: (error) => log.warn("whether OVN-Kubernetes runs here could not be seen; it is tried again", { error }),
      onChange: (found) => this.#ovnkubeChanged(found),
    });
    this.#controller = new Controller({
      name: "migration",
      concurrency,
      clock,
      reconcile: async (key, context) => {
        if (!this.#ovnkube.isSeen || !this.#isKubevirtKnown) return { requeueAfterMs: unknownMs };
        // Woken when what stands against it has gone.
        const isFree = this.#ovnkube.mayWrite && !this.#isTooOld();
        return isFree ? this.machines.reconcile(key, context.signal) : undefined;
      },
      onError: (error, key) => {
        if (isApiError(error, "conflict", "not-found")) return log.debug("looked at again", { vm: key, error });
        metrics?.failed();
        log.warn("where a VM is could not be written; it is tried again", { vm: key, error });
      },
      ...(kubeMetrics && { observer: kubeMetrics.controller("migration") }),
    });
  }

  /** OVN-Kubernetes was looked for, and does not run. */
  get mayWrite(): boolean {
    return this.#ovnkube.mayWrite;
  }

  async run(signal: AbortSignal): Promise<void> {
    this.#lifetime = signal;
    try {
      await Promise.all([this.#caches.pods.synced(signal), this.#options.nodes.synced(signal)]);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    if (signal.aborted) return;
    this.#follow(signal);
    await Promise.all([this.#ovnkube.run(signal), this.#controller.run(signal), this.#sweepAll(signal)]);
  }

  /** Somebody else has changed a northbound database, or it was lost and made anew. */
  rewrite(zone?: string): void {
    this.rows.forget(zone);
    this.#wakeAll();
  }

  #follow(signal: AbortSignal): void {
    const { pods } = this.#caches;
    const ends = [
      pods.handle((event) => {
        const keys = new Set(this.#caches.touchedBy(event.object));
        if (event.type === "update") for (const key of this.#caches.touchedBy(event.previous)) keys.add(key);
        for (const key of keys) this.#controller.enqueue(key);
      }),
      this.#caches.onSubnets(() => this.#wakeAll()),
      this.#kubevirt.handle(() => this.#wakeAll()),
    ];
    signal.addEventListener("abort", () => ends.forEach((end) => end()), { once: true });
  }

  #wakeAll(): void {
    for (const key of this.#caches.vms()) this.#controller.enqueueBehind(key);
  }

  async #sweepAll(signal: AbortSignal): Promise<void> {
    do await this.#sweepUnswept(signal);
    while (await sleep(this.#options.clock, sweepMs, signal));
  }

  async #sweepUnswept(signal: AbortSignal): Promise<void> {
    if (!this.#ovnkube.mayWrite) return;
    for (const zone of this.rows.unswept) {
      await this.rows.sweep(zone, signal).catch((error: unknown) => {
        if (!signal.aborted) this.#options.log.warn("a zone could not be swept; it is tried again", { zone, error });
      });
    }
  }

  /** Who keeps no records does not look: the leader tells. */
  get #isKubevirtKnown(): boolean {
    return this.#options.keepsRecords === false || this.#kubevirt.isKnown;
  }

  #isTooOld(): boolean {
    const { log, events, systemNamespace } = this.#options;
    const { obstacle } = this.#kubevirt;
    if (obstacle === this.#toldOfKubevirt) return obstacle !== "";
    this.#toldOfKubevirt = obstacle;
    if (obstacle === "") return false;
    log.warn(obstacle);
    if (this.#options.keepsRecords !== false) {
      events?.record(stateReference(systemNamespace), "Warning", "KubevirtTooOld", obstacle);
    }
    return true;
  }

  #known(): KnownVms {
    const running = [...this.#caches.vms()].filter((key) => this.#caches.launchersOf(key).some(isLiving));
    return new Map(running.map((key) => [key, this.machines.placement(key)]));
  }

  #ovnkubeChanged(found: readonly string[]): void {
    const { log, events, metrics, systemNamespace, keepsRecords } = this.#options;
    const isThere = found.length > 0;
    metrics?.ovnkube(isThere);
    // What it wrote meanwhile is not known.
    this.rows.forget();
    void this.#sweepUnswept(this.#lifetime);
    this.#wakeAll();
    if (isThere === this.#wasThere) return;
    this.#wasThere = isThere;
    const words = isThere
      ? `OVN-Kubernetes runs in this cluster (${found.join(" ")}): no row of a migration is written beside it. Remove it, and Holdfast takes over.`
      : "OVN-Kubernetes does not run in this cluster any more: migrations are Holdfast's now.";
    log.warn(words);
    if (keepsRecords === false) return;
    const about = stateReference(systemNamespace);
    if (isThere) events?.record(about, "Warning", "OvnkubeBeside", words);
    else events?.record(about, "Normal", "OvnkubeGone", words);
  }
}
