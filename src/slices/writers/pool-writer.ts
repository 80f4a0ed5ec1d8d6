// Brings one NodeSlicePool and its slices to the plan, in the order of src/slices/plan/plan.ts: removals, new objects
// without a grant, status, grants. Promised: a refused write ends the round, and the next begins from what is there.
import { nodeSlicePools, type StoredSlicePool } from "../../cluster/resources.ts";
import { readSlice, type SliceObject, type SlicePlace } from "../../cluster/slice-object.ts";
import type { SlicedPhase } from "../../cluster/sliced-ranges.ts";
import { isEqual } from "../../kube/conditions.ts";
import type { KubeClient } from "../../kube/rest.ts";
import { unless } from "../../kube/unless.ts";
import { removed, type SliceCaches } from "../caches.ts";
import { keyOf as allocationKey } from "../plan/entry.ts";
import type { Allocation, NodeFacts, PoolFacts, SlicePlan } from "../plan/facts.ts";
import { planSlices } from "../plan/plan.ts";
import type { PoolSpec } from "../ranges/desired-ranges.ts";
import { isUnheard, type PoolTarget } from "../ranges/pool-targets.ts";
import type { ReservedAddresses } from "../reserved-addresses.ts";
import type { RestoredJournals } from "../restored-journals.ts";
import type { AdaptiveLimiter } from "./adaptive-limiter.ts";
import { poolObject, type ReadPool, readPool, withPhase, withSpec } from "./pool-object.ts";
import { poolStatus, type StatusInput } from "./pool-status.ts";
import type { SliceWriter } from "./slice-writer.ts";

export interface PoolWriterOptions {
  readonly client: KubeClient;
  readonly caches: SliceCaches;
  readonly slices: SliceWriter;
  readonly reserved: Pick<ReservedAddresses, "of">;
  readonly journals: RestoredJournals;
  readonly limiter: AdaptiveLimiter;
  readonly nowMs: () => number;
  readonly nodes: (extra: Iterable<string>) => NodeFacts[];
  /** Called with the plan, after it was carried out as far as it got. */
  readonly onPlan: (target: PoolTarget, plan: SlicePlan, pool: ReadPool) => void;
}

export interface PoolPhase {
  readonly phase: SlicedPhase | undefined;
  readonly floatingInUse?: PoolFacts["floatingInUse"];
}

interface Round extends Pick<StatusInput, "target" | "plan" | "phase"> {
  readonly pool: ReadPool;
  readonly slices: readonly SliceObject[];
}

export type PoolWriter = ReturnType<typeof poolWriter>;

