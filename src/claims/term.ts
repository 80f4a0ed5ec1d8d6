// One term of a leader of claims: from the moment it leads until it does not any more. Begins with a look at every family, so that
// whatever was left undone by whoever led before is finished.
import { familyKeysOf, homeOf } from "../api/claim-family.ts";
import { claimInstanceAnnotation } from "../api/claim-marks.ts";
import type { AmendableLedger } from "../ipam/ledger.ts";
import { sleep } from "../kube/clock.ts";
import { Controller, type Reconcile } from "../kube/controller.ts";
import { keyOf } from "../kube/meta.ts";
import { Recent } from "../kube/recent.ts";
import { ReservationLedger } from "../ledger/reservation-ledger.ts";
import type { StoredPool } from "../ledger/resources.ts";
import type { SlicedRange } from "../ledger/sliced-ranges.ts";
import { stateName } from "../ledger/state.ts";
import { Actor } from "./actor.ts";
import { Beside } from "./beside.ts";
import { freshObjects } from "./fresh.ts";
import { GateTeller } from "./gate-teller.ts";
import type { Gate } from "./gate.ts";
import { Gatherer, namedFamilyOf } from "./gather.ts";
import { HeldClaims } from "./holds.ts";
import type { ClaimsOptions } from "./leader.ts";
import { Making } from "./making.ts";
import { MassEnd } from "./mass-end.ts";
import { ClaimNetworks } from "./networks.ts";
import { Places } from "./place.ts";
import type { FamilyFacts } from "./plan/facts.ts";
import { planFamily } from "./plan/plan.ts";
import { stateOfClaim } from "./plan/state.ts";
import type { ClaimStep } from "./plan/steps.ts";
import { SharedState } from "./shared-state.ts";
import { isStale } from "./stale.ts";
import { Taker } from "./take.ts";
import { Tally } from "./tally.ts";
import { Told } from "./told.ts";
import { Unseen } from "./unseen.ts";
import { Wakes } from "./wakes.ts";
import type { ClaimWorld } from "./world.ts";

