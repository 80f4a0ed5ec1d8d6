// All pools at a glance: the wishes of definitions, the state of each range, the last plans, which pools are due.
import { sliceUseKey } from "../api/slices/node-lease.ts";
import { floatingNode } from "../api/slices/slice-grant.ts";
import { readSlice } from "../cluster/slice-object.ts";
import { readDefinitions } from "../cni/config/definitions.ts";
import { sleep } from "../kube/clock.ts";
import { isApiError } from "../kube/errors.ts";
import { formatInterval } from "../net/interval.ts";
import type { SliceCaches } from "./caches.ts";
import type { SlicePlan } from "./plan/facts.ts";
import type { CutRules } from "./ranges/consent.ts";
import { type ExistingPool, sharingOf, wishesOf } from "./ranges/desired-ranges.ts";
import type { PoolBlocks } from "./ranges/phases.ts";
import { isUnheard, joinedBlocks, lostPools, type PoolTarget, targetsOf } from "./ranges/pool-targets.ts";
import type { StateRound } from "./ranges/state-round.ts";
import type { RestoredJournals } from "./restored-journals.ts";
import type { SlicesOptions } from "./term.ts";
import { readPool } from "./writers/pool-object.ts";
import type { PoolPhase } from "./writers/pool-writer.ts";

export interface OverviewOptions extends SlicesOptions {
  readonly caches: SliceCaches;
  readonly state: StateRound;
  readonly journals: RestoredJournals;
  readonly cutRules: CutRules;
  readonly touch: (key: string) => void;
}

/** The state is asked of the server, not followed: knowledge of a pause is at most a second old. */
const freshMs = 1000;
const intervalMs = 10_000;
/** Refusals that daemons are told of; events tell all. 32 of 2,000 characters at most are 64 KB of a ConfigMap. */
const mostRefusals = 32;

export class Overview {
  readonly #options: OverviewOptions;
  #targets: ReadonlyMap<string, PoolTarget> = new Map();
  /** Key of a pool -> its last plan. */
  readonly #plans = new Map<string, SlicePlan>();
  /** Key of a pool -> the target that was told last, as text. */
  #told = new Map<string, string>();
  #lookedMs = Number.NEGATIVE_INFINITY;
  #isAwake = true;
  #wake = () => {};

  constructor(options: OverviewOptions) {
    this.#options = options;
  }

  /** Key of a pool -> its target. */
  get targets(): ReadonlyMap<string, PoolTarget> {
    return this.#targets;
  }

  /** The last plan; undefined: there was none yet. */
  plan(key: string): SlicePlan | undefined {
    return this.#plans.get(key);
  }

  /** Keeps the plan; answers the nodes whose wait has begun, ended or changed. */
  planned({ key }: PoolTarget, plan: SlicePlan): string[] {
    const before = this.#plans.get(key);
    this.#plans.set(key, plan);
    if (`${before?.floating ?? ""}` !== `${plan.floating ?? ""}` || before?.blocks.length !== plan.blocks.length)
      this.wake();
    const nodes = new Set([...(before?.waiting.keys() ?? []), ...plan.waiting.keys()]);
    return [...nodes].filter((node) => before?.waiting.get(node) !== plan.waiting.get(node));
  }

  gone(key: string): void {
    this.#plans.delete(key);
    this.wake();
  }

  *waiting(): IterableIterator<{ readonly target: PoolTarget; readonly why: (node: string) => string | undefined }> {
    const carried = this.refusals();
    for (const target of this.#targets.values()) {
      const plan = this.#plans.get(target.key);
      // A refusal that the state says to all daemons at once is not said in every Lease again.
      const isSaid = target.refusal !== undefined && carried.has(sliceUseKey(target));
      if (target.wanted && !isUnheard(target) && !isSaid)
        yield { target, why: (node) => target.refusal?.why ?? plan?.waiting.get(node) };
    }
  }

  /** Why ranges get no slices; the first `mostRefusals` in the order of their keys. */
  refusals(): ReadonlyMap<string, string> {
    const found = [...this.#targets.values()].flatMap((each) =>
      each.refusal === undefined ? [] : [[sliceUseKey(each), each.refusal.why] as const],
    );
    return new Map(found.sort(([a], [b]) => (a < b ? -1 : 1)).slice(0, mostRefusals));
  }

