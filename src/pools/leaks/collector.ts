// Leak collection: looks at every hold again and again, and frees what judge.ts says, after reading pod and node anew.
// Promised: one look frees nothing; an answer that does not come frees nothing and forgets nothing; a release is
// guarded by the version of the hold that was judged, so a sandbox that was renewed meanwhile keeps its address; where
// too much looks leaked at once, nothing is freed (src/cluster/mass-release-breaker.ts). Not promised: that two leaders
// do not both look; both would free the same.
import { heldBack } from "../../cluster/mass-release-breaker.ts";
import type { Ledger } from "../../ipam/ledger.ts";
import { describeOwner, ownerKey } from "../../ipam/owner.ts";
import { sleep } from "../../kube/clock.ts";
import { TokenBucket } from "../../kube/queue/ratelimit.ts";
import { describeHeld, type PoolHold, heldKey } from "../pool-hold.ts";
import { everyRound, type Pause, type Work } from "../rounds.ts";
import { defaultLimits, isOwners, judge, type JudgeLimits, type LeakReason } from "./judge.ts";
import { factsFrom, liveFacts, nodesOf } from "./live-facts.ts";
import { Observations } from "./observations.ts";
import { doublesOf } from "./superseded.ts";

export interface CollectorOptions extends Omit<Work, "isPaused"> {
  /** Whether handing out is paused: nothing is freed then, or where it is not known. Default: never. */
  readonly pause?: (signal: AbortSignal) => Promise<Pause>;
  /** Of the namespace in which the hold's object is. */
  readonly ledgerOf: (namespace: string) => Ledger;
  readonly cooldownMs: number;
  readonly limits?: JudgeLimits;
  readonly allowMassRelease?: boolean;
  readonly onSuspect?: (held: PoolHold, reason: LeakReason) => void;
  readonly onFreed?: (held: PoolHold, reason: LeakReason, why: string) => void;
  /** Told when collection stops, with the sentence, and when it goes on, with undefined. */
  readonly onHeldBack?: (why: string | undefined) => void;
}

/** A look costs microseconds per hold; ten seconds are a third of the time between two observations. */
const intervalMs = 10_000;
/** Each free is two or three reads and a write: 50 a second are a tenth of what a small API server takes. */
const freesPerSecond = 50;

export class LeakCollector {
  readonly #options: CollectorOptions;
  readonly #limits: JudgeLimits;
  readonly #observations = new Observations();
  readonly #bucket: TokenBucket;
  #heldBack: string | undefined;

  constructor(options: CollectorOptions) {
    this.#options = options;
    this.#limits = options.limits ?? defaultLimits;
    this.#bucket = new TokenBucket(freesPerSecond, freesPerSecond, options.clock);
  }

  get suspected(): number {
    return this.#observations.suspected;
  }

  /** In a sentence why nothing is freed; undefined: it is. */
  get heldBack(): string | undefined {
    return this.#heldBack;
  }