/** A family waits for the server and for nothing else: 16 at a time are what a small API server answers at once. */
const concurrency = 16;
/** Until a kind that has just come is listed. */
const unknownMs = 1000;
/** What no watch tells, and what a lost event would leave: every family is planned again. 10,000 take half a second of it. */
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
  readonly #world: ClaimWorld;
  readonly #gate: Gate;
  readonly #state: SharedState;
  readonly #networks: ClaimNetworks;
  readonly #held: HeldClaims;
  readonly #gatherer: Gatherer;
  readonly #wakes: Wakes;
  readonly #actor: Actor;
  readonly #controller: Controller;
  readonly #beside: Beside;
  readonly #instances = new Recent<string>(remembered);
  readonly #teller: GateTeller;
  readonly #tally = new Tally();
  readonly #making: Making;
  readonly #unseen: Unseen;
  readonly #massEnd: MassEnd;
  /** Namespace -> its ledger. */
  readonly #ledgers = new Map<string, AmendableLedger>();
  /** Family -> when its VM or VMI was told of, until it is planned. */
  readonly #seen = new Map<string, number>();

  constructor(options: ClaimsOptions, world: ClaimWorld, gate: Gate) {
    this.#options = options;
    this.#world = world;
    this.#gate = gate;
    const { client, clock, log, systemNamespace, pods, presence, reservations, holds, definitions, metrics, events } =
      options;
    this.#state = new SharedState(options);
    this.#teller = new GateTeller({ gate, state: this.#state, clock, log });
    this.#networks = new ClaimNetworks(definitions, systemNamespace, options.trusted);
    this.#held = new HeldClaims({
      reservations,
      holds,
      nowMs: () => clock.wallMs(),
      familyOf: namedFamilyOf,
      onChange: (changed) => this.#wakes.onHeld(changed),
    });
    this.#making = new Making(clock, (key) => world.claims.cache.get(key) !== undefined);
    const making = (namespace: string) => this.#making.count(namespace);
    const common = { world, held: this.#held, networks: this.#networks, pods, presence };
    this.#unseen = new Unseen(clock, (uid) => world.claims.cache.byIndex("uid", uid).length > 0);
    const unseen = (family: string) => this.#unseen.of(family);
    const nowMs = () => clock.wallMs();
    this.#gatherer = new Gatherer({ ...common, making, unseen, gate: () => gate.state, nowMs });
    this.#wakes = new Wakes({
      ...common,
      definitions,
      gatherer: this.#gatherer,
      wake: (family) => this.#controller.enqueue(family),
      machineSeen: (family) => this.#see(family),
      claimSeen: (claim) => this.#unseen.see(familyKeysOf(claim), claim.metadata.uid ?? ""),
      claimGone: ({ metadata }) => {
        const instance = metadata.annotations?.[claimInstanceAnnotation];
        if (instance !== undefined) this.#instances.set(metadata.uid ?? "", instance);
      },
    });
    this.#massEnd = new MassEnd({
      clock,
      held: () => this.#held.all(),
      lives: (uid) => world.familyOf(uid) !== undefined,
      isNobodyListed: () => world.isNobodyListed,
      allowed: (namespace) => world.massReleaseOf(namespace),
      isAllowed: options.allowMassRelease === true,
      onChange: (stopped, why) => this.#heldBack(stopped, why),
    });
    this.#actor = this.#makeActor();
    this.#controller = this.#makeController();
    this.#beside = new Beside({
      client,
      clock,
      log,
      systemNamespace,
      claims: world.claims,
      ...(events && { events }),
      ...(metrics && { onChange: metrics.upstream }),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    try {
      await this.#ready(signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    if (signal.aborted) return;
    this.#options.metrics?.states(() => this.#tally.counts);
    this.#held.follow(signal);
    this.#wakes.follow(signal);
    this.#gate.follow(() => {
      this.#teller.wake();
      this.#wakeAll();
    }, signal);
    const { machines, instances, claims } = this.#world;
    for (const each of [machines, instances, claims, this.#options.definitions]) {
      if (!each.isListed)
        each.listed(signal).then(
          () => this.#wakeAll(),
          () => {},
        ); // aborted before it was there
    }
    this.#wakeAll();
    await Promise.all([
      this.#controller.run(signal),
      this.#beside.run(signal),
      this.#teller.run(signal),
      this.#sweep(signal),
    ]);
  }

  async #ready(signal: AbortSignal): Promise<void> {
    const { pods, nodes, pools, reservations, holds, definitions } = this.#options;
    const { machines, instances, claims, namespaces } = this.#world;
    const informers = [pods, nodes, pools, reservations, holds, namespaces];
    await Promise.all([
      ...informers.map((each) => each.synced(signal)),
      ...[machines, instances, claims, definitions].map((each) => each.known(signal)),
    ]);
  }

  async #reconcile(family: string, context: Parameters<Reconcile>[1]): Promise<{ requeueAfterMs: number } | undefined> {
    const seenMs = this.#seen.get(family);
    this.#seen.delete(family);
    if (!this.#world.isKnown) return { requeueAfterMs: unknownMs };
    // Without the kind there is nothing to make and nothing that could be read: what is held stays.
    if (!this.#world.claims.isListed) return undefined;
    const facts = this.#gatherer.facts(family);
    const planned = planFamily(facts);
    const steps = planned.filter((step) => !this.#massEnd.holdsBack(step));
    this.#count(family, facts);
    const backMs = steps.length < planned.length ? { requeueAfterMs: heldBackMs } : undefined;
    if (steps.length === 0) return backMs;
    // A create that fails is tried again: the time counts from the first sight.
    if (seenMs !== undefined && steps.some(({ kind }) => kind === "create")) this.#seen.set(family, seenMs);
    // Before anything else is planned: whoever is next counts them.
    for (const step of steps) if (step.kind === "create") this.#making.begin(keyOf(step.claim));
    const afterMs = await this.#actor.act(family, steps, context.signal);
    return afterMs === undefined ? backMs : { requeueAfterMs: afterMs };
  }

  /** `stopped`: a namespace; empty: all of them. */
  #heldBack(stopped: string, why: string): void {
    const { log, events, metrics, systemNamespace: namespace } = this.#options;
    metrics?.heldBack(stopped, why !== "");
    const about = { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace, name: stateName } };
    const where = stopped === "" ? {} : { namespace: stopped };
    if (why === "") return log.info("claims of VMs that are gone are ended again", where);
    log.error("no claim of a VM that is gone is ended", { ...where, why });
    events?.record(about, "Warning", "ClaimsHeldBack", `Claims are kept: ${why}`);
  }

  /** A claim is counted at its home. */
  #count(family: string, facts: FamilyFacts): void {
    if (this.#options.metrics === undefined) return;
    const own = facts.claims.filter((claim) => homeOf(claim) === family);
    this.#tally.set(
      family,
      own.map(({ metadata }) => stateOfClaim(facts, metadata.uid ?? "")),
    );
  }

  #see(family: string): void {
    if (!this.#seen.has(family)) this.#seen.set(family, this.#options.clock.monotonicMs());
  }

  #did(family: string, { kind }: ClaimStep): void {
    const { metrics, clock } = this.#options;
    metrics?.did(kind);
    if (kind !== "create") return;
    const seenMs = this.#seen.get(family);
    this.#seen.delete(family);
    if (seenMs !== undefined) metrics?.madeAfter(clock.monotonicMs() - seenMs);
  }

  /** Every one: at the start, and where the gate or a kind has changed. Most are settled: a VM that starts goes before them. */
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
    const { client, clock, log, cooldownMs, events, presence, systemNamespace } = this.#options;
    const ledgerOf = (namespace: string) => this.#ledgerOf(namespace);
    const nowMs = () => clock.wallMs();
    const placesOf = async (signal: AbortSignal) => this.#places((await this.#state.ask(signal)).sliced);
    return new Actor({
      client,
      log,
      state: this.#state,
      told: new Told(events, clock),
      taker: new Taker({ client, nowMs, ledgerOf, placesOf }),
      ledgerOf,
      cooldownOf: ({ network, hold }) => this.#networks.cooldownOf(network, hold.owner.namespace) ?? cooldownMs,
      planAnew: async (family, signal) => {
        const cached = this.#gatherer.objects(family);
        const objects = await freshObjects(
          { client, presence, systemNamespace, instances: this.#instances, signal },
          family,
          cached,
        );
        return planFamily(this.#gatherer.factsOf(family, objects));
      },
      onMade: (family, claim) => this.#unseen.add(family, claim),
      onDone: (family, step) => this.#did(family, step),
      onFailed: (step) => {
        if (step.kind === "create") this.#making.drop(keyOf(step.claim));
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

  #places(ranges: readonly SlicedRange[]): Places {
    const { systemNamespace, trusted, definitions, pools } = this.#options;
    const known = [...pools.cache.list()].map((pool) => [keyOf(pool), pool as StoredPool] as const);
    return new Places({
      systemNamespace,
      ...(trusted && { trusted }),
      definitions: definitions.list() ?? [],
      pools: new Map(known),
      sliced: { version: 0, ranges },
    });
  }
}
