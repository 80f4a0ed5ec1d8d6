// The leader's work on shared pools, put together: what follows the cluster, and what acts under the lease.
import type { ReconcilerOptions } from "../cluster/reconciler-options.ts";
import { stateReference } from "../cluster/state.ts";
import type { Ledger } from "../ipam/ledger.ts";
import type { Runnable } from "../kube/process/stages.ts";
import { Controller } from "../kube/queue/controller.ts";
import { ReservationLedger } from "../ledger/reservation/reservation-ledger.ts";
import type { PoolCaches } from "./caches.ts";
import { CoexistenceFinalizers } from "./coexistence/finalizers.ts";
import { strayWords } from "./coexistence/verdict.ts";
import { sweepCooled } from "./cooldown-sweeper.ts";
import { type CollectorOptions, LeakCollector } from "./leaks/collector.ts";
import type { PoolMetrics } from "./metrics.ts";
import { FreeMapSweeper } from "./mirror/free-map-sweeper.ts";
import { FreeMapWriter } from "./mirror/free-map-writer.ts";
import { MirrorWriter, type MirrorWriterOptions } from "./mirror/mirror-writer.ts";
import { networksOf, type NetworkUse } from "./networks.ts";
import { pauseOf, type Work } from "./rounds.ts";
import { StateKeeper, type StateKeeperOptions } from "./state-keeper.ts";

export interface LeaderOptions
  extends
    Pick<ReconcilerOptions, "client" | "clock" | "log" | "systemNamespace" | "definitions" | "events" | "kubeMetrics">,
    Pick<CollectorOptions, "cooldownMs" | "limits" | "allowMassRelease">,
    Pick<StateKeeperOptions, "lookBackMs" | "whereaboutsNamespaces">,
    Pick<MirrorWriterOptions, "entriesMax"> {
  readonly caches: PoolCaches;
  readonly metrics?: PoolMetrics;
}

export class PoolsLeader {
  readonly #options: LeaderOptions;
  /** Of the definitions as they are now: with 1,000 of them that takes 20 ms, and each pool asks once a second. */
  #uses: readonly NetworkUse[] | undefined;
  readonly #work: LeaderOptions & Work;
  readonly #pause: ReturnType<typeof pauseOf>;
  #poolNamespace: string;

  constructor(options: LeaderOptions) {
    this.#options = options;
    this.#pause = pauseOf(options);
    const isPaused = async (signal: AbortSignal) => (await this.#pause(signal)) !== "off";
    this.#work = { ...options, isPaused };
    this.#poolNamespace = options.systemNamespace;
    options.definitions.handle(() => void (this.#uses = undefined));
  }

  /** Under the lease. What was observed before another led counts no more: everything begins anew. */
  readonly lead: Runnable = {
    name: "pools",
    run: async (signal) => {
      const { mirror, state, work, touchAll } = this.#build();
      this.#options.caches.follow((pool) => mirror.enqueue(pool), signal);
      const end = this.#options.definitions.handle(touchAll);
      signal.addEventListener("abort", end, { once: true });
      const rest = async () => {
        await state.known(signal).catch(() => {}); // aborted: they end at once
        await Promise.all([sweepCooled(this.#work, signal), ...work.map((each) => each.run(signal))]);
      };
      await Promise.all([state.run(signal), rest()]);
    },
  };

  /** Undefined: the definitions have not been listed yet. */
  uses(): readonly NetworkUse[] | undefined {
    if (this.#uses !== undefined) return this.#uses;
    const objects = this.#options.definitions.list();
    return (this.#uses = objects && networksOf(objects, this.#poolNamespace).uses);
  }

  #build() {
    const { caches, client, clock, log, metrics, kubeMetrics } = this.#options;
    const touchAll = () => {
      for (const key of caches.pools.cache.keys()) mirror.enqueue(key);
    };
    const state = this.#makeState(touchAll);
    const collector = this.#makeCollector(state, touchAll);
    const writer = new MirrorWriter({
      ...this.#work,
      freeMaps: new FreeMapWriter(client, () => clock.wallMs()),
      coexistence: () => state.coexistence,
      leaksHeldBack: () => collector.heldBack,
      uses: () => this.uses(),
      ...(metrics && { onWrite: metrics.wrote, onTotals: metrics.totals }),
    });
    const mirror = new Controller({
      name: "pools",
      reconcile: writer.reconcile,
      concurrency: 4,
      clock,
      onError: (error, pool) => log.warn("a pool could not be written; it is tried again", { pool, error }),
      ...(kubeMetrics && { observer: kubeMetrics.controller("pools") }),
    });
    const finalizers = new CoexistenceFinalizers({ ...this.#work, coexistence: () => state.coexistence });
    const sweeper = new FreeMapSweeper({ ...this.#work, namespaces: () => this.#poolNamespaces() });
    return { mirror, state, touchAll, work: [mirror, collector, finalizers, sweeper] };
  }

  *#poolNamespaces(): IterableIterator<string> {
    yield this.#options.systemNamespace;
    for (const { metadata } of this.#options.caches.pools.cache.list()) yield metadata.namespace ?? "";
    for (const { namespace } of this.uses() ?? []) yield namespace;
  }

  #makeState(onChange: () => void): StateKeeper {
    const { metrics } = this.#options;
    return new StateKeeper({
      ...this.#work,
      uses: () => this.uses(),
      onPlace: (namespace) => {
        if (namespace !== this.#poolNamespace) this.#uses = undefined;
        this.#poolNamespace = namespace;
      },
      onChange: (coexistence) => {
        metrics?.coexistence(coexistence);
        onChange();
      },
      onStray: (signs) => {
        metrics?.stray(signs.length > 0);
        if (signs.length === 0) this.#tellState("Normal", "WhereaboutsSilent", "whereabouts is not seen any more.");
        else this.#tellState("Warning", "WhereaboutsSeen", strayWords(signs));
      },
      onUnseen: (words) => this.#tellState("Warning", "WhereaboutsNotSeen", words),
    });
  }

  #makeCollector(state: StateKeeper, onHeldBack: () => void): LeakCollector {
    const { client, clock, events, metrics } = this.#options;
    const ledgers = new Map<string, Ledger>();
    const ledgerOf = (namespace: string) => {
      const made = { client, namespace, now: () => clock.wallMs(), clock, coexistence: () => state.coexistence };
      const ledger = ledgers.get(namespace) ?? new ReservationLedger(made);
      ledgers.set(namespace, ledger);
      return ledger;
    };
    return new LeakCollector({
      ...this.#work,
      pause: this.#pause,
      ledgerOf,
      onSuspect: (_held, reason) => metrics?.suspected(reason),
      onFreed: ({ hold }, reason, why) => {
        metrics?.freed(reason);
        const { namespace, name, uid } = hold.owner;
        const pod = { apiVersion: "v1", kind: "Pod", metadata: { namespace, name, ...(uid !== "" && { uid }) } };
        const words = `Freed the IP address ${hold.address} of ${hold.domain}: ${why}.`;
        // Under the name that whereabouts gives it, so that existing searches find it.
        events?.record(pod, "Normal", "IPAddressGarbageCollected", words);
      },
      onHeldBack: (why) => {
        metrics?.heldBack(why !== undefined);
        if (why === undefined) this.#tellState("Normal", "LeakCollectionRunning", "Leaks are collected again.");
        else this.#tellState("Warning", "TooManyLeaks", why);
        onHeldBack();
      },
    });
  }

  #tellState(type: "Normal" | "Warning", reason: string, words: string): void {
    const { systemNamespace, events } = this.#options;
    events?.record(stateReference(systemNamespace), type, reason, words);
  }
}