  run(signal: AbortSignal): Promise<void> {
    const every = { what: "looking for leaks", ms: intervalMs };
    return everyRound(this.#options, every, signal, () => this.look(signal));
  }

  async look(signal: AbortSignal): Promise<void> {
    const pause = await this.#pause(signal);
    if (pause === "on") this.#observations.restart();
    if (pause !== "off") return;
    const due = this.#observe();
    if (due === undefined) return;
    for (const { held, doubles } of due) {
      if (signal.aborted) return;
      const waitMs = this.#bucket.reserve();
      if (waitMs > 0 && !(await sleep(this.#options.clock, waitMs, signal))) return;
      if ((await this.#pause(signal)) !== "off") return;
      const { address, owner } = held.hold;
      const about = { address: String(address), owner: describeOwner(owner), object: describeHeld(held) };
      await this.#free(held, doubles, about, signal).catch((error: unknown) => {
        if (signal.aborted) return;
        this.#options.log.warn("a leak could not be looked at or freed; it is tried again", { ...about, error });
      });
    }
  }

  async #pause(signal: AbortSignal): Promise<Pause> {
    return (await this.#options.pause?.(signal)) ?? "off";
  }

  /** What is due by the caches; undefined where nothing may be freed. */
  #observe(): { held: PoolHold; doubles: readonly PoolHold[] }[] | undefined {
    const { caches, clock } = this.#options;
    if (!caches.informers.every(({ hasSynced }) => hasSynced)) return undefined;
    caches.refreshPools();
    const nowMs = clock.monotonicMs();
    const nodes = nodesOf(caches.presence.judge, caches.nodes.cache.list(), caches.leases.cache.list());
    const known = { pods: caches.pods.cache, statefulSets: caches.statefulSets.cache };
    /** The object's key -> the owner's holds in one pool, where there are several. */
    const doubles = new Map<string, readonly PoolHold[]>();
    for (const all of doublesOf(caches.holdsByPool.all(), caches.holdsByPool.pools).values())
      for (const each of all) doubles.set(heldKey(each), all);
    const due: { held: PoolHold; doubles: readonly PoolHold[] }[] = [];
    const existing = new Set<string>();
    let holds = 0;
    for (const held of caches.holdsByPool.all()) {
      if (held.cooling !== undefined) continue;
      holds += 1;
      existing.add(heldKey(held));
      const around = { lastNode: this.#observations.lastNode(held), doubles: doubles.get(heldKey(held)) ?? [] };
      const facts = factsFrom(known, nodes, held, around);
      const { pod } = facts;
      const { owner } = held.hold;
      // A hold that was adopted does not say where its pod is, and once the pod is gone nothing does.
      if (pod !== undefined && owner.kind === "pod" && isOwners(pod, owner)) this.#observations.seenOn(held, pod.node);
      const judged = judge(held, facts, this.#observations.of(held), nowMs, this.#limits);
      const isNew = this.#observations.record(held, judged, nowMs);
      if (isNew && judged.outcome !== "keep") this.#options.onSuspect?.(held, judged.reason);
      if (judged.outcome === "free") due.push({ held, doubles: around.doubles });
    }
    this.#observations.retain(existing);
    return this.#mayFree(holds) ? due : undefined;
  }

  #mayFree(holds: number): boolean {
    const { allowMassRelease = false, log, onHeldBack } = this.#options;
    const why = allowMassRelease ? undefined : heldBack(this.#observations.suspected, holds);
    if ((why === undefined) !== (this.#heldBack === undefined)) {
      onHeldBack?.(why);
      if (why === undefined) log.info("leak collection goes on");
      else log.error("leak collection stands still", { why });
    }
    this.#heldBack = why;
    return why === undefined;
  }

  async #free(held: PoolHold, doubles: readonly PoolHold[], about: object, signal: AbortSignal): Promise<void> {
    const { caches, client, clock, cooldownMs, ledgerOf, log, onFreed } = this.#options;
    const { systemNamespace, presence } = caches;
    const asking = { client, systemNamespace, judge: presence.judge, signal };
    const facts = await liveFacts(asking, held, { lastNode: this.#observations.lastNode(held), doubles });
    const nowMs = clock.monotonicMs();
    const judged = judge(held, facts, this.#observations.of(held), nowMs, this.#limits);
    // Only a look that says `keep` is recorded here: a second observation comes from the next look.
    if (judged.outcome === "keep") this.#observations.record(held, judged, nowMs);
    if (judged.outcome !== "free") return log.info("not freed: read anew, it is kept", { ...about, why: judged.why });
    const { domain, address, owner, version } = held.hold;
    const request = { domain, address, owner: ownerKey(owner), version, cooldownMs };
    const { outcome } = await ledgerOf(held.namespace).release(request, { signal });
    if (outcome !== "released") return log.info("not freed: it changed meanwhile", { ...about, outcome });
    log.info("freed a leaked address", { ...about, reason: judged.reason, why: judged.why });
    onFreed?.(held, judged.reason, judged.why);
  }
}
