// The leader's work on node slices, put together: one term, from the moment it leads, with lists made after that, to
// its end. Other reconcilers follow the same informers, so these come in.
import { journalAnnotation, seenAnnotation } from "../api/slices/node-lease.ts";
import { grantAnnotation } from "../api/slices/slice-grant.ts";
import { nodeOfLease } from "../cluster/fencing.ts";
import type { ReconcilerOptions } from "../cluster/reconciler-options.ts";
import type { StoredPool } from "../cluster/resources.ts";
import { readSlice } from "../cluster/slice-object.ts";
import { trustedNamespaces } from "../cluster/trusted-namespaces.ts";
import { sleep } from "../kube/clock.ts";
import { isApiError } from "../kube/errors.ts";
import type { Lease } from "../kube/lease.ts";
import { type DeepReadonly, keyOf, type KubeObject } from "../kube/meta.ts";
import type { Runnable } from "../kube/process/stages.ts";
import { Controller } from "../kube/queue/controller.ts";
import { contains } from "../net/prefix.ts";
import { SliceCaches } from "./caches.ts";
import { ConditionEvents } from "./condition-events.ts";
import type { SliceMetrics } from "./metrics.ts";
import { Nodes } from "./nodes.ts";
import { Overview } from "./overview.ts";
import { type CutRules, defaultCutLimits } from "./ranges/consent.ts";
import { isUnheard } from "./ranges/pool-targets.ts";
import { StateRound } from "./ranges/state-round.ts";
import { type WritesListener, StaleError } from "./read-your-writes.ts";
import { isOfRange, ReservedAddresses, type ReservedPlace } from "./reserved-addresses.ts";
import { RestoredJournals } from "./restored-journals.ts";
import { AdaptiveLimiter } from "./writers/adaptive-limiter.ts";
import { writeLease } from "./writers/lease-writer.ts";
import { recordLeft } from "./writers/left-behind.ts";
import { type PoolWriter, poolWriter } from "./writers/pool-writer.ts";
import { settleShared } from "./writers/shared-pool.ts";
import { SliceWriter } from "./writers/slice-writer.ts";

export interface SlicesOptions extends ReconcilerOptions {
  /** Who may cut ranges, and how many. Default: definitions in the system namespace and `default`, the usual limits. */
  readonly cutRules?: CutRules;
  readonly metrics?: SliceMetrics;
}

/** Runs under the lease. Each term begins with a list: another leader or a restore may have changed everything. */
export function leadSlices(options: SlicesOptions): Runnable {
  return { name: "slices", run: (signal) => new Term(options).run(signal) };
}

/** A look at each of ten pools of 5,000 nodes takes some 50 ms: once a second it is half a core at most. */
const lookEveryMs = 1000;
/** Changes of one moment are one look; the fill of a slice is not urgent. */
const lookAfterMs = { soon: 50, slowly: 10_000 } as const;
/** A node that joins changes ten pools at once, in a large cluster over seconds: one write of its Lease serves all. */
const leaseGatherMs = { few: 300, many: 2000 } as const;
const manyNodes = 200;
/** While many slices are written, more of the same node are about to come: a Lease is put off for at most so long. */
const leaseLatestMs = 10_000;
const tickMs = 10_000;
/** Asked again after so long while whereabouts is active or handing out is paused. */
const restMs = 5000;
/** 5,000 objects of a new pool are some 10,000 writes: 16 at a time, 10 ms each, some 7 s; on a slow server minutes. */
const reconcileTimeoutMs = 600_000;

class Term {
  readonly #options: SlicesOptions;
  readonly #caches: SliceCaches;
  readonly #reserved: ReservedAddresses;
  readonly #nodes: Nodes;
  readonly #journals: RestoredJournals;
  readonly #told: ConditionEvents;
  readonly #overview: Overview;
  readonly #pools: Controller;
  readonly #leases: Controller;
  readonly #writer: PoolWriter;
  readonly #limiter: AdaptiveLimiter;
  /** Key of a pool -> when the last look at it began. */
  readonly #lookedMs = new Map<string, number>();
  /** Node -> since when its Lease is due. */
  readonly #leasesDueMs = new Map<string, number>();
  #isRunning = false;
  #lifetime: AbortSignal = AbortSignal.abort();

