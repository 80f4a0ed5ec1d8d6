// The status of a NodeSlicePool, from a plan: allocations, totals, conditions Ready, Agreed and Exhausted. Pure.
import { countOf } from "../../api/fields.ts";
import type { StoredSlicePool } from "../../cluster/resources.ts";
import type { SlicedPhase } from "../../cluster/sliced-ranges.ts";
import { type Condition, withCondition } from "../../kube/conditions.ts";
import type { SlicePlan } from "../plan/facts.ts";
import type { PoolTarget } from "../ranges/pool-targets.ts";
import type { ReadPool } from "./pool-object.ts";

export type PoolStatus = NonNullable<StoredSlicePool["status"]>;

export interface StatusInput {
  readonly target: PoolTarget;
  readonly plan: SlicePlan;
  /** The phase in the state; undefined: the range is not in it. */
  readonly phase: SlicedPhase | undefined;
  readonly nowMs: number;
}

/** Fields and conditions of other writers stay. */
export function poolStatus(pool: ReadPool, input: StatusInput): PoolStatus {
  const { plan, nowMs } = input;
  const before = (pool.object.status ?? {}) as Partial<PoolStatus>;
  let conditions = (before.conditions ?? []) as readonly Condition[];
  for (const each of [ready(input), agreed(input), exhausted(input)])
    conditions = withCondition(conditions, each, nowMs);
  return {
    ...before,
    allocations: plan.allocations.map(({ node, block }) => ({ nodeName: node, sliceRange: `${block}` })),
    totalSlices: countOf(plan.totals.total),
    assignedSlices: countOf(plan.totals.assigned),
    freeSlices: countOf(plan.totals.free),
    lastGeneration: plan.lastGeneration,
    conditions: conditions as PoolStatus["conditions"],
  };
}

type Words = Omit<Condition, "lastTransitionTime">;

function ready({ target, plan, phase }: StatusInput): Words {
  const no = (reason: string, message: string): Words => ({ type: "Ready", status: "False", reason, message });
  if (target.refusal !== undefined) return no(target.refusal.reason, target.refusal.why);
  if (!target.wanted)
    return no("Draining", "No definition asks for slices of this range any more: its slices are drained.");
  if (phase === "opening") return no("Opening", "The range was being given back to shared use, and is wanted again.");
  if (phase !== "open")
    return no("Closing", "Slices are granted when every node has stopped handing out of the shared range.");
  if (plan.conflicts.length > 0) return no("Conflict", shortened(plan.conflicts));
  const [[node, why] = []] = plan.waiting;
  const others = plan.waiting.size - 1;
  if (node !== undefined) return no("Waiting", `Node ${node}: ${why}` + (others > 0 ? ` So for ${others} more.` : ""));
  return { type: "Ready", status: "True", reason: "Assigned", message: "Every node has a slice." };
}

function agreed({ target: { disagreement, refusal, definitions } }: StatusInput): Words {
  const message = disagreement ?? (refusal?.reason === "Disagreement" ? refusal.why : undefined);
  if (message !== undefined) return { type: "Agreed", status: "False", reason: "Disagreement", message };
  const words = definitions.length === 0 ? "No definition asks for it." : "All definitions of the range say the same.";
  return { type: "Agreed", status: "True", reason: "Agreed", message: words };
}

function exhausted({ plan }: StatusInput): Words {
  const type = "Exhausted";
  const { exhausted: message } = plan;
  if (message !== undefined) return { type, status: "True", reason: "NoneFree", message };
  return { type, status: "False", reason: "Free", message: "There are addresses for every node." };
}

/** A message has 32 KiB; nobody reads more than a few. */
const mostWords = 5;

function shortened(sentences: readonly string[]): string {
  const more = sentences.length - mostWords;
  return sentences.slice(0, mostWords).join(" ") + (more > 0 ? ` And ${more} more.` : "");
}
