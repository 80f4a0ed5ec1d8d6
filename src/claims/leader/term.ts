// One term of a leader of claims. It begins with a look at every family: what the last leader left undone is finished.
// A deleted VM frees its addresses in three rounds of `#reconcile`. Each goes by the state it finds and wakes the next:
//   1. the VM is gone, and no pod has its claim   step `delete`          the claim's deletion is on record
//   2. the claim is being deleted                 step `drop-finalizer`  the claim is gone
//   3. the claim is gone, and no user may run     step `release`         the address cools, then it is free
// src/claims/plan/ending.ts decides all three. Before each the breaker is asked (mass-end-breaker.ts), and the family
// is read from the server and planned again (live-objects.ts).
import { homeOf } from "../../api/claims/claim-family.ts";
import { claimInstanceAnnotation } from "../../api/claims/claim-marks.ts";
import type { StoredPool } from "../../cluster/resources.ts";
import type { SlicedRange } from "../../cluster/sliced-ranges.ts";
import { stateReference } from "../../cluster/state.ts";
import type { AmendableLedger } from "../../ipam/ledger.ts";
import { Recent } from "../../kube/cache/recent.ts";
import { sleep } from "../../kube/clock.ts";
import { keyOf } from "../../kube/meta.ts";
import { Controller, type Reconcile } from "../../kube/queue/controller.ts";
import { ReservationLedger } from "../../ledger/reservation/reservation-ledger.ts";
import type { FamilyFacts } from "../plan/facts.ts";
import { planFamily } from "../plan/plan.ts";
import { stateOfClaim } from "../plan/state.ts";
import type { ClaimStep } from "../plan/steps.ts";
import { Actor, isStale } from "./actor.ts";
import type { ClaimCaches } from "./caches.ts";
import { ClaimHoldIndex } from "./claim-holds.ts";
import { Wakes } from "./event-handlers.ts";
import { Gatherer } from "./facts-reader.ts";
import type { FeatureGate } from "./feature-gate.ts";
import { watchExtensions } from "./ipam-extensions-detector.ts";
import type { ClaimsOptions } from "./leader.ts";
import { LedgerPlaces } from "./ledger-place.ts";
import { freshObjects } from "./live-objects.ts";
import { massEndBreaker } from "./mass-end-breaker.ts";
import { Tally } from "./metrics.ts";
import { ClaimNetworks } from "./networks.ts";
import { PendingCreates } from "./pending-creates.ts";
import { StateClient } from "./state-client.ts";

/** A family waits for the server and for nothing else: 16 at a time are what a small API server answers at once. */
const concurrency = 16;
/** Until a kind that has just come is listed. */
const unknownMs = 1000;
/** Every family is planned again, for changes that no watch tells and for lost events: half a second for 10,000. */
const sweepMs = 600_000;
/** So many at once, so that a VM that starts meanwhile waits for a few milliseconds of them. */
const sweepChunk = 500;
const sweepPauseMs = 50;
/** Somebody looks into it, or the VMs come back. */
const heldBackMs = 5000;
/** Claims that have gone: about 150 bytes each. */
const remembered = 20_000;

export class Term {
  readonly #options: ClaimsOptions;
  readonly #caches: ClaimCaches;
  readonly #gate: FeatureGate;
  readonly #state: StateClient;
  readonly #networks: ClaimNetworks;
  readonly #gatherer: Gatherer;
  readonly #wakes: Wakes;
  readonly #actor: Actor;
  readonly #controller: Controller;
  readonly #holdsBack: ReturnType<typeof massEndBreaker>;
  readonly #pending: PendingCreates;
  readonly #tally = new Tally();
  /** Claims that have gone, by UID -> the VMI that they were for. */
  readonly #instances = new Recent<string>(remembered);
  /** Namespace -> its ledger. */
  readonly #ledgers = new Map<string, AmendableLedger>();
  /** Family -> when its VM or VMI was told of, until it is planned. */
  readonly #seen = new Map<string, number>();