  constructor(options: SlicesOptions) {
    this.#options = options;
    const { clock, systemNamespace } = options;
    const listeners = { slice: this.#onSlice, pool: this.#onPool, lease: this.#onLease };
    this.#caches = new SliceCaches(options, listeners);
    const shared = { ...options, caches: this.#caches };
    this.#reserved = new ReservedAddresses({ ...shared, onChange: this.#onReserved });
    this.#journals = new RestoredJournals(shared);
    this.#nodes = new Nodes(shared);
    this.#told = new ConditionEvents(options.events);
    const state = new StateRound({
      ...options,
      nodes: this.#nodes,
      reserved: this.#reserved,
      journals: this.#journals,
      overview: () => this.#overview,
      settle: settleShared.bind(undefined, options.client),
      mark: (target, phase, end) => this.#writer.mark(target, phase, end),
    });
    const { cutRules = { ...defaultCutLimits, trusted: trustedNamespaces(systemNamespace) } } = options;
    const touch = (key: string) => this.#touch(key);
    this.#overview = new Overview({ ...shared, cutRules, state, journals: this.#journals, touch });
    this.#pools = this.#controller("slices", 4, (key, signal) => this.#reconcilePool(key, signal));
    this.#leases = this.#controller("slice-leases", 16, (node, signal) => this.#reconcileLease(node, signal));
    this.#limiter = new AdaptiveLimiter({ nowMs: () => clock.monotonicMs() });
    this.#writer = this.#makeWriter();
  }

  async run(signal: AbortSignal): Promise<void> {
    this.#lifetime = signal;
    const { ready, ended } = this.#caches.run(signal);
    const ending = ended.catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
    try {
      const { nodes, reservations, holds } = this.#options;
      await Promise.all([ready, ...[nodes, reservations, holds].map((each) => each.synced(signal))]);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    if (signal.aborted) return ending;
    this.#isRunning = true;
    this.#journals.begin();
    const ends = [
      // Nodes write their status every few seconds: only a change of the node's facts counts.
      this.#options.nodes.handle(
        ({
          object: {
            metadata: { name = "" },
          },
        }) => {
          if (this.#nodes.hasChanged(name)) this.#touchAll([name]);
        },
      ),
      this.#options.definitions.handle(() => this.#overview.wake()),
    ];
    signal.addEventListener("abort", () => ends.forEach((end) => end()), { once: true });
    const work = [this.#pools.run(signal), this.#leases.run(signal), this.#overview.run(signal), this.#tick(signal)];
    await Promise.all([...work, ending]);
  }

  #controller(name: string, concurrency: number, work: (key: string, end: AbortSignal) => Promise<void>): Controller {
    const { clock, log, kubeMetrics, metrics } = this.#options;
    const what = name === "slices" ? "pool" : "lease";
    return new Controller({
      name,
      concurrency,
      clock,
      reconcileTimeoutMs,
      reconcile: (key, { signal }) => work(key, signal),
      onError: (error, key) => {
        // Another writer was faster: the next look sees it.
        if (error instanceof StaleError || isApiError(error, "conflict"))
          return log.debug("looked at again", { [what]: key, error });
        metrics?.failed(what);
        log.warn(`slices: a ${what} could not be brought up to date; it is tried again`, { [what]: key, error });
      },
      ...(kubeMetrics && { observer: kubeMetrics.controller(name) }),
    });
  }

  #makeWriter(): PoolWriter {
    const { client, clock, metrics } = this.#options;
    const nowMs = () => clock.wallMs();
    const left = recordLeft.bind(undefined, { client, reserved: this.#reserved, nowMs });
    return poolWriter({
      client,
      caches: this.#caches,
      slices: new SliceWriter(client, this.#caches, left),
      reserved: this.#reserved,
      journals: this.#journals,
      limiter: this.#limiter,
      nowMs,
      nodes: (extra) => this.#nodes.all(extra),
      onPlan: (target, plan, pool) => {
        this.#told.tell(target, plan, pool);
        metrics?.pool(target, plan);
        for (const node of this.#overview.planned(target, plan)) this.#touchLease(node);
      },
    });
  }

  async #reconcilePool(key: string, signal: AbortSignal): Promise<void> {
    const target = this.#overview.targets.get(key);
    if (target === undefined) return;
    if (isUnheard(target)) this.#told.refuse(target);
    const phase = await this.#overview.mayWork(target, signal);
    if (phase === undefined) return this.#pools.enqueueAfter(key, restMs);
    // A phase that is on record and not told yet: the pool is looked at when it is told.
    if (phase.phase === undefined && target.wanted && target.refusal === undefined) return;
    this.#lookedMs.set(key, this.#options.clock.monotonicMs());
    // Shared informers may lag: the ledger is asked once.
    await this.#reserved.known(signal, this.#lifetime);
    const isGone = await this.#writer.reconcile(target, phase, signal);
    if (!isGone) return;
    this.#told.forget(key);
    this.#lookedMs.delete(key);
    this.#options.metrics?.pool(target, undefined);
    this.#overview.gone(key);
  }

  async #reconcileLease(node: string, signal: AbortSignal): Promise<void> {
    const dueMs = this.#leasesDueMs.get(node) ?? Number.NEGATIVE_INFINITY;
    const isLate = this.#options.clock.monotonicMs() - dueMs >= leaseLatestMs;
    if (this.#isLarge && this.#limiter.isBusy && !isLate) return this.#leases.enqueueAfter(node, leaseGatherMs.many);
    if (await this.#overview.rests(signal)) return this.#leases.enqueueAfter(node, restMs);
    // A change from here on makes the Lease due anew.
    this.#leasesDueMs.delete(node);
    const options = { ...this.#options, caches: this.#caches, waiting: () => this.#overview.waiting() };
    await writeLease(options, this.#nodes.facts(node), signal);
  }

  #touch(key: string): void {
    const nextMs = (this.#lookedMs.get(key) ?? Number.NEGATIVE_INFINITY) + lookEveryMs;
    this.#pools.enqueueAfter(key, Math.max(lookAfterMs.soon, nextMs - this.#options.clock.monotonicMs()));
  }

  #touchLease(node: string): void {
    if (!this.#leasesDueMs.has(node)) this.#leasesDueMs.set(node, this.#options.clock.monotonicMs());
    this.#leases.enqueueAfter(node, this.#isLarge ? leaseGatherMs.many : leaseGatherMs.few);
  }

  get #isLarge(): boolean {
    return this.#options.nodes.cache.size > manyNodes;
  }

  readonly #onSlice: WritesListener<StoredPool> = (object, previous, isGone) => {
    const slice = readSlice(object);
    if (slice === undefined) return;
    if (isGone) this.#reserved.forget(slice);
    const isNews = isGone || previous === undefined;
    if (isNews || isUrgent(object, previous)) this.#touch(slice.pool);
    else this.#pools.enqueueAfter(slice.pool, lookAfterMs.slowly);
    const grantOf = (each: DeepReadonly<StoredPool>) => each.metadata.annotations?.[grantAnnotation];
    if (isNews || grantOf(object) !== grantOf(previous)) this.#touchLease(slice.node);
    if (isNews) this.#overview.wake();
  };

  readonly #onPool = (object: DeepReadonly<KubeObject>) => {
    this.#touch(keyOf(object));
    this.#overview.wake();
  };

  readonly #onLease: WritesListener<Lease> = (lease, previous, isGone) => {
    const node = nodeOfLease(lease);
    if (node === undefined) return;
    if (!isGone) this.#options.presence.saw(lease);
    // A Lease that was deleted by hand is made again.
    if (isGone || previous === undefined) this.#touchLease(node);
    const seenOf = (each: DeepReadonly<Lease> | undefined) => each?.metadata.annotations?.[seenAnnotation];
    if (isGone || seenOf(lease) !== seenOf(previous)) this.#overview.wake();
    this.#compareJournal(lease, previous);
  };

  /** Looks at slices that only a journal has when those change; at all pools when the last awaited node has spoken. */
  #compareJournal(lease: DeepReadonly<Lease>, previous: DeepReadonly<Lease> | undefined): void {
    if (!this.#isRunning) return;
    if (this.#journals.heard(lease)) return this.#touchPools();
    const said = [lease, previous].map((each) => each?.metadata.annotations?.[journalAnnotation]);
    if (said[0] === said[1]) return;
    const forgotten = [lease, ...(previous ? [previous] : [])].flatMap((each) => [...this.#journals.forgotten(each)]);
    for (const { pool } of forgotten) this.#touch(pool);
    if (forgotten.length > 0) this.#overview.wake();
  }

  readonly #onReserved = ({ namespace, domain, address }: ReservedPlace) => {
    for (const { key, namespace: own, network, name: pool, range } of this.#overview.targets.values()) {
      if (own !== namespace || !contains(range, address)) continue;
      if (isOfRange(domain, { namespace, network, pool, range })) this.#touch(key);
    }
  };

  /** Changes that no event tells: a Lease that is not renewed, a quarantine that is over, reservations that went. */
  async #tick(signal: AbortSignal): Promise<void> {
    let wasWhole = true;
    while (await sleep(this.#options.clock, tickMs, signal)) {
      this.#touchAll(this.#nodes.changed());
      const { isWhole } = this.#journals;
      if (isWhole && !wasWhole) this.#touchPools();
      wasWhole = isWhole;
      if (this.#reserved.isAhead) await this.#reserved.refresh(signal).catch(() => {}); // the next tick asks again
    }
  }

  #touchPools(): void {
    for (const key of this.#overview.targets.keys()) this.#touch(key);
  }

  #touchAll(nodes: readonly string[]): void {
    if (nodes.length === 0) return;
    this.#touchPools();
    for (const node of nodes) this.#touchLease(node);
    this.#overview.wake();
  }
}

/** Changes that a plan answers at once; the fill of a slice waits up to ten seconds. */
function isUrgent(object: DeepReadonly<StoredPool>, previous: DeepReadonly<StoredPool>): boolean {
  const textOf = (each: DeepReadonly<StoredPool>) => {
    const { word, grant } = readSlice(each) ?? {};
    const { journal, generation, serial, sealed, gives, short, moved } = word ?? {};
    return JSON.stringify([journal, generation, serial, sealed, gives, short, moved?.length, grant]);
  };
  return textOf(object) !== textOf(previous);
}