export function poolWriter(options: PoolWriterOptions) {
  const { client, caches, journals, limiter, nowMs, onPlan, reserved, slices: writer } = options;

  const slicesOf = (key: string): SliceObject[] =>
    caches.slices.byIndex("pool", key).flatMap((object) => readSlice(object) ?? []);

  async function made(spec: PoolSpec, signal: AbortSignal): Promise<ReadPool | undefined> {
    const { namespace, name } = spec;
    const own = await unless(["already-exists"], client.create(nodeSlicePools, poolObject(spec), { signal }));
    // The answer to an earlier try was lost, or another made it: the object is looked at as it is.
    caches.pools.put(own ?? (await client.get(nodeSlicePools, { namespace, name }, { signal })));
    return readPool(caches.pools.get(`${namespace}/${name}`)!);
  }

  /** The pool's object, with the spec that it should have; undefined: nobody wants it and it is not there. */
  async function objectOf(target: PoolTarget, signal: AbortSignal): Promise<ReadPool | undefined> {
    const there = caches.pools.get(target.key);
    if (there === undefined) {
      const isWanted = target.wanted && !isUnheard(target);
      return isWanted || slicesOf(target.key).length > 0 ? made(target, signal) : undefined;
    }
    // A pool that drains keeps its spec: nobody says another.
    const wanted = target.wanted ? withSpec(there, target) : undefined;
    if (wanted === undefined) return readPool(there);
    caches.pools.put(await client.update(nodeSlicePools, wanted, { signal }));
    return readPool(caches.pools.get(target.key)!);
  }

  async function writeStatus({ object }: ReadPool, status: StoredSlicePool["status"], signal: AbortSignal) {
    if (isEqual(object.status, status)) return;
    const wanted = { ...(object as StoredSlicePool), ...(status && { status }) };
    const written = await client.update(nodeSlicePools, wanted, { signal });
    caches.pools.put(written);
    // Under the definition of whereabouts' fork a plain update leaves the status as it was.
    if (isEqual(written.status, object.status) && written.metadata.resourceVersion === object.metadata.resourceVersion)
      caches.pools.put(await client.update(nodeSlicePools, wanted, { subresource: "status", signal }));
  }

  async function carryOut({ target, pool, slices, plan, phase }: Round, signal: AbortSignal): Promise<void> {
    // Where nothing changes the plan gives back the very grant that it got: of 5,000 few are looked at twice.
    const before = new Map(slices.map((each) => [allocationKey(each), each.grant]));
    const changed = plan.grants.filter((each) => before.get(allocationKey(each)) !== each.grant);
    const { namespace, name, network, range, sharedDomain } = target;
    const place = { namespace, network, pool: name, range, sharedDomain };
    const placeOf = ({ node, block }: Allocation): SlicePlace => ({ ...place, node, block });
    await limiter.each(plan.removals, (each) => writer.remove(placeOf(each), signal), signal);
    await limiter.each(changed, (each) => writer.make(placeOf(each), signal), signal);
    await writeStatus(pool, poolStatus(pool, { target, plan, phase, nowMs: nowMs() }), signal);
    // A node that has sealed a slice does not make it again.
    const sealed = new Set(slices.filter(({ word }) => word?.sealed === true).map(allocationKey));
    const taken = plan.removals.filter((each) => !sealed.has(allocationKey(each)));
    await limiter.each(taken, (each) => writer.lookFor(placeOf(each), signal), signal);
    await limiter.each(changed, (each) => writer.grant(placeOf(each), each.grant, signal), signal);
  }

  return {
    /** True when nothing of the pool is left. */
    async reconcile(target: PoolTarget, phase: PoolPhase, signal: AbortSignal): Promise<boolean> {
      await writer.settle(target.key, signal);
      const pool = await objectOf(target, signal);
      if (pool === undefined) return true;
      const slices = slicesOf(target.key);
      const held = await reserved.of(target, slices, signal);
      const forgotten = journals.within(target);
      const { allocations, lastGeneration } = pool;
      const nodes = options.nodes([...allocations, ...slices].map(({ node }) => node));
      const known = { allocations, lastGeneration, slices, nodes, forgotten, reserved: [...held, ...forgotten] };
      const grants = granting(target, phase, journals.obstacle);
      const plan = planSlices({ ...target, ...known, ...grants, nowMs: nowMs() });
      try {
        await carryOut({ target, pool, slices, plan, phase: phase.phase }, signal);
      } finally {
        onPlan(target, plan, pool);
      }
      const now = caches.pools.get(target.key);
      const isEmpty = plan.allocations.length === 0 && slicesOf(target.key).length === 0;
      if (target.wanted || !isEmpty || now === undefined) return now === undefined;
      if ([...journals.forgotten()].some(({ pool: key }) => key === target.key)) return false;
      await removed(client, nodeSlicePools, now, signal);
      caches.pools.drop(now);
      return true;
    },

    /** Makes a missing pool, and puts its phase on record. */
    async mark(target: PoolTarget, phase: SlicedPhase, signal: AbortSignal): Promise<void> {
      const there = caches.pools.get(target.key) ?? (await made(target, signal))?.object;
      const marked = there && withPhase(there, phase);
      if (marked !== undefined) caches.pools.put(await client.update(nodeSlicePools, marked, { signal }));
    },
  };
}

function granting(target: PoolTarget, { phase, floatingInUse }: PoolPhase, obstacle: string) {
  const isOpen = phase === "open" && target.refusal === undefined;
  const isWaiting = obstacle !== "";
  const mayGrant = isOpen && !isWaiting;
  return { mayGrant, isWaiting, obstacle: isOpen && isWaiting ? obstacle : undefined, floatingInUse };
}