  constructor(options: ClaimsOptions, caches: ClaimCaches, gate: FeatureGate) {
    const { clock, systemNamespace, definitions } = options;
    this.#options = options;
    this.#caches = caches;
    this.#gate = gate;
    this.#state = new StateClient(options);
    this.#networks = new ClaimNetworks(definitions, systemNamespace, options.trusted, options.attachesOvn);
    this.#pending = new PendingCreates(clock, (key) => caches.claims.cache.get(key));
    const held = new ClaimHoldIndex(options);
    const sources = { ...options, caches, gate, held, networks: this.#networks, pending: this.#pending };
    this.#gatherer = new Gatherer(sources);
    this.#wakes = new Wakes({
      ...sources,
      gatherer: this.#gatherer,
      wake: (family) => this.#controller.enqueue(family),
      machineSeen: (family) => {
        if (!this.#seen.has(family)) this.#seen.set(family, clock.monotonicMs());
      },
      claimGone: ({ metadata }) => {
        const instance = metadata.annotations?.[claimInstanceAnnotation];
        if (instance !== undefined) this.#instances.set(metadata.uid ?? "", instance);
      },
    });
    this.#holdsBack = massEndBreaker({
      clock,
      held: () => held.all(),
      lives: (uid) => caches.familyOf(uid) !== undefined,
      isNobodyListed: () => caches.isNobodyListed,
      allowed: (namespace) => caches.massReleaseOf(namespace),
      isAllowed: options.allowMassRelease === true,
      onChange: (stopped, why) => this.#heldBack(stopped, why),
    });
    this.#actor = this.#makeActor();
    this.#controller = this.#makeController();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { pods, nodes, pools, reservations, holds, definitions, metrics } = this.#options;
    const { machines, instances, claims, namespaces } = this.#caches;
    const followed = [machines, instances, claims, definitions];
    try {
      await Promise.all([
        ...[pods, nodes, pools, reservations, holds, namespaces].map((each) => each.synced(signal)),
        ...followed.map((each) => each.known(signal)),
      ]);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    if (signal.aborted) return;
    metrics?.states(() => this.#tally.counts);
    this.#wakes.follow(signal);
    const wakeAll = () => this.#wakeAll();
    this.#gate.follow(wakeAll, signal);
    const aborted = () => {}; // before it was there
    for (const each of followed) if (!each.isListed) each.listed(signal).then(wakeAll, aborted);
    this.#wakeAll();
    await Promise.all([
      this.#controller.run(signal),
      watchExtensions(this.#options, this.#caches, signal),
      this.#state.publish(this.#gate, signal),
      this.#sweep(signal),
    ]);
  }

  async #reconcile(family: string, context: Parameters<Reconcile>[1]): Promise<{ requeueAfterMs: number } | undefined> {
    const seenMs = this.#seen.get(family);
    this.#seen.delete(family);
    if (!this.#caches.isKnown) return { requeueAfterMs: unknownMs };
    // Without the kind no claim can be made or read: all holds stay.
    if (!this.#caches.claims.isListed) return undefined;
    const facts = this.#gatherer.facts(family);
    const planned = planFamily(facts);
    const steps = planned.filter((step) => !this.#holdsBack(step));
    this.#count(family, facts);
    const backMs = steps.length < planned.length ? { requeueAfterMs: heldBackMs } : undefined;
    if (steps.length === 0) return backMs;
    // A create that fails is tried again: the time counts from the first sight.
    if (seenMs !== undefined && steps.some(({ kind }) => kind === "create")) this.#seen.set(family, seenMs);
    // Before anything else is planned: whoever is next counts them.
    for (const step of steps) if (step.kind === "create") this.#pending.begin(keyOf(step.claim));
    const afterMs = await this.#actor.act(family, steps, context.signal);
    return afterMs === undefined ? backMs : { requeueAfterMs: afterMs };
  }

  /** `stopped`: a namespace; empty: all of them. */
  #heldBack(stopped: string, why: string): void {
    const { log, events, metrics, systemNamespace: namespace } = this.#options;
    metrics?.heldBack(stopped, why !== "");
    const where = stopped === "" ? {} : { namespace: stopped };
    if (why === "") return log.info("claims of VMs that are gone are ended again", where);
    log.error("no claim of a VM that is gone is ended", { ...where, why });
    events?.record(stateReference(namespace), "Warning", "ClaimsHeldBack", `Claims are kept: ${why}`);
  }

  /** A claim is counted at its home. */
  #count(family: string, facts: FamilyFacts): void {
    if (this.#options.metrics === undefined) return;
    const own = facts.claims.filter((claim) => homeOf(claim) === family);
    const states = own.map(({ metadata }) => stateOfClaim(facts, metadata.uid ?? ""));
    this.#tally.set(family, states);
  }

  #did(family: string, { kind }: ClaimStep): void {
    const { metrics, clock } = this.#options;
    metrics?.did(kind);
    if (kind !== "create") return;
    const seenMs = this.#seen.get(family);
    this.#seen.delete(family);
    if (seenMs !== undefined) metrics?.madeAfter(clock.monotonicMs() - seenMs);
  }

  /** At the start, and when the gate or a kind changes. Most are settled: a VM that starts goes before them. */
  #wakeAll(): void {
    for (const family of this.#wakes.new()) this.#controller.enqueue(family);
    for (const family of this.#wakes.all()) this.#controller.enqueueBehind(family);
  }

  async #sweep(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (await sleep(clock, sweepMs, signal)) {
      let count = 0;
      for (const family of this.#wakes.all()) {
        this.#controller.enqueueBehind(family);
        count += 1;
        if (count % sweepChunk === 0 && !(await sleep(clock, sweepPauseMs, signal))) return;
      }
    }
  }

  #makeController(): Controller {
    const { clock, log, metrics, kubeMetrics } = this.#options;
    return new Controller({
      name: "claims",
      concurrency,
      clock,
      reconcile: (family, context) => this.#reconcile(family, context),
      onError: (error, family) => {
        if (isStale(error)) return log.debug("looked at again", { family, error });
        metrics?.failed();
        log.warn("claims of a virtual machine could not be brought up to date; it is tried again", { family, error });
      },
      ...(kubeMetrics && { observer: kubeMetrics.controller("claims") }),
    });
  }

  #makeActor(): Actor {
    return new Actor({
      ...this.#options,
      state: this.#state,
      ledgerOf: (namespace) => this.#ledgerOf(namespace),
      placesOf: async (signal) => this.#places((await this.#state.ask(signal)).sliced),
      cooldownOf: ({ networks, hold }) =>
        this.#networks.cooldownOf(networks, hold.owner.namespace) ?? this.#options.cooldownMs,
      planAnew: async (family, signal) => {
        const options = { ...this.#options, instances: this.#instances, signal };
        const objects = await freshObjects(options, family, this.#gatherer.objects(family));
        return planFamily(this.#gatherer.factsOf(family, objects));
      },
      onMade: (family, claim) => this.#pending.made(family, claim),
      onDone: (family, step) => this.#did(family, step),
      onFailed: (step) => {
        if (step.kind === "create") this.#pending.drop(keyOf(step.claim));
      },
    });
  }

  #ledgerOf(namespace: string): AmendableLedger {
    const known = this.#ledgers.get(namespace);
    if (known !== undefined) return known;
    const { client, clock } = this.#options;
    const now = () => clock.wallMs();
    const coexistence = () => this.#state.coexistence;
    const made = new ReservationLedger({ client, namespace, now, clock, coexistence });
    this.#ledgers.set(namespace, made);
    return made;
  }

  #places(ranges: readonly SlicedRange[]): LedgerPlaces {
    const { systemNamespace, trusted, definitions, pools } = this.#options;
    const known = [...pools.cache.list()].map((pool) => [keyOf(pool), pool as StoredPool] as const);
    return new LedgerPlaces({
      systemNamespace,
      ...(trusted && { trusted }),
      definitions: definitions.list() ?? [],
      pools: new Map(known),
      sliced: { version: 0, ranges },
    });
  }
}
