// The leader's work on shared pools, put together: what follows the cluster, and what acts under the lease.
import type { ReconcilerOptions } from "../cluster/reconciler-options.ts";
import { stateReference } from "../cluster/state.ts";
import { type Trusted, trustedNamespaces } from "../cluster/trusted-namespaces.ts";
import { describeDomain, type Ledger } from "../ipam/ledger.ts";
import type { Runnable } from "../kube/process/stages.ts";
import { Controller } from "../kube/queue/controller.ts";
import { ReservationLedger } from "../ledger/reservation/reservation-ledger.ts";
import type { PoolCaches } from "./caches.ts";
import { CoexistenceFinalizers } from "./coexistence/finalizers.ts";
import { strayWords } from "./coexistence/verdict.ts";
import { sweepCooled } from "./cooldown-sweeper.ts";
import { type CollectorOptions, LeakCollector } from "./leaks/collector.ts";
import type { PoolMetrics } from "./metrics.ts";
import { sweepFreeMaps } from "./mirror/free-map-sweeper.ts";
import { FreeMapWriter } from "./mirror/free-map-writer.ts";
import { MirrorWriter, type MirrorWriterOptions } from "./mirror/mirror-writer.ts";
import { networksOf, type NetworkUse } from "./networks.ts";
import { pauseOf } from "./rounds.ts";
import { StateKeeper, type StateKeeperOptions } from "./state-keeper.ts";

export interface LeaderOptions
  extends
    Pick<ReconcilerOptions, "client" | "clock" | "log" | "systemNamespace" | "definitions" | "events" | "kubeMetrics">,
    Pick<CollectorOptions, "cooldownMs" | "limits" | "allowMassRelease">,
    Pick<StateKeeperOptions, "lookBackMs" | "whereaboutsNamespaces">,
    Pick<MirrorWriterOptions, "entriesMax"> {
  readonly caches: PoolCaches;
  /** Default: the system namespace and `default`. */
  readonly trusted?: Trusted;
  readonly metrics?: PoolMetrics;
}

/** Under the lease. What was observed before another led counts no more: everything begins anew. */
export function leadPools(options: LeaderOptions): Runnable {
  const { caches, client, clock, definitions, events, kubeMetrics, log, metrics, systemNamespace } = options;
  const { trusted = trustedNamespaces(systemNamespace) } = options;
  const pause = pauseOf(options);
  const work = { ...options, isPaused: async (signal: AbortSignal) => (await pause(signal)) !== "off" };
  let poolNamespace = systemNamespace;
  /** Of the definitions as they are now: with 1,000 of them that takes 20 ms, and each pool asks once a second. */
  let known: readonly NetworkUse[] | undefined;
  definitions.handle(() => void (known = undefined));

  /** Undefined: the definitions have not been listed yet. */
  const uses = (): readonly NetworkUse[] | undefined => {
    if (known !== undefined) return known;
    const objects = definitions.list();
    return (known = objects && networksOf(objects, poolNamespace, trusted).uses);
  };

  function* poolNamespaces(): IterableIterator<string> {
    yield systemNamespace;
    for (const { metadata } of caches.pools.cache.list()) yield metadata.namespace ?? "";
    for (const { namespace } of uses() ?? []) yield namespace;
  }

  const tellState = (type: "Normal" | "Warning", reason: string, words: string) =>
    events?.record(stateReference(systemNamespace), type, reason, words);

  const makeState = (onChange: () => void) =>
    new StateKeeper({
      ...work,
      uses,
      onPlace: (namespace) => {
        if (namespace !== poolNamespace) known = undefined;
        poolNamespace = namespace;
      },
      onChange: (coexistence) => {
        metrics?.coexistence(coexistence);
        onChange();
      },
      onStray: (signs) => {
        metrics?.stray(signs.length > 0);
        if (signs.length === 0) tellState("Normal", "WhereaboutsSilent", "whereabouts is not seen any more.");
        else tellState("Warning", "WhereaboutsSeen", strayWords(signs));
      },
      onUnseen: (words) => tellState("Warning", "WhereaboutsNotSeen", words),
    });

  const makeCollector = (coexistence: () => boolean, onHeldBack: () => void) => {
    const ledgers = new Map<string, Ledger>();
    const ledgerOf = (namespace: string) => {
      const made = { client, clock, now: () => clock.wallMs(), namespace, coexistence };
      const ledger = ledgers.get(namespace) ?? new ReservationLedger(made);
      ledgers.set(namespace, ledger);
      return ledger;
    };
    return new LeakCollector({
      ...work,
      pause,
      ledgerOf,
      onSuspect: (_held, reason) => metrics?.suspected(reason),
      onFreed: ({ hold }, reason, why) => {
        metrics?.freed(reason);
        const { namespace, name, uid } = hold.owner;
        const pod = { apiVersion: "v1", kind: "Pod", metadata: { namespace, name, ...(uid !== "" && { uid }) } };
        const words = `Freed the IP address ${hold.address} in ${describeDomain(hold.domain)}: ${why}.`;
        // Under the name that whereabouts gives it, so that existing searches find it.
        events?.record(pod, "Normal", "IPAddressGarbageCollected", words);
      },
      onHeldBack: (why) => {
        metrics?.heldBack(why !== undefined);
        if (why === undefined) tellState("Normal", "LeakCollectionRunning", "Leaks are collected again.");
        else tellState("Warning", "TooManyLeaks", why);
        onHeldBack();
      },
    });
  };

  const run = async (signal: AbortSignal) => {
    const touchAll = () => {
      for (const key of caches.pools.cache.keys()) mirror.enqueue(key);
    };
    const state = makeState(touchAll);
    const coexistence = () => state.coexistence;
    const collector = makeCollector(coexistence, touchAll);
    const writer = new MirrorWriter({
      ...work,
      freeMaps: new FreeMapWriter(client, () => clock.wallMs()),
      coexistence,
      leaksHeldBack: () => collector.heldBack,
      uses,
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
    const finalizers = new CoexistenceFinalizers({ ...work, coexistence });
    caches.follow((pool) => mirror.enqueue(pool), signal);
    signal.addEventListener("abort", definitions.handle(touchAll), { once: true });
    const rest = async () => {
      await state.known(signal).catch(() => {}); // aborted: they end at once
      const others = [mirror, collector, finalizers].map((each) => each.run(signal));
      await Promise.all([sweepCooled(work, signal), sweepFreeMaps(work, poolNamespaces, signal), ...others]);
    };
    await Promise.all([state.run(signal), rest()]);
  };
  return { name: "pools", run };
}