  /** Blocks of each pool's status, objects and journals. A wanted pool that has any says its whole range. */
  *blocks(): IterableIterator<PoolBlocks> {
    const { caches, journals } = this.#options;
    const forgotten = Map.groupBy(journals.forgotten(), ({ pool }) => pool);
    for (const { key, namespace, network, range, name: pool, wanted, refusal } of this.#targets.values()) {
      const object = caches.pools.get(key);
      const read = object && readPool(object);
      const assigned = (read?.allocations ?? []).filter(({ node }) => node !== floatingNode);
      const slices = caches.slices.byIndex("pool", key).flatMap((each) => readSlice(each) ?? []);
      const objects = [...slices, ...(forgotten.get(key) ?? [])];
      const all = [...assigned, ...objects].map(({ block }) => block);
      const isStaying = wanted && refusal === undefined;
      const blocks = isStaying ? (all.length === 0 ? [] : [range]) : joinedBlocks(all, range);
      // Slices of a pool without a phase: it was lost, or never written. Closing comes first: nobody may share them.
      const lost = objects.length === 0 ? undefined : isStaying ? "closing" : "opening";
      yield { namespace, network, range, pool, phase: read?.phase ?? lost, blocks };
    }
  }

  /** The phase of the pool's range; undefined: the leader rests. */
  async mayWork(target: PoolTarget, signal: AbortSignal): Promise<PoolPhase | undefined> {
    return (await this.rests(signal)) ? undefined : this.#options.state.phaseOf(target);
  }

  async rests(signal: AbortSignal): Promise<boolean> {
    const { state, clock } = this.#options;
    if (clock.monotonicMs() - this.#lookedMs >= freshMs) await this.#lookAtState(signal);
    return state.gate.rests !== "";
  }

  wake(): void {
    this.#isAwake = true;
    this.#wake();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, log, metrics } = this.#options;
    while (!signal.aborted) {
      this.#isAwake = false;
      try {
        await this.look(signal);
      } catch (error) {
        if (signal.aborted) return;
        // Another writer was faster: the state is read again.
        if (!isApiError(error, "conflict")) {
          metrics?.failed("state");
          log.warn("slices: the state could not be brought up to date; it is tried again", { error });
        }
        this.#isAwake = true;
      }
      await sleep(clock, freshMs, signal);
      if (this.#isAwake) continue;
      const woken = new AbortController();
      this.#wake = () => woken.abort();
      await sleep(clock, intervalMs, AbortSignal.any([signal, woken.signal]));
      this.#wake = () => {};
    }
  }

  async look(signal: AbortSignal): Promise<void> {
    const { definitions, state, systemNamespace, caches, cutRules, nodes, journals } = this.#options;
    const objects = definitions.list();
    await this.#lookAtState(signal);
    // Definitions that are not listed yet would look like none.
    if (objects === undefined || state.gate.isPaused) return;
    const there: ExistingPool[] = [...caches.pools.list()].flatMap((object) => readPool(object) ?? []);
    const slices = [...caches.slices.list()].flatMap((object) => readSlice(object) ?? []);
    const pools = [...there, ...lostPools(there, [...slices, ...journals.forgotten()])];
    const { readable } = readDefinitions(objects, systemNamespace);
    const wishes = wishesOf(readable, pools, { ...cutRules, nodes: nodes.cache.size });
    this.#targets = targetsOf(wishes, pools, sharingOf(readable, cutRules.trusted));
    await state.move([...this.#targets.values()], signal);
    // Nobody hands out of a shared range before daemons are told.
    if (state.gate.sliced === undefined) this.wake();
    if (state.gate.rests === "") this.#touchChanged();
  }

  async #lookAtState(signal: AbortSignal): Promise<void> {
    const { clock, state, log } = this.#options;
    this.#lookedMs = clock.monotonicMs();
    const before = state.gate.rests;
    const { rests } = await state.look(signal);
    if (rests !== before) log.info(rests === "" ? "slices are worked on" : "slices rest", { why: rests });
  }

  #touchChanged(): void {
    const told = new Map<string, string>();
    for (const [key, target] of this.#targets) {
      const { definitions, useful, ...rest } = target;
      const phase = this.#options.state.phaseOf(target);
      const text = JSON.stringify([rest, [...useful].map(formatInterval), definitions.length, phase]);
      told.set(key, text);
      if (this.#told.get(key) !== text) this.#options.touch(key);
    }
    this.#told = told;
  }
}
